package awk

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

const (
	maxStack  = 1 << 20 // total weight of the calls in progress
	stackCost = 256     // bytes of Go stack per unit of weight
	memBatch  = 64 << 10
)

// unwind carries next, nextfile and exit out of a user function.
type unwind ctl

type frame struct {
	vals []value
	arrs []*array
}

// interp is one run of a program.
type interp struct {
	p      *proc.Process
	bytes  bool     // Config.Bytes
	at     position // of the statement that runs
	rule   string   // BEGIN, END and so on, "" while the main rules run
	warned []string // escape sequences of the command line that were warned of
	prog   *Program
	out    *proc.Writer

	globals      []value
	arrays       []*array
	specials     [nSpecials]value
	frame        frame
	vals         []value // the stack frames are cut from
	depth        int
	ret          value
	status       int
	ranges       []bool
	constRegexes []*regex
	regexes      [2]map[string]*regex
	formats      map[string][]spec
	mem, held    int // bytes counted but not yet told the budget, and told

	// Cached forms of special variables.
	ofs, ors, subsep, convfmt, ofmt string
	ignoreCase                      bool
	fs                              *splitter
	splitBy                         int // vFS, vFIELDWIDTHS or vFPAT: the one assigned last
	rsKind                          rsKind
	rsByte                          byte
	rsText                          string
	rsRegex                         *regex
	nr, fnr                         float64

	// The record.
	rec       value
	recOK     bool
	recHeld   int
	fields    []value
	nsplit    int // fields split so far; all of them when splitDone
	splitPos  int
	splitDone bool
	fieldSep  *splitter
	none      value

	// Input and output.
	argIndex           int
	main               *reader
	mainDone           bool
	noOperands         bool
	ending             bool // the streams are being closed for good
	inMain             bool
	inBeginFile        bool
	stdin              *reader
	inPlace            bool
	sandbox            bool
	posix, traditional bool
	edited             *edit
	suffix             string // of the copies that inplace keeps
	streams            map[streamKey]*stream
	order              []*stream

	rng  *generator // nil until rand or srand
	seed float64
}

type rsKind uint8

const (
	rsByteSep rsKind = iota
	rsPara
	rsRegex
)

// Config is the run's side of the command line.
type Config struct {
	Args    []string // ARGV
	Assigns []string // name=value of -v, and of -F, in order
	Bytes   bool     // the C locale: every byte is a character
	Sandbox bool     // -S: no system() and no redirections
	InPlace bool     // -i inplace: what is printed while a file is read replaces it
	Dump    *string  // -d: the file that the global variables are written to at the end
}

// fatal prints an error as awk does and ends the run with status 2.
func (in *interp) fatal(format string, args ...any) {
	in.p.Errorf("%s", in.where()+"fatal: "+fmt.Sprintf(format, args...))
	panic(fatality{})
}

type fatality struct{}

// exitStatus ends a run that has not begun.
type exitStatus int

func (in *interp) where() string {
	if in.inMain && in.nr > 0 {
		name := in.specials[vFILENAME].s
		if name == "" {
			name = "-"
		}
		return fmt.Sprintf("%v: (FILENAME=%s FNR=%.0f) ", in.at, name, in.fnr)
	}
	return in.at.String() + ": "
}

// ran is the place of what ran last, for messages about operands; "" before anything ran.
func (in *interp) ran() string {
	if in.nr > 0 || len(in.prog.begin) > 0 {
		return in.at.String() + ": "
	}
	return ""
}

// warnEscape prints a warning about an escape sequence of the command line, once.
func (in *interp) warnEscape(w string) {
	if !slices.Contains(in.warned, w) {
		in.warned = append(in.warned, w)
		in.p.Errorf("%s", w)
	}
}

func (in *interp) warn(format string, args ...any) {
	in.p.Errorf("%s", "warning: "+fmt.Sprintf(format, args...))
}

// hold counts n more bytes as held, fewer when n is negative.
func (in *interp) hold(n int) {
	if in.mem += n; in.mem > memBatch || in.mem < -memBatch {
		m := in.mem
		in.mem = 0
		in.held += m
		if m > 0 {
			in.p.Hold(m)
		} else {
			in.p.Release(-m)
		}
	}
}

