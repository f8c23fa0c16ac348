package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/fserr"
	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/patch"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

var patchSpec = getopt.New("bB:cd:D:eEfF:g:i:lnNo:p:r:RsStTuvV:x:Y:z:Z",
	"backup=b prefix:=B context=c directory:=d ifdef:=D ed=e remove-empty-files=E force=f fuzz:=F get:=g input:=i ignore-whitespace=l "+
		"normal=n forward=N output:=o strip:=p reject-file:=r reverse=R quiet=s silent=s batch=t set-time=T unified=u version=v "+
		"version-control:=V debug:=x basename-prefix:=Y suffix:=z set-utc=Z dry-run verbose binary backup-if-mismatch "+
		"no-backup-if-mismatch posix quoting-style: reject-format: read-only: merge:: follow-symlinks").
	WithStatus(2).WithHint(getopt.NamedHint).
	WithUsage("[OPTION]... [ORIGFILE [PATCHFILE]]", "Apply a diff file to an original.").
	WithVersion("(compatible with GNU patch) 2.7.6")

// patchFailure is the status of hunks that did not apply, patchTrouble that of everything worse.
const (
	patchFailure = 1
	patchTrouble = 2
)

type patchRun struct {
	p       *proc.Process
	backup  backups
	prefix  string // of backups: path and base name
	base    string
	format  patch.Format
	ifdef   string
	out     string // -o
	outOpen bool   // it was written by an earlier part
	reject  string
	strip   int
	fuzz    int
	rejects string // --reject-format

	always, noMismatch                            bool // backups
	empty, force, loose, forward, reverse, silent bool
	batch, setTime, dry, verbose, binary, posix   bool
	readOnly                                      string
	operand                                       string
	saved                                         map[string]bool // names with a backup of this run
	status                                        int
}

func patchMain(_ context.Context, p *proc.Process) int {
	r := &patchRun{p: p, backup: newBackups(p), strip: -1, fuzz: 2, saved: map[string]bool{}}
	r.backup.suffix, r.backup.kind = ".orig", "existing"
	if s := p.Getenv("SIMPLE_BACKUP_SUFFIX"); s != "" {
		r.backup.suffix = s
	}
	_, r.posix = p.Env.Get("POSIXLY_CORRECT")
	r.noMismatch = r.posix
	opts, args := patchSpec.Parse(p)
	input := ""
	for _, o := range opts {
		if !r.option(o, &input) {
			return patchTrouble
		}
	}
	if len(args) > 2 {
		patchSpec.Fail(p, "%s: extra operand", args[2])
	}
	if len(args) > 1 {
		input = args[1]
	}
	if len(args) > 0 {
		r.operand = args[0]
	}
	var data []byte
	var err error
	if input == "" || input == "-" {
		data, err = p.ReadAll(p.Stdin)
	} else if data, err = p.ReadFile(input); err != nil {
		return r.fatal("Can't open patch file %s : %s", input, proc.Strerror(err))
	}
	if err != nil {
		return r.fatal("read error : %s", proc.Strerror(err))
	}
	return r.apply(data)
}

func (r *patchRun) option(o getopt.Option, input *string) bool {
	p := r.p
	count := func(what string) (int, bool) {
		n, err := strconv.Atoi(o.Value)
		if err != nil || n < 0 {
			r.fatal("%s %s is not a number", what, o.Value)
			return 0, false
		}
		return n, true
	}
	ok := true
	switch o.Key {
	case "b":
		r.always = true
	case "B":
		r.prefix = o.Value
	case "Y":
		r.base = o.Value
	case "z":
		r.backup.suffix = o.Value
	case "V":
		r.backup.set(p, patchSpec, o)
	case "c":
		r.format = patch.Context
	case "u":
		r.format = patch.Unified
	case "n":
		r.format = patch.Normal
	case "e":
		r.format = patch.Ed
	case "d":
		st, err := p.Stat(o.Value)
		if err == nil && !st.IsDir() {
			err = fserr.ENOTDIR
		}
		if err != nil {
			r.fatal("Can't change to directory %s : %s", o.Value, proc.Strerror(err))
			return false
		}
		p.Dir = cleanKeepSlash(p.Abs(o.Value))
	case "D":
		r.ifdef = o.Value
	case "E":
		r.empty = true
	case "f":
		r.force = true
	case "F":
		r.fuzz, ok = count("fuzz factor")
	case "i":
		*input = o.Value
	case "l":
		r.loose = true
	case "N":
		r.forward = true
	case "o":
		r.out = o.Value
	case "p":
		r.strip, ok = count("strip count")
	case "r":
		r.reject = o.Value
	case "R":
		r.reverse = true
	case "s":
		r.silent = true
	case "t":
		r.batch = true
	case "T", "Z":
		r.setTime = true
	case "v":
		p.Out.WriteString("GNU patch 2.7.6\n")
		p.Exit(0)
	case "dry-run":
		r.dry = true
	case "verbose":
		r.verbose = true
	case "binary":
		r.binary = true
	case "backup-if-mismatch":
		r.noMismatch = false
	case "no-backup-if-mismatch":
		r.noMismatch = true
	case "posix":
		r.posix = true
	case "reject-format":
		r.rejects = choose(p, patchSpec, o.Key, o.Value, "context", "unified")
	case "read-only":
		r.readOnly = choose(p, patchSpec, o.Key, o.Value, "ignore", "warn", "fail")
	case "merge":
		r.fatal("--merge is not supported here")
		return false
	}
	return ok
}