// checkSize dies when a string of n bytes would not fit into the budget.
func (in *interp) checkSize(n int) {
	if n > memBatch {
		in.p.Tick(n >> 10)
		in.p.Hold(n)
		in.p.Release(n)
	}
}

// store keeps v in *to.
func (in *interp) store(to *value, v value) {
	if v.k == kUninit {
		v.k = kNull
	}
	if v.view {
		v.s, v.view = strings.Clone(v.s), false
	}
	if d := len(v.s) - len(to.s); d != 0 {
		in.hold(d)
	}
	*to = v
}

// alloc cuts n cleared slots from the stack of locals. Slots never move.
func (in *interp) alloc(n int) []value {
	if len(in.vals)+n > cap(in.vals) {
		in.vals = make([]value, 0, max(1024, n))
	}
	from := len(in.vals)
	in.vals = in.vals[:from+n]
	return in.vals[from : from+n : from+n]
}

func (in *interp) localArray(slot int) *array {
	a := in.frame.arrs[slot]
	if a == nil {
		a = newArray()
		in.frame.arrs[slot] = a
	}
	return a
}

func (in *interp) global(name string) *value { return &in.globals[in.prog.globals[name].slot] }

func (in *interp) globalArray(name string) *array { return in.arrays[in.prog.globals[name].slot] }

// Run executes the program and returns awk's exit status.
func (prog *Program) Run(p *proc.Process, cfg Config) int {
	in := &interp{
		p: p, prog: prog, out: p.Out,
		globals:      make([]value, prog.nScalars),
		arrays:       make([]*array, prog.nArrays),
		ranges:       make([]bool, prog.nRanges),
		constRegexes: make([]*regex, prog.nRegexes),
		regexes:      [2]map[string]*regex{{}, {}},
		formats:      map[string][]spec{},
		streams:      map[streamKey]*stream{},
		argIndex:     1,
		inPlace:      cfg.InPlace,
		sandbox:      cfg.Sandbox,
		seed:         1,
		posix:        prog.dialect == Posix,
		traditional:  prog.dialect == Traditional,
	}
	for i := range in.arrays {
		in.arrays[i] = newArray()
	}
	defer func() { p.Release(max(0, in.held)) }()
	defer in.abandon()
	return in.guard(func() { in.run(cfg) })
}

// guard runs f and turns a fatal error into its status.
func (in *interp) guard(f func()) (status int) {
	defer func() {
		if r := recover(); r != nil {
			if early, ok := r.(exitStatus); ok {
				status = int(early)
				return
			}
			if _, ok := r.(fatality); !ok {
				panic(r)
			}
			in.closeAll()
			status = 2
		}
	}()
	f()
	return in.status
}

func (in *interp) run(cfg Config) {
	in.bytes = cfg.Bytes
	for slot, s := range map[int]string{
		vFS: " ", vOFS: " ", vRS: "\n", vORS: "\n", vSUBSEP: "\x1c", vCONVFMT: "%.6g", vOFMT: "%.6g",
		vFPAT: "[^[:space:]]+",
	} {
		in.specials[slot] = str(s)
	}
	in.specials[vRSTART], in.specials[vRLENGTH] = num(0), num(0)
	in.specials[vIGNORECASE] = num(0)
	for _, slot := range []int{vOFS, vRS, vORS, vSUBSEP, vCONVFMT, vOFMT, vFS} {
		in.specialChanged(slot)
	}
	in.setRecord("", false)
	in.rec.k = kMissing
	env := in.globalArray("ENVIRON")
	for _, kv := range in.p.Env.List() {
		name, v, _ := strings.Cut(kv, "=")
		in.store(&in.get(env, name, false).v, input(v))
	}
	argv := in.globalArray("ARGV")
	for i, a := range cfg.Args {
		in.store(&in.getNum(argv, float64(i)).v, input(a))
	}
	*in.global("ARGC") = num(float64(len(cfg.Args)))
	in.procinfo()
	for _, a := range cfg.Assigns {
		if !in.assignOperand(a) {
			if name, _, ok := strings.Cut(a, "="); ok && strings.Contains(name, ":") {
				problem := "error: identifier %s: namespace separator is two colons, not one"
				if strings.Contains(name, "::") {
					problem = "error: qualified identifier `%s' is badly formed"
				}
				in.p.Errorf(problem, name)
				panic(exitStatus(1))
			} else if ok {
				in.p.Errorf("fatal: `%s' is not a legal variable name", name)
			} else {
				in.p.Errorf("`%s' argument to `-v' not in `var=value' form", a)
			}
			panic(fatality{})
		}
	}
	in.rule = "BEGIN"
	r := in.each(in.prog.begin)
	if r != ctlExit && in.prog.readsMain {
		in.mainLoop()
	}
	if e := in.edited; e != nil { // exit left a file half read: it stays as it was
		in.out, in.edited = in.p.Out, nil
		in.hold(-len(e.buf))
	}
	in.inMain = false
	in.rule = "END"
	in.each(in.prog.end) // after an exit elsewhere too
	if cfg.Dump != nil {
		in.dump(*cfg.Dump)
	}
	in.closeAll()
	in.out.Flush()
}

// setErrno puts an error into ERRNO and PROCINFO["errno"].
func (in *interp) setErrno(err error) {
	in.specials[vERRNO] = str(proc.Strerror(err))
	n, _ := vfs.Of(err)
	in.errnoNumber(int(n))
}

func (in *interp) errnoNumber(n int) {
	in.store(&in.get(in.globalArray("PROCINFO"), "errno", false).v, num(float64(n)))
}

func (in *interp) procinfo() {
	info := in.globalArray("PROCINFO")
	set := func(k string, v value) { in.store(&in.get(info, k, false).v, v) }
	set("version", str("5.2.1"))
	set("strftime", str("%a %b %e %H:%M:%S %Z %Y"))
	set("FS", str("FS"))
	set("platform", str("posix"))
	set("pid", num(float64(in.p.PID)))
	set("ppid", num(float64(max(1, in.p.PPID))))
	set("uid", num(float64(in.p.User.UID)))
	set("euid", num(float64(in.p.User.UID)))
	set("gid", num(float64(in.p.User.GID)))
	set("egid", num(float64(in.p.User.GID)))
	if in.prog.globals["FUNCTAB"] != nil {
		in.functions(in.globalArray("FUNCTAB"))
	}
	if in.prog.identifiers {
		in.identify(info)
	}
}

// protect runs a block and catches what unwinds out of functions.
func (in *interp) protect(b block) (r ctl) {
	defer func() {
		if x := recover(); x != nil {
			u, ok := x.(unwind)
			if !ok {
				panic(x)
			}
			in.frame, in.vals, in.depth = frame{}, nil, 0
			r = ctl(u)
		}
	}()
	return b(in)
}

// each runs the blocks of BEGIN, END, BEGINFILE or ENDFILE.
func (in *interp) each(blocks []block) ctl {
	for _, b := range blocks {
		if r := in.protect(b); r != ctlNone {
			return r
		}
	}
	return ctlNone
}

// mainLoop runs the rules over the main input.
func (in *interp) mainLoop() ctl {
	for {
		ok, r := in.nextMain()
		if r == ctlExit {
			return r
		}
		if !ok {
			return ctlNone
		}
		in.inMain = true
		r = in.protect(func(in *interp) ctl { return in.records() })
		switch r {
		case ctlExit:
			return r
		case ctlNextFile:
			if r := in.endFile(); r == ctlExit {
				return r
			}
		case ctlNone:
			return ctlNone
		}
	}
}

// records runs the rules over the current record and those after it. It returns ctlNext when a function
// unwound, so that the recovering frame is entered once per run of records and not for each.
func (in *interp) records() ctl {
	for {
		if r := in.rules(); r == ctlExit {
			return r
		} else if r == ctlNextFile {
			if r := in.endFile(); r == ctlExit {
				return r
			}
		}
		in.p.Tick(1)
		ok, r := in.nextMain()
		if r == ctlExit {
			return r
		}
		if !ok {
			return ctlNone
		}
	}
}