func (r *patchRun) fatal(format string, args ...any) int {
	r.p.Out.Flush()
	fmt.Fprintf(r.p.Err, "patch: **** "+format+"\n", args...)
	return patchTrouble
}

// messages is standard output, unless the result goes there.
func (r *patchRun) messages() *proc.Writer {
	if r.out == "-" {
		return r.p.Err
	}
	return r.p.Out
}

// say prints unless -s was given.
func (r *patchRun) say(format string, args ...any) {
	if !r.silent {
		fmt.Fprintf(r.messages(), format, args...)
	}
}

func (r *patchRun) apply(data []byte) int {
	reader := patch.NewReader(data, r.format, r.binary)
	reader.Truncated = func() { r.messages().WriteString("patch unexpectedly ends in middle of line\n") }
	parts := 0
	for {
		part := reader.Next()
		if part == nil {
			break
		}
		parts++
		j := &patchJob{patchRun: r, part: part, reader: reader, back: r.reverse}
		if err := j.run(); err != nil {
			var bad *patch.Error
			if errors.As(err, &bad) {
				return r.fatal("%s", bad.Message)
			}
			return r.fatal("%v", err)
		}
	}
	if parts == 0 && len(data) > 0 {
		return r.fatal("Only garbage was found in the patch input.")
	}
	if r.verbose {
		if parts == 0 {
			r.say("Hmm...  I can't seem to find a patch in there anywhere.\n")
		} else {
			r.say("done\n")
		}
	}
	return r.status
}

// patchJob applies one part.
type patchJob struct {
	*patchRun
	part   *patch.Part
	reader *patch.Reader
	back   bool // the patch is taken backwards

	in, outName string
	st          proc.Stat // of in
	exists      bool
	skip        bool // the hunks are only counted
	noReject    bool
	anyway      bool // "Apply anyway?" was answered by -f
	mismatch    bool
	failed      []*patch.Hunk
	hunks       int
	result      [][]byte
}

// stripped is a name without -p's components; "" when it has too few.
func (r *patchRun) stripped(name string) string {
	if name == "" || name == "/dev/null" {
		return ""
	}
	if r.strip < 0 {
		return baseName(name)
	}
	for n := 0; n < r.strip; n++ {
		i := strings.IndexByte(name, '/')
		if i < 0 {
			return ""
		}
		name = strings.TrimLeft(name[i:], "/")
	}
	return name
}

// candidate is a file that the headers name.
type candidate struct {
	name string
	st   proc.Stat
	err  error
}