// rules runs every rule on the current record.
func (in *interp) rules() ctl {
	for i := range in.prog.rules {
		r := &in.prog.rules[i]
		switch {
		case r.to != nil:
			if !in.ranges[r.rng] {
				if !r.pattern(in) {
					continue
				}
				in.ranges[r.rng] = true
			}
			if r.to(in) {
				in.ranges[r.rng] = false
			}
		case r.pattern != nil && !r.pattern(in):
			continue
		}
		if c := r.body(in); c != ctlNone {
			return c
		}
	}
	return ctlNone
}

// special returns a special variable.
func (in *interp) special(slot int) value {
	switch slot {
	case vNF:
		in.splitAll()
		return num(float64(in.nsplit))
	case vNR:
		return num(in.nr)
	case vFNR:
		return num(in.fnr)
	}
	return in.specials[slot]
}

func (in *interp) setSpecial(slot int, v value) {
	switch slot {
	case vNF:
		in.setNF(clampInt(v.num()))
		return
	case vNR:
		in.nr = v.num()
		return
	case vFNR:
		in.fnr = v.num()
		return
	}
	in.store(&in.specials[slot], v)
	in.specialChanged(slot)
}

// specialChanged renews what is derived from a special variable.
func (in *interp) specialChanged(slot int) {
	v := in.specials[slot]
	switch slot {
	case vOFS:
		// $0 may still have to be built with the old one.
		if !in.recOK && in.fieldSep != nil {
			in.rebuild()
		}
		in.ofs = in.str(v)
	case vORS:
		in.ors = in.str(v)
	case vSUBSEP:
		in.subsep = in.str(v)
	case vCONVFMT:
		in.convfmt = v.s
		if v.k == kNum || v.k == kUninit || v.k == kNull {
			in.convfmt = "%.6g"
		}
	case vOFMT:
		in.ofmt = v.s
		if v.k == kNum || v.k == kUninit || v.k == kNull {
			in.ofmt = "%.6g"
		}
	case vFS, vFIELDWIDTHS, vFPAT:
		in.splitBy = slot
		in.renewFS()
	case vIGNORECASE:
		in.ignoreCase = v.truth()
		clear(in.constRegexes)
		in.renewFS()
		in.renewRS()
	case vRS:
		in.renewRS()
		if in.fs != nil {
			in.renewFS() // paragraph mode adds the newline
		}
	}
}

func (in *interp) renewFS() {
	if info := in.globalArray("PROCINFO"); info.has("FS") {
		by := "FS"
		switch in.splitBy {
		case vFIELDWIDTHS:
			by = "FIELDWIDTHS"
		case vFPAT:
			by = "FPAT"
		}
		in.store(&in.get(info, "FS", false).v, str(by))
	}
	switch in.splitBy {
	case vFIELDWIDTHS:
		in.fs = &splitter{kind: splitWidths, widths: in.parseWidths(in.str(in.specials[vFIELDWIDTHS]))}
	case vFPAT:
		in.fs = &splitter{kind: splitFpat, re: in.regexOf(in.str(in.specials[vFPAT]))}
	default:
		in.fs = in.separatorOf(in.specials[vFS], in.rsKind == rsPara)
	}
}

// parseWidths reads FIELDWIDTHS: "w", "skip:w" and "*".
func (in *interp) parseWidths(s string) []int {
	var out []int
	for i, f := range strings.Fields(s) {
		skip := 0
		if a, b, ok := strings.Cut(f, ":"); ok {
			n, err := strconv.Atoi(a)
			if err != nil || n < 0 {
				in.fatal("invalid FIELDWIDTHS value, for field %d, near `%s'", i+1, f)
			}
			skip, f = n, b
		}
		if f == "*" {
			if i+1 < len(strings.Fields(s)) {
				in.fatal("`*' must be the last designator in FIELDWIDTHS")
			}
			out = append(out, skip, -1)
			continue
		}
		n, err := strconv.Atoi(f)
		if err != nil || n < 0 {
			in.fatal("invalid FIELDWIDTHS value, for field %d, near `%s'", i+1, f)
		}
		out = append(out, skip, n)
	}
	return out
}