// choose finds the file to patch, "" if there is none.
func (j *patchJob) choose() {
	if j.operand != "" {
		j.in = j.operand
		return
	}
	pt := j.part
	if pt.Rename || pt.Copy {
		from, to := j.gitName(pt.Old.Path), j.gitName(pt.New.Path)
		if j.back {
			from, to = to, from
		}
		j.in, j.outName = from, to
		if j.back && pt.Copy {
			j.in, j.outName = to, to // a copy taken back is the change to the original
			if _, err := j.p.Stat(to); err != nil {
				j.in = from
			}
			return
		}
		return
	}
	var found []candidate
	names := []string{pt.Old.Path, pt.New.Path}
	if j.back {
		slices.Reverse(names)
	}
	named, ignored := false, ""
	for _, n := range names {
		if s := j.stripped(n); s != "" {
			if !strings.HasPrefix(s, "/") && !filepathLocal(s) {
				if s != ignored {
					j.say("Ignoring potentially dangerous file name %s\n", diffName(s))
				}
				ignored = s
				continue
			}
			named = true
			st, err := j.p.Stat(s)
			found = append(found, candidate{s, st, err})
		}
	}
	if s := j.stripped(pt.Index); s != "" && (!named || j.posix) {
		st, err := j.p.Stat(s)
		found = append(found, candidate{s, st, err})
	}
	best := func(list []candidate) string {
		if len(list) == 0 {
			return ""
		}
		if j.posix {
			return list[0].name
		}
		return slices.MinFunc(list, func(a, b candidate) int {
			if n := strings.Count(a.name, "/") - strings.Count(b.name, "/"); n != 0 {
				return n
			}
			if n := len(baseName(a.name)) - len(baseName(b.name)); n != 0 {
				return n
			}
			return len(a.name) - len(b.name)
		}).name
	}
	j.in = best(slices.DeleteFunc(slices.Clone(found), func(c candidate) bool { return c.err != nil }))
	if j.in == "" && (j.oldGone() > 0 || pt.Git && pt.Format == patch.Git || j.newGone() > 0) {
		// A file to be made: the name that needs the fewest new directories.
		missing := func(name string) int {
			n := 0
			for i := range len(name) {
				if name[i] == '/' && i > 0 {
					if _, err := j.p.Stat(name[:i]); err != nil {
						n++
					}
				}
			}
			return n
		}
		least := -1
		for _, c := range found {
			if n := missing(c.name); least < 0 || n < least {
				least = n
			}
		}
		j.in = best(slices.DeleteFunc(found, func(c candidate) bool { return missing(c.name) > least }))
	}
}

// filepathLocal reports whether a name stays below the directory it begins in.
func filepathLocal(name string) bool { return !slices.Contains(strings.Split(name, "/"), "..") }

func (j *patchJob) gitName(name string) string {
	if j.strip == 0 {
		return name[2:]
	}
	return j.stripped(name)
}

func (j *patchJob) oldGone() int {
	if j.back {
		return j.part.NewGone
	}
	return j.part.OldGone
}

func (j *patchJob) newGone() int {
	if j.back {
		return j.part.OldGone
	}
	return j.part.NewGone
}

// reversed asks what to do about a patch that looks like it was applied before; true turns it around. There is
// never a terminal to ask.
func (j *patchJob) reversed(format string, args ...any) bool {
	out := j.messages()
	if !(j.force && j.silent) {
		fmt.Fprintf(out, format, args...)
	}
	switch {
	case j.forward:
		out.WriteString("  Skipping patch.\n")
		j.skip = true
	case j.force:
		j.say("  Applying it anyway.\n")
		j.anyway = true
	case j.batch:
		if j.back {
			out.WriteString("  Ignoring -R.\n")
		} else {
			out.WriteString("  Assuming -R.\n")
		}
		return true
	default:
		question := "Assume"
		if j.back {
			question = "Ignore"
		}
		fmt.Fprintf(out, "  %s -R? [n] \nApply anyway? [n] \n", question)
		j.say("Skipping patch.\n")
		j.skip = true
	}
	return false
}

func (j *patchJob) run() error {
	pt := j.part
	if pt.CR {
		j.say("(Stripping trailing CRs from patch; use --binary to disable.)\n")
	}
	if pt.Indent > 0 {
		j.say("(Patch is indented %d space%s.)\n", pt.Indent, pluralEnding(pt.Indent))
	}
	if j.verbose {
		j.describe()
	}
	j.choose()
	if j.in == "" {
		j.unknown()
	} else {
		j.look()
	}
	if !j.skip && j.in != "" && j.exists && j.st.Kind != proc.Regular {
		j.say("File %s is not a regular file -- refusing to patch\n", diffName(j.in))
		j.skip = true
	}
	if j.skip {
		return j.count()
	}
	if j.outName == "" {
		j.outName = j.in
	}
	if j.out != "" {
		j.outName = j.out
	}
	if j.exists && j.st.Mode&0o222 == 0 && j.out == "" && j.readOnly != "ignore" {
		if j.readOnly == "fail" {
			j.say("File %s is read-only; refusing to patch\n", diffName(j.in))
			j.skip = true
			return j.count()
		}
		j.say("File %s is read-only; trying to patch anyway\n", diffName(j.in))
	}
	data, err := j.content()
	if err != nil {
		return fmt.Errorf("Can't open file %s : %s", j.in, proc.Strerror(err)) //nolint:staticcheck // patch's own words
	}
	j.announce()
	if err := j.change(patch.Split(data)); err != nil {
		return err
	}
	if !j.skip {
		if err := j.write(); err != nil {
			return err
		}
	}
	j.report()
	return nil
}

// content is what the file holds; nothing if it is to be made.
func (j *patchJob) content() ([]byte, error) {
	if !j.exists {
		return nil, nil
	}
	return j.p.ReadFile(j.in)
}

var patchFormats = map[patch.Format]string{
	patch.Unified: "a unified diff", patch.Context: "a new-style context diff", patch.Normal: "a normal diff",
	patch.Ed: "an ed script", patch.Git: "a git diff",
}

// lead shows the text before the hunks.
func (j *patchJob) lead() {
	if len(j.part.Lead) == 0 {
		return
	}
	out := j.messages()
	out.WriteString("The text leading up to this was:\n--------------------------\n")
	for _, l := range j.part.Lead {
		out.WriteByte('|')
		out.Write(l)
	}
	out.WriteString("--------------------------\n")
}

func (j *patchJob) describe() {
	j.say("Hmm...  Looks like %s to me...\n", patchFormats[j.part.Format])
	j.lead()
}

// unknown complains that no file was found.
func (j *patchJob) unknown() {
	out := j.messages()
	j.skip, j.noReject = true, true
	fmt.Fprintf(out, "can't find file to patch at input line %d\n", j.part.Start)
	if !j.verbose {
		if j.strip < 0 {
			out.WriteString("Perhaps you should have used the -p or --strip option?\n")
		} else {
			out.WriteString("Perhaps you used the wrong -p or --strip option?\n")
		}
		j.lead()
	}
	if j.force || j.batch {
		out.WriteString("No file to patch.  Skipping patch.\n")
		return
	}
	out.WriteString("File to patch: \nSkip this patch? [y] \nSkipping patch.\n")
}

// look stats the file and compares it with what the patch says about it.
func (j *patchJob) look() {
	var err error
	j.st, err = j.p.Stat(j.in)
	j.exists = err == nil
	pt := j.part
	if (pt.Rename || pt.Copy) && !j.exists {
		if st, err := j.p.Stat(j.outName); err == nil {
			j.st, j.exists, j.in = st, true, j.outName
		}
		return
	}
	if j.exists && j.st.Kind != proc.Regular {
		return
	}
	isEmpty := !j.exists || j.st.Size == 0
	if pt.Format == patch.Normal || pt.Format == patch.Ed {
		return
	}
	gone, what, state := j.oldGone() == 2, "create", "already exists"
	switch {
	case !j.exists:
		gone, what, state = j.newGone() > 0 && !(j.newGone() == 1 && j.oldGone() == 2), "delete", "does not exist"
	case isEmpty:
		gone, what, state = j.newGone() > 0 && !(j.oldGone() == 1 && j.newGone() == 2), "empty out", "is already empty"
	}
	if !gone {
		return
	}
	backwards := ""
	if j.back {
		backwards = ", when reversed,"
	}
	if j.reversed("The next patch%s would %s the file %s,\nwhich %s!", backwards, what, diffName(j.in), state) {
		j.back = !j.back
	}
	j.noReject = j.skip
}

func (j *patchJob) announce() {
	if j.part.Format == patch.Ed {
		return
	}
	verb, note := "patching", ""
	if j.dry {
		verb = "checking"
	}
	switch {
	case (j.part.Rename || j.part.Copy) && j.out == "" && j.in == j.outName && !(j.back && j.part.Copy):
		from := j.gitName(j.part.Old.Path)
		if j.back {
			from = j.gitName(j.part.New.Path)
		}
		note = fmt.Sprintf(" (already %s from %s)", j.moved(), diffName(from))
	case j.in != j.outName && (j.part.Rename || j.part.Copy) && j.out == "":
		note = fmt.Sprintf(" (%s from %s)", j.moved(), diffName(j.in))
	case j.in != j.outName:
		note = fmt.Sprintf(" (read from %s)", diffName(j.in))
	}
	j.say("%s file %s%s\n", verb, diffName(j.outName), note)
	if j.verbose {
		j.say("Using Plan A...\n")
	}
}