func (in *interp) renewRS() {
	rs := in.str(in.specials[vRS])
	if in.traditional && rs != "" {
		rs = rs[:1]
	}
	switch {
	case in.specials[vRS].k == kRegex:
		in.rsKind, in.rsRegex = rsRegex, in.regexOf(rs)
	case rs == "":
		in.rsKind = rsPara
	case len(rs) == 1 && (!in.ignoreCase || !isNameStart(rs[0])):
		in.rsKind, in.rsByte, in.rsText = rsByteSep, rs[0], rs
	default:
		in.rsKind, in.rsRegex = rsRegex, in.regexOf(rs)
	}
}

// assignOperand carries out "name=value"; false when a is not of that form.
func (in *interp) assignOperand(a string) bool {
	name, v, ok := strings.Cut(a, "=")
	name = strings.TrimPrefix(name, "awk::")
	if name == "inplace::suffix" || name == "INPLACE_SUFFIX" {
		in.suffix = v
		return true
	}
	if !ok || name == "" || !isNameStart(name[0]) {
		return false
	}
	for _, c := range []byte(strings.Replace(name, "::", "", 1)) {
		if !isNameStart(c) && !isDigit(c) {
			return false
		}
	}
	val := input(unescape(v, in.warnEscape))
	if r, ok := strings.CutPrefix(v, "@/"); ok && len(r) > 1 && strings.HasSuffix(r, "/") && !in.posix {
		val = value{s: r[:len(r)-1], k: kRegex}
	}
	if slot, ok := specials[name]; ok {
		in.setSpecial(slot, val)
		return true
	}
	if _, ok := keywords[name]; ok {
		in.fatal("cannot use gawk builtin `%s' as variable name", name)
	}
	s := in.prog.globals[name]
	switch {
	case s == nil: // the program never looks at it
	case s.array:
		in.fatal("cannot use array `%s' as a variable", name)
	default:
		in.store(&in.globals[s.slot], val)
	}
	return true
}

// nextMain makes the next record of the main input current.
func (in *interp) nextMain() (ok bool, r ctl) {
	rec, term, ok, r := in.readMain()
	if !ok {
		return false, r
	}
	in.setRecord(rec, true)
	in.specials[vRT] = value{s: term, k: kStr, view: true}
	return true, ctlNone
}

// readMain reads the next record of the main input and counts it.
func (in *interp) readMain() (rec, term string, ok bool, r ctl) {
	for {
		if in.main == nil {
			opened, r := in.openMain()
			if !opened {
				return "", "", false, r
			}
		}
		if rec, term, ok := in.main.record(in); ok {
			in.nr++
			in.fnr++
			return rec, term, true, ctlNone
		}
		if err := in.main.err; err != nil {
			in.readError(in.specials[vFILENAME].s, err)
		}
		if r := in.endFile(); r == ctlExit {
			return "", "", false, r
		}
	}
}

func (in *interp) readError(name string, err error) {
	if e, ok := vfs.Of(err); ok && e == vfs.EISDIR {
		in.p.Errorf("%swarning: command line argument `%s' is a directory: skipped", in.ran(), name)
		return
	}
	in.warn("error reading input file `%s': %s", name, proc.Strerror(err))
	in.status = 2
}

// endFile closes the current main file and runs the ENDFILE rules.
func (in *interp) endFile() ctl {
	if in.main == nil {
		return ctlNone
	}
	m := in.main
	in.main = nil
	if m.close != nil {
		m.close()
	}
	if m != in.stdin {
		m.release(in)
	}
	r := ctlNone
	if len(in.prog.endFile) > 0 {
		was := in.inMain
		in.inMain = false
		r = in.each(in.prog.endFile)
		in.inMain = was
	}
	if in.edited != nil {
		in.edited.finish()
	}
	return r
}

// openMain opens the next operand; false at the end of the main input.
func (in *interp) openMain() (ok bool, r ctl) {
	if in.mainDone {
		return false, ctlNone
	}
	argv := in.globalArray("ARGV")
	for {
		argc := clampInt(in.global("ARGC").num())
		if in.argIndex >= argc {
			break
		}
		key := strconv.Itoa(in.argIndex)
		in.argIndex++
		if !argv.has(key) {
			continue
		}
		name := in.str(in.get(argv, key, false).v)
		if name == "" || in.assignOperand(name) {
			continue
		}
		in.noOperands = true // there was a file
		opened, r := in.openFile(name)
		if r == ctlExit || opened {
			return opened, r
		}
	}
	in.mainDone = true
	if in.noOperands {
		return false, ctlNone
	}
	in.noOperands = true
	return in.openFile("")
}