func (j *patchJob) moved() string {
	if j.part.Copy {
		return "copied"
	}
	return "renamed"
}

// next reads a hunk the way round it is wanted.
func (j *patchJob) next() (*patch.Hunk, error) {
	h, err := j.reader.Hunk()
	if h == nil || err != nil {
		return nil, err
	}
	j.hunks++
	if j.back {
		h.Reverse()
	}
	return h, nil
}

// count reads the hunks of a part that is skipped.
func (j *patchJob) count() error {
	for {
		h, err := j.next()
		if err != nil {
			return err
		}
		if h == nil {
			break
		}
		j.failed = append(j.failed, h)
	}
	if j.outName == "" {
		j.outName = j.in
	}
	j.status = max(j.status, patchFailure)
	j.report()
	return nil
}

// change applies the hunks to the lines.
func (j *patchJob) change(lines [][]byte) error {
	held := 24 * 2 * len(lines)
	j.p.Hold(held)
	defer j.p.Release(held)
	f := &patch.File{Lines: lines, New: j.oldGone() == 2, Loose: j.loose, Tick: j.p.Tick}
	done := 0    // lines of the file that were dealt with
	missing := 0 // lines that the hunks that failed would have added
	ed := j.part.Format == patch.Ed
	for {
		h, err := j.next()
		if err != nil {
			return err
		}
		if h == nil {
			break
		}
		if ed { // from the last line to the first
			if done, lines = 0, j.edit(lines, h); lines == nil {
				return &patch.Error{Message: "ed FAILED"}
			}
			j.result = nil
			continue
		}
		where, fuzz := 0, 0
		if !j.skip {
			where, fuzz = j.find(f, h)
		}
		if where > 0 && where <= f.Frozen {
			j.say("misordered hunks! output would be garbled\n")
			where = 0
		}
		switch {
		case j.skip:
			j.failed = append(j.failed, h)
		case where == 0:
			note := ""
			if endings(f, h) {
				note = " (different line endings)"
			}
			j.say("Hunk #%d FAILED at %d%s.\n", j.hunks, h.New-missing, note)
			missing += len(h.Side('+')) - len(h.Side('-'))
			j.failed = append(j.failed, h)
		default:
			j.tell(h, where, fuzz, where-h.Old)
			j.result = append(j.result, lines[done:min(where-1, len(lines))]...)
			done = j.splice(lines, h, where)
			f.Frozen = done
		}
	}
	j.result = append(j.result, lines[done:]...)
	return nil
}

// edit applies a command of an ed script; nil when the lines are not there.
func (j *patchJob) edit(lines [][]byte, h *patch.Hunk) [][]byte {
	del := len(h.Side('-'))
	at := h.Old - 1
	if at < 0 || at+del > len(lines) {
		return nil
	}
	j.p.Tick(1 + len(lines)>>6)
	return slices.Replace(slices.Clone(lines), at, at+del, h.Side('+')...)
}

// find looks for the hunk with growing fuzz, and for the first one backwards too.
func (j *patchJob) find(f *patch.File, h *patch.Hunk) (where, fuzz int) {
	before, after := h.Context()
	most := min(j.fuzz, max(before, after))
	for ; fuzz <= most; fuzz++ {
		where = f.Locate(h, fuzz)
		if where == 0 || fuzz > 0 || f.Offset != 0 {
			j.mismatch = true
		}
		if where == 0 && j.hunks == 1 && !j.force && !j.anyway && j.back == j.reverse {
			h.Reverse()
			turned := f.Locate(h, fuzz)
			if turned > 0 {
				what := "Reversed (or previously applied)"
				if j.back {
					what = "Unreversed"
				}
				if j.reversed("%s patch detected!", what) {
					j.back = !j.back
					return turned, fuzz
				}
			}
			h.Reverse()
			if j.skip {
				return 0, fuzz
			}
		}
		if where > 0 {
			return where, fuzz
		}
	}
	return 0, fuzz
}

// endings reports whether the hunk would fit if carriage returns did not count.
func endings(f *patch.File, h *patch.Hunk) bool {
	bare := func(lines [][]byte) [][]byte {
		out := make([][]byte, len(lines))
		for i, l := range lines {
			out[i] = bytes.TrimRight(l, "\r\n")
		}
		return out
	}
	at := h.Old - 1
	old := h.Side('-')
	if at < 0 || at+len(old) > len(f.Lines) || len(old) == 0 {
		return false
	}
	lines := f.Lines[at : at+len(old)]
	return !slices.EqualFunc(lines, old, bytes.Equal) && slices.EqualFunc(bare(lines), bare(old), bytes.Equal)
}

func (j *patchJob) tell(h *patch.Hunk, where, fuzz, offset int) {
	if fuzz == 0 && offset == 0 && !j.verbose {
		return
	}
	s := fmt.Sprintf("Hunk #%d succeeded at %d", j.hunks, h.New+offset)
	if fuzz > 0 {
		s += fmt.Sprintf(" with fuzz %d", fuzz)
	}
	if offset != 0 {
		s += fmt.Sprintf(" (offset %d line%s)", offset, pluralEnding(offset))
	}
	j.say("%s.\n", s)
}

// splice puts the new side in the place of the old one; context stays what the file has.
func (j *patchJob) splice(lines [][]byte, h *patch.Hunk, where int) int {
	at := where - 1
	state := byte(' ')
	mark := func(op byte) {
		if j.ifdef == "" || op == state {
			return
		}
		s := ""
		switch {
		case op == ' ':
			s = "#endif\n"
		case state == ' ' && op == '-':
			s = "#ifndef " + j.ifdef + "\n"
		case state == ' ':
			s = "#ifdef " + j.ifdef + "\n"
		default:
			s = "#else\n"
		}
		j.result = append(j.result, []byte(s))
		state = op
	}
	for _, l := range h.Lines {
		j.p.Tick(1)
		mark(l.Op)
		switch l.Op {
		case ' ':
			if at < len(lines) {
				j.result = append(j.result, lines[at])
			}
			at++
		case '-':
			if j.ifdef != "" {
				j.result = append(j.result, lines[at])
			}
			at++
		case '+':
			j.result = append(j.result, l.Text)
		}
	}
	mark(' ')
	return min(at, len(lines))
}

// write puts the result in place.
func (j *patchJob) write() error {
	p := j.p
	size := 0
	for _, l := range j.result {
		size += len(l)
	}
	remove := size == 0 && (j.empty || j.newGone() == 2 && !j.posix) && j.out == ""
	if size > 0 && j.newGone() == 2 && !j.posix && j.out == "" {
		j.status = max(j.status, patchFailure)
		j.say("Not deleting file %s as content differs from patch\n", diffName(j.outName))
	}
	if j.dry {
		return nil
	}
	if j.outName == "-" {
		for _, l := range j.result {
			p.Out.Write(l)
		}
		return nil
	}
	if j.out != "" {
		return j.writeTo(j.out, 0o666&^p.Umask)
	}
	backup := j.always || (j.mismatch || len(j.failed) > 0) && !j.noMismatch
	if backup {
		if err := j.save(); err != nil {
			return err
		}
	}
	moved := j.in != j.outName
	if remove {
		if err := p.FS.Unlink(p.Abs(j.outName)); err != nil && !errors.Is(err, fserr.ENOENT) {
			return fmt.Errorf("Can't remove file %s : %s", j.outName, proc.Strerror(err)) //nolint:staticcheck // patch's own words
		}
		j.prune(j.outName)
		return nil
	}
	mode := 0o666 &^ p.Umask
	if j.exists {
		mode = j.st.Mode
	}
	if m := j.newMode(); m != 0 {
		mode = m & 0o777
	}
	_, err := p.Lstat(j.outName)
	if !(moved || j.mismatch || j.hunks > 0 || j.part.Format == patch.Ed || err != nil) {
		return wrapChmod(j.outName, p.FS.Chmod(p.Abs(j.outName), mode))
	}
	// A new inode, as after a rename: other links keep the old content.
	if err == nil {
		_ = p.FS.Unlink(p.Abs(j.outName))
	} else {
		j.directories(j.outName)
	}
	if err := j.writeTo(j.outName, mode); err != nil {
		return err
	}
	if moved && j.part.Rename {
		_ = p.FS.Unlink(p.Abs(j.in))
		j.prune(j.in)
	}
	if when := j.time(); j.setTime && !when.Time.IsZero() {
		_ = p.FS.Utimes(p.Abs(j.outName), when.Time.UnixNano(), true)
	}
	return nil
}