// openFile begins a main input file; "" is standard input without a name.
func (in *interp) openFile(name string) (ok bool, r ctl) {
	in.fnr = 0
	if name == "" {
		in.store(&in.specials[vFILENAME], str("-"))
	} else {
		in.store(&in.specials[vFILENAME], input(name))
	}
	in.specials[vARGIND] = num(float64(in.argIndex - 1))
	var rd *reader
	var err error
	if name == "" || name == "-" || name == "/dev/stdin" {
		rd = in.stdinReader()
	} else {
		var f io.ReadCloser
		if f, err = in.p.OpenInput(name); err == nil {
			rd = &reader{src: f, close: func() int { _ = f.Close(); return 0 }}
			if st, ok := f.(vfs.File); ok {
				if s, e := st.Stat(); e == nil && s.IsDir() {
					err = vfs.EISDIR
					_ = f.Close()
				}
			}
		}
	}
	in.specials[vERRNO] = str("")
	if err != nil {
		in.setErrno(err)
	}
	if len(in.prog.beginFile) > 0 {
		in.inBeginFile = true
		in.main = nil
		r := in.each(in.prog.beginFile)
		in.inBeginFile = false
		if r == ctlExit {
			return false, r
		}
		if r == ctlNextFile {
			if err == nil && rd.close != nil {
				rd.close()
			}
			return false, ctlNone
		}
	}
	if err != nil {
		if e, ok := vfs.Of(err); ok && e == vfs.EISDIR {
			in.readError(name, err)
			return false, ctlNone
		}
		in.out.Flush()
		in.p.Errorf("%sfatal: cannot open file `%s' for reading: %s", in.ran(), name, proc.Strerror(err))
		panic(fatality{})
	}
	in.main = rd
	if in.inPlace && rd != in.stdin {
		in.edited = &edit{in: in, name: name}
		in.out = proc.NewWriter(in.edited, in.p)
	}
	return true, ctlNone
}

// edit collects what is printed while a file is read with -i inplace.
type edit struct {
	in   *interp
	name string
	buf  []byte
}

func (e *edit) Write(b []byte) (int, error) {
	e.in.hold(len(b))
	e.buf = append(e.buf, b...)
	return len(b), nil
}

// finish replaces the content of the file and sends output where it went before.
func (e *edit) finish() {
	in := e.in
	in.out.Flush()
	in.out, in.edited = in.p.Out, nil
	in.hold(-len(e.buf))
	err := e.backup()
	var f vfs.File
	if err == nil {
		f, err = in.p.Open(e.name, vfs.WriteOnly|vfs.Trunc, 0)
	}
	if err == nil {
		_, err = f.Write(e.buf)
		_ = f.Close()
	}
	if err != nil {
		in.fatal("inplace: cannot write `%s': %s", e.name, proc.Strerror(err))
	}
}

// backup keeps the old content under the name with the suffix that the program asks for.
func (e *edit) backup() error {
	in := e.in
	suffix := in.suffix
	if s := in.prog.globals["INPLACE_SUFFIX"]; s != nil && !s.array && in.globals[s.slot].k != kUninit {
		suffix = in.str(in.globals[s.slot])
	}
	if suffix == "" {
		return nil
	}
	old, err := in.p.ReadFile(e.name)
	if err != nil {
		return err
	}
	f, err := in.p.Open(e.name+suffix, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(old)
	return errors.Join(err, f.Close())
}

func (in *interp) stdinReader() *reader {
	if in.stdin == nil {
		in.stdin = &reader{src: in.p.Stdin}
	}
	return in.stdin
}

// random is the next number of rand().
func (in *interp) random() float64 {
	if in.rng == nil {
		in.rng = newGenerator(1)
	}
	return in.rng.float()
}

func (in *interp) srand(seed float64) {
	in.seed = math.Trunc(seed)
	in.rng = newGenerator(uint32(int64(in.seed)))
}