func wrapChmod(name string, err error) error {
	if err != nil {
		return fmt.Errorf("Can't set permissions on file %s : %s", name, proc.Strerror(err)) //nolint:staticcheck // patch's own words
	}
	return nil
}

func (j *patchJob) newMode() uint32 {
	if j.back {
		return j.part.OldMode
	}
	return j.part.NewMode
}

func (j *patchJob) time() patch.Name {
	if j.back {
		return j.part.Old
	}
	return j.part.New
}

func (j *patchJob) writeTo(name string, mode uint32) error {
	p := j.p
	flag := proc.WriteOnly | proc.Create | proc.Trunc
	if j.out != "" && j.outOpen {
		flag = proc.WriteOnly | proc.Append
	}
	f, err := p.Open(name, flag, 0o600)
	if err != nil {
		return fmt.Errorf("Can't create file %s : %s", name, proc.Strerror(err)) //nolint:staticcheck // patch's own words
	}
	j.outOpen = j.out != ""
	w := proc.NewWriter(f, p)
	for _, l := range j.result {
		w.Write(l)
	}
	w.Flush()
	if err := f.Close(); err != nil {
		return fmt.Errorf("write error : %s", proc.Strerror(err))
	}
	return wrapChmod(name, p.FS.Chmod(p.Abs(name), mode))
}

// save makes the backup, once in a run.
func (j *patchJob) save() error {
	p := j.p
	if j.saved[j.outName] {
		return nil
	}
	j.saved[j.outName] = true
	b := j.backup
	if j.prefix != "" || j.base != "" {
		b.kind, b.suffix = "simple", ""
	}
	to := b.name(p, j.outName)
	if dir := dirName(to); j.base != "" {
		if to = j.base + baseName(to); dir != "." {
			to = joinPath(dir, to)
		}
	}
	to = j.prefix + to
	var data []byte
	var mode uint32
	st, err := p.Stat(j.outName)
	if err == nil {
		if data, err = p.ReadFile(j.outName); err != nil {
			return fmt.Errorf("Can't open file %s : %s", j.outName, proc.Strerror(err)) //nolint:staticcheck // patch's own words
		}
		mode = st.Mode
	}
	j.directories(to)
	f, err := p.Open(to, proc.WriteOnly|proc.Create|proc.Trunc, 0o600)
	if err == nil {
		_, err = f.Write(data)
		_ = f.Close()
	}
	if err != nil {
		return fmt.Errorf("Can't create file %s : %s", to, proc.Strerror(err)) //nolint:staticcheck // patch's own words
	}
	if mode != 0 {
		_ = p.FS.Utimes(p.Abs(to), st.Mtime, true)
	}
	return wrapChmod(to, p.FS.Chmod(p.Abs(to), mode))
}

// directories makes what is missing above a name.
func (j *patchJob) directories(name string) {
	for i := range len(name) {
		if name[i] == '/' && i > 0 {
			_ = j.p.FS.Mkdir(j.p.Abs(name[:i]), 0o777&^j.p.Umask)
		}
	}
}

// prune removes the directories that a removed file leaves empty.
func (j *patchJob) prune(name string) {
	for i := strings.LastIndexByte(name, '/'); i > 0; i = strings.LastIndexByte(name, '/') {
		name = name[:i]
		if err := j.p.FS.Rmdir(j.p.Abs(name)); err != nil {
			return
		}
	}
}

// report says how many hunks failed, and saves them.
func (j *patchJob) report() {
	if len(j.failed) == 0 {
		return
	}
	j.status = max(j.status, patchFailure)
	verb := "FAILED"
	if j.skip {
		verb = "ignored"
	}
	out := j.messages()
	fmt.Fprintf(out, "%d out of %d hunk%s %s", len(j.failed), j.hunks, pluralEnding(j.hunks), verb)
	if j.noReject || j.dry || j.reject == "-" || j.outName == "-" && j.reject == "" {
		out.WriteByte('\n')
		return
	}
	name := j.reject
	if name == "" {
		name = j.outName + ".rej"
	}
	fmt.Fprintf(out, " -- saving rejects to file %s\n", diffName(name))
	f, err := j.p.Open(name, proc.WriteOnly|proc.Create|proc.Trunc, 0o666&^j.p.Umask)
	if err != nil {
		j.status = j.fatal("Can't create file %s : %s", name, proc.Strerror(err))
		return
	}
	w := proc.NewWriter(f, j.p)
	j.rejected(w)
	w.Flush()
	_ = f.Close()
}

// rejected writes the failed hunks as a diff.
func (j *patchJob) rejected(w *proc.Writer) {
	old, new := j.part.Old, j.part.New
	if j.back {
		old, new = new, old
	}
	name := func(n patch.Name) string {
		s := n.Path
		if s == "" {
			return "/dev/null"
		}
		if t := j.stripped(s); t != "" {
			s = t
		}
		return s + n.Stamp
	}
	unified := j.part.Format == patch.Unified
	if j.rejects != "" {
		unified = j.rejects == "unified"
	}
	if unified {
		fmt.Fprintf(w, "--- %s\n+++ %s\n", name(old), name(new))
	} else {
		fmt.Fprintf(w, "*** %s\n--- %s\n", name(old), name(new))
	}
	for _, h := range j.failed {
		j.p.Tick(1 + len(h.Lines))
		if unified {
			rejectUnified(w, h)
		} else {
			rejectContext(w, h, j.part.Format == patch.Normal)
		}
	}
}

func rejectLine(w *proc.Writer, mark string, text []byte) {
	w.WriteString(mark)
	w.Write(text)
	if !bytes.HasSuffix(text, []byte{'\n'}) {
		w.WriteString("\n\\ No newline at end of file\n")
	}
}

func rejectUnified(out *proc.Writer, h *patch.Hunk) {
	span := func(start, n int) string {
		switch n {
		case 0:
			return strconv.Itoa(start-1) + ",0"
		case 1:
			return strconv.Itoa(start)
		}
		return fmt.Sprintf("%d,%d", start, n)
	}
	fmt.Fprintf(out, "@@ -%s +%s @@", span(h.Old, len(h.Side('-'))), span(h.New, len(h.Side('+'))))
	if h.Function != "" {
		out.WriteString(" " + h.Function)
	}
	out.WriteByte('\n')
	for _, l := range h.Lines {
		rejectLine(out, string(l.Op), l.Text)
	}
}

func rejectContext(w *proc.Writer, h *patch.Hunk, normal bool) {
	stars, minuses := " ****", " ----"
	if normal {
		stars, minuses = "", " -----"
	}
	side := func(head, tail string, start int, op byte) {
		n, changed := 0, false
		for _, l := range h.Lines {
			if l.Op == ' ' || l.Op == op {
				n++
			}
			changed = changed || l.Op == op
		}
		span := strconv.Itoa(start)
		switch {
		case n == 0:
			span = strconv.Itoa(start - 1)
		case n > 1:
			span = fmt.Sprintf("%d,%d", start, start+n-1)
		}
		fmt.Fprintf(w, "%s %s%s\n", head, span, tail)
		if !changed {
			return
		}
		for i, l := range h.Lines {
			switch l.Op {
			case ' ':
				rejectLine(w, "  ", l.Text)
			case op:
				mark := string(op) + " "
				if !normal && twoSided(h.Lines, i) {
					mark = "! "
				}
				rejectLine(w, mark, l.Text)
			}
		}
	}
	w.WriteString("***************")
	if h.Function != "" {
		w.WriteString(" " + h.Function)
	}
	w.WriteByte('\n')
	side("***", stars, h.Old, '-')
	side("---", minuses, h.New, '+')
}

// twoSided reports whether the run of changes around line i has both deletions and additions.
func twoSided(lines []patch.Line, i int) bool {
	lo, hi := i, i
	for lo > 0 && lines[lo-1].Op != ' ' {
		lo--
	}
	for hi < len(lines) && lines[hi].Op != ' ' {
		hi++
	}
	var del, ins bool
	for _, l := range lines[lo:hi] {
		del = del || l.Op == '-'
		ins = ins || l.Op == '+'
	}
	return del && ins
}

func pluralEnding(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
