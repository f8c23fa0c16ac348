package utillinux

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var parallelSpec = getopt.New("+0a:C:d:D:E:e::gI:i::j:P:kL:l::mn:N:pqrRs:S:tuU:vVWXx",
	"null=0 arg-file:=a arg-file-sep: arg-sep: bar basefile: bg block: blocksize:=block cat cleanup colsep:=C compress controlmaster csv delay: delimiter:=d dry-run dryrun=dry-run eof::=E end-of-file::=E env: "+
		"environment eta fg fifo filter: files gnu=gnu group=g halt: halt-on-error:=halt header: hostgroups jobs:=j max-procs:=j joblog: keep-order=k line-buffer=lb linebuffer=lb lb link xapply=link load: "+
		"max-lines::=l max-line-length-allowed max-args:=n max-replace-args:=N max-chars:=s memfree: minversion: nice: no-notice no-run-if-empty=r noswap number-of-cpus number-of-cores number-of-threads output-as-files "+
		"pipe spreadstdin=pipe pipepart plain plus progress quote=q recstart: recend: regexp remove-rec-sep replace::=I res: results: resume resume-failed retries: rpl: seqreplace: shellquote shuf silent skip-first-line "+
		"slotreplace: sqlworker: tag tagstring: tempdir: tmpdir: timeout: transferfile: trim: tty ungroup=u verbose=v wait will-cite workdir: wd:=workdir xargs=X round-robin roundrobin=round-robin semaphore version=V help=h").
	WithStatus(255).WithVersion("20221122").WithHint("Usage:\n\nparallel [options] [command [arguments]] < list_of_arguments\nparallel [options] [command [arguments]] (::: arguments|:::: argfile(s))...\n"+
	"cat ... | parallel --pipe [options] [command [arguments]]").
	WithUsage("[options] [command [arguments]] (::: arguments|:::: argfile(s))...", "Run commands for many arguments.")

// parallelJob is one command line and what came of it.
type parallelJob struct {
	seq    int
	args   []string
	stdin  []byte
	status int

	line     string
	slot     int
	tries    int
	out      *proc.Buffer
	errs     *proc.Buffer
	ctx      context.Context
	cancel   context.CancelFunc
	child    *proc.Running
	started  time.Time
	timedOut bool
}

type parallelRun struct {
	ctx                                                      context.Context
	p                                                        *proc.Process
	jobs                                                     int
	dry, verbose, trace, none, quoted, tag, link, pipe, plus bool
	context, many                                            bool // -X, -m
	tagString                                                string
	maxArgs                                                  int
	maxChars                                                 int
	replace                                                  string
	colsep                                                   *regexp.Regexp
	header                                                   *regexp.Regexp
	names                                                    map[string]int
	trim                                                     string
	joblog, results                                          string
	haltNow, haltSoon                                        bool
	haltFail, haltSuccess                                    int
	retries                                                  int
	timeout, delay                                           time.Duration
	delim                                                    string
	rpl                                                      map[string]string
	template                                                 []string
	log                                                      strings.Builder
	failed                                                   int
	succeeded                                                int
	shellQuoteOnly                                           bool
	keep                                                     bool // -k
	most                                                     int  // jobs at once
	running                                                  []*parallelJob
	ended                                                    chan *parallelJob
	// by number, of those that wait for their turn with -k
	finished map[int]*parallelJob
	next     int // whose turn it is
	halted   bool
	status   int // of the job that ended everything
}

func parallel(ctx context.Context, p *proc.Process) int {
	r := &parallelRun{ctx: ctx, p: p, jobs: proc.Processors, replace: "{}", delim: "\n", rpl: map[string]string{},
		retries: 1}
	opts, args, err := parallelSpec.Scan(p.Args[1:])
	if err != nil {
		text := err.Error()
		if i := strings.Index(text, "'--"); i >= 0 {
			text = "Unknown option: " + strings.TrimSuffix(text[i+3:], "'")
		}
		p.Err.WriteString(text + "\n")
		parallelSpec.Hint(p)
	}
	var files []string
	lines, block := 0, int64(1<<20)
	shuffle, skipFirst, records := false, false, 0
	eof, hasEOF := "", false
	count := func(o getopt.Option) int {
		n, problem := program.ParseCount(o.Value, "kKmMgG")
		if problem != program.NumberOK {
			p.Errorf("Error: %s must be a number.", o.Key)
			p.Exit(255)
		}
		return int(min(n, 1<<30))
	}
	for _, o := range opts {
		switch o.Key {
		case "0":
			r.delim = "\x00"
		case "a":
			files = append(files, o.Value)
		case "C":
			re, err := regexp.Compile(o.Value)
			if err != nil {
				re = regexp.MustCompile(regexp.QuoteMeta(o.Value))
			}
			r.colsep = re
		case "csv":
			r.colsep = regexp.MustCompile(",")
		case "d":
			r.delim = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\0`, "\x00", `\\`, `\`).Replace(o.Value)
		case "E":
			eof, hasEOF = o.Value, true
		case "I", "i":
			r.replace = o.Value
			if !o.Has {
				r.replace = "{}"
			}
		case "j", "P":
			r.jobs = max(parallelJobs(o.Value), 1)
		case "L", "l":
			lines = 1
			if o.Has {
				lines = count(o)
			}
		case "k":
			r.keep = true
		case "m":
			r.many = true
		case "X":
			r.context = true
		case "n", "N":
			r.maxArgs = count(o)
			r.none = r.maxArgs == 0
			if o.Key == "N" {
				records = r.maxArgs
			}
		case "s":
			r.maxChars = count(o)
		case "q":
			r.quoted = true
		case "v":
			r.verbose = true
		case "t":
			r.trace = true
		case "dry-run":
			r.dry = true
		case "tag":
			r.tag = true
		case "tagstring":
			r.tag, r.tagString = true, o.Value
		case "link":
			r.link = true
		case "pipe":
			r.pipe = true
		case "block":
			block = parallelBlock(o.Value)
			if block < 1 {
				p.Errorf("Error: --block must be a number.")
				return 255
			}
		case "plus":
			r.plus = true
		case "header":
			expr := o.Value
			if expr == ":" {
				expr = "\t"
			}
			re, err := regexp.Compile(expr)
			if err != nil {
				re = regexp.MustCompile(regexp.QuoteMeta(expr))
			}
			r.header = re
		case "trim":
			r.trim = o.Value
		case "joblog":
			r.joblog = o.Value
		case "results", "res":
			r.results = o.Value
		case "halt":
			if !r.setHalt(o.Value) {
				p.Errorf("Error: --halt %s is not understood.", o.Value)
				return 255
			}
		case "retries":
			r.retries = max(count(o), 1)
		case "timeout":
			d, ok := program.ParseDuration(o.Value)
			if !ok {
				p.Errorf("Error: --timeout must be seconds or percentage.")
				return 255
			}
			r.timeout = d
		case "delay":
			r.delay, _ = program.ParseDuration(o.Value)
		case "rpl":
			name, expr, _ := strings.Cut(o.Value, " ")
			r.rpl[name] = expr
		case "shuf":
			shuffle = true
		case "skip-first-line":
			skipFirst = true
		case "shellquote":
			r.shellQuoteOnly = true
		case "workdir":
			p.Dir = p.Abs(o.Value)
		case "number-of-cpus", "number-of-cores", "number-of-threads":
			fmt.Fprintf(p.Out, "%d\n", proc.Processors)
			return 0
		case "V":
			p.Out.WriteString("GNU parallel 20221122\nThis is pgbox's own implementation, compatible with that version.\n")
			return 0
		case "h":
			p.Out.WriteString("Usage:\n\nparallel [options] [command [arguments]] < list_of_arguments\nparallel [options] [command [arguments]] (::: arguments|:::: argfile(s))...\ncat ... | parallel --pipe [options] [command [arguments]]\n")
			return 0
		}
	}
	read := func(name string) []string {
		var data []byte
		err := program.WithInput(p, name, func(_ string, in io.Reader) (err error) {
			data, err = p.ReadAll(in)
			return err
		})
		if err != nil {
			p.Errorf("Error: Cannot open input file `%s': %s.", name, proc.Strerror(err))
			p.Exit(255)
		}
		text := strings.TrimSuffix(string(data), r.delim)
		if len(data) == 0 {
			return nil
		}
		return strings.Split(text, r.delim)
	}
	var sources [][]string
	linked := map[int]bool{}
	for i := 0; i < len(args); {
		sep := args[i]
		if !slices.Contains([]string{":::", ":::+", "::::", "::::+"}, sep) {
			r.template = append(r.template, sep)
			i++
			continue
		}
		var list []string
		for i++; i < len(args) && !slices.Contains([]string{":::", ":::+", "::::", "::::+"}, args[i]); i++ {
			if strings.HasPrefix(sep, "::::") {
				if len(list) > 0 { // each file is a source
					sources = append(sources, list)
				}
				list = read(args[i])
			} else {
				list = append(list, args[i])
			}
		}
		if strings.HasSuffix(sep, "+") {
			linked[len(sources)] = true
		}
		sources = append(sources, list)
	}
	for _, f := range files {
		sources = append(sources, read(f))
	}
	r.most = min(r.jobs, parallelMost)
	if p.Getenv("PARALLEL_SEQ") != "" {
		r.most = min(r.jobs, parallelMostNested)
	}
	r.ended, r.finished, r.next = make(chan *parallelJob, parallelMost), map[int]*parallelJob{}, 1
	defer r.stop()
	if r.pipe {
		return r.finish(r.runPipe(records, int(block)))
	}
	if len(sources) == 0 {
		sources = [][]string{read("-")}
	}
	if hasEOF {
		for i, s := range sources {
			if at := slices.Index(s, eof); at >= 0 {
				sources[i] = s[:at]
			}
		}
	}
	if skipFirst && len(sources[0]) > 0 {
		sources[0] = sources[0][1:]
	}
	if r.header != nil {
		r.names = map[string]int{}
		n := 0
		for i, s := range sources {
			if len(s) == 0 {
				continue
			}
			titles := []string{s[0]}
			if r.colsep != nil {
				titles = r.colsep.Split(s[0], -1)
			} else if len(sources) == 1 {
				titles = r.header.Split(s[0], -1)
			}
			for _, t := range titles {
				n++
				r.names[t] = n
			}
			sources[i] = s[1:]
		}
	}
	rows := r.combine(sources, linked)
	if r.colsep != nil {
		for i, row := range rows {
			var cells []string
			for _, c := range row {
				cells = append(cells, r.colsep.Split(c, -1)...)
			}
			rows[i] = cells
		}
	}
	for _, row := range rows {
		for i, a := range row {
			if strings.Contains(r.trim, "l") {
				a = strings.TrimLeft(a, " \t\n")
			}
			if strings.Contains(r.trim, "r") {
				a = strings.TrimRight(a, " \t\n")
			}
			row[i] = a
		}
	}
	if shuffle {
		rand.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	}
	if lines > 0 {
		r.maxArgs = lines
	}
	for i, row := range r.group(rows) {
		if !r.run(&parallelJob{seq: i + 1, args: row}) {
			break
		}
	}
	r.drain()
	return r.finish(0)
}

// parallelBlock reads --block: k, m and g are powers of 1000, K, M and G of 1024.
func parallelBlock(s string) int64 {
	digits := strings.TrimRight(s, "kKmMgG")
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || n < 0 {
		return 0
	}
	for _, c := range s[len(digits):] {
		base := 1024.0
		if c >= 'a' {
			base = 1000
		}
		n *= math.Pow(base, float64(1+strings.IndexRune("kmg", c|0x20)))
	}
	return int64(min(n, 1<<30))
}

// parallelJobs reads -j: a number, +N, -N, N% or 0.
func parallelJobs(s string) int {
	if pct, ok := strings.CutSuffix(s, "%"); ok {
		n, _ := strconv.Atoi(pct)
		return proc.Processors * n / 100
	}
	n, err := strconv.Atoi(s)
	switch {
	case err != nil:
		return proc.Processors
	case s[0] == '+' || s[0] == '-':
		return proc.Processors + n
	case n == 0:
		return 1 << 20
	}
	return n
}

func (r *parallelRun) setHalt(s string) bool {
	switch s {
	case "0", "never":
		return true
	case "1":
		s = "soon,fail=1"
	case "2":
		s = "now,fail=1"
	}
	when, what, ok := strings.Cut(s, ",")
	if !ok || when != "now" && when != "soon" {
		return false
	}
	kind, value, _ := strings.Cut(what, "=")
	n, err := strconv.Atoi(strings.TrimSuffix(value, "%"))
	if err != nil || n < 1 || strings.HasSuffix(value, "%") {
		return false
	}
	r.haltNow, r.haltSoon = when == "now", when == "soon"
	switch kind {
	case "fail":
		r.haltFail = n
	case "success":
		r.haltSuccess = n
	default:
		return false
	}
	return true
}

// combine makes rows of the sources: all combinations, the first source slowest; linked sources go along with the one
// before.
func (r *parallelRun) combine(sources [][]string, linked map[int]bool) [][]string {
	if r.link {
		longest := 0
		for _, s := range sources {
			longest = max(longest, len(s))
		}
		var rows [][]string
		for i := range longest {
			r.p.Tick(1)
			var row []string
			for _, s := range sources {
				if len(s) > 0 {
					row = append(row, s[i%len(s)])
				}
			}
			rows = append(rows, row)
		}
		return rows
	}
	rows := [][]string{nil}
	for i := 0; i < len(sources); {
		var choices [][]string
		for k, a := range sources[i] {
			choice := []string{a}
			for j := i + 1; j < len(sources) && linked[j]; j++ {
				if k < len(sources[j]) {
					choice = append(choice, sources[j][k])
				} else {
					choice = nil
					break
				}
			}
			if choice != nil {
				choices = append(choices, choice)
			}
		}
		var next [][]string
		for _, row := range rows {
			for _, c := range choices {
				r.p.Tick(1)
				r.p.Hold(32 * (len(row) + len(c)))
				next = append(next, append(slices.Clone(row), c...))
			}
		}
		rows = next
		for i++; i < len(sources) && linked[i]; i++ {
		}
	}
	return rows
}

// group puts the arguments of several rows together, as -n, -X and -m ask for.
func (r *parallelRun) group(rows [][]string) [][]string {
	size := r.maxArgs
	if (r.context || r.many) && size == 0 {
		size = (len(rows) + r.jobs - 1) / r.jobs
	}
	if size <= 1 && r.maxChars == 0 {
		return rows
	}
	var out [][]string
	fixed := len(strings.Join(r.template, " "))
	var cur []string
	used, n := 0, 0
	flush := func() {
		if n > 0 {
			out = append(out, cur)
		}
		cur, used, n = nil, fixed, 0
	}
	flush()
	for _, row := range rows {
		need := len(strings.Join(row, " ")) + 1
		if n >= max(size, 1) || r.maxChars > 0 && n > 0 && used+need > r.maxChars {
			flush()
		}
		cur = append(cur, row...)
		used += need
		n++
	}
	flush()
	return out
}

// parallelQuote quotes an argument for the shell the way parallel does.
func parallelQuote(s string) string {
	if s == "" {
		return "''"
	}
	special := func(c rune) bool {
		return (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && !strings.ContainsRune("-_.+/", c)
	}
	if strings.IndexFunc(s, special) < 0 {
		return s
	}
	s = "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'"
	return strings.TrimSuffix(strings.TrimPrefix(s, "''"), "''")
}

func parallelDir(s string) string {
	i := strings.LastIndexByte(s, '/')
	switch {
	case i < 0:
		return "."
	case i == 0:
		return "/"
	}
	return s[:i]
}

func parallelStem(s string, n int) string {
	whole := s
	for range n {
		i := strings.LastIndexByte(s, '.')
		if i < 0 || strings.IndexByte(s[i:], '/') >= 0 {
			return whole
		}
		s = s[:i]
	}
	return s
}

// part is what a replacement string makes of an argument.
func (r *parallelRun) part(kind, a string, job *parallelJob) (string, bool) {
	switch kind {
	case "":
		return a, true
	case ".":
		return parallelStem(a, 1), true
	case "/":
		return program.ParallelBase(a), true
	case "//":
		return parallelDir(a), true
	case "/.":
		return parallelStem(program.ParallelBase(a), 1), true
	}
	if !r.plus {
		return "", false
	}
	extension := func(n int) string {
		s := strings.TrimPrefix(a[len(parallelStem(a, n)):], ".")
		return s
	}
	switch kind {
	case "..":
		return parallelStem(a, 2), true
	case "...":
		return parallelStem(a, 3), true
	case "/..":
		return parallelStem(program.ParallelBase(a), 2), true
	case "/...":
		return parallelStem(program.ParallelBase(a), 3), true
	case "+/":
		if i := strings.LastIndexByte(a, '/'); i >= 0 {
			return a[:i], true
		}
		return "", true
	case "+.":
		return extension(1), true
	case "+..":
		return extension(2), true
	case "+...":
		return extension(3), true
	case "##":
		return "", true
	}
	switch kind[0] {
	case '#':
		return strings.TrimPrefix(a, kind[1:]), true
	case '%':
		return strings.TrimSuffix(a, kind[1:]), true
	case '/':
		from, to, _ := strings.Cut(kind[1:], "/")
		return strings.Replace(a, from, to, 1), true
	case '^', ',':
		change := strings.ToUpper
		if kind[0] == ',' {
			change = strings.ToLower
		}
		letters := strings.TrimLeft(kind, kind[:1])
		switch {
		case letters == "":
			return "", false
		case kind[1] == kind[0]:
			return strings.ReplaceAll(a, letters, change(letters)), true
		case strings.HasPrefix(a, letters):
			return change(letters) + a[len(letters):], true
		}
		return a, true
	case ':':
		if d, ok := strings.CutPrefix(kind, ":-"); ok {
			if a == "" {
				return d, true
			}
			return a, true
		}
		from, length, has := strings.Cut(kind[1:], ":")
		n, err := strconv.Atoi(from)
		if err != nil || n < 0 {
			return "", false
		}
		a = a[min(n, len(a)):]
		if m, err := strconv.Atoi(length); has && err == nil && m >= 0 {
			a = a[:min(m, len(a))]
		}
		return a, true
	}
	return "", false
}

// perl evaluates the few expressions in {= =} that are understood.
func (r *parallelRun) perl(expr, a string, job *parallelJob) string {
	for stmt := range strings.SplitSeq(expr, ";") {
		stmt = strings.TrimSpace(stmt)
		if m := parallelArith.FindStringSubmatch(stmt); m != nil {
			x, err1 := strconv.ParseFloat(a, 64)
			y, err2 := strconv.ParseFloat(m[2], 64)
			if err1 == nil && err2 == nil {
				switch m[1] {
				case "+":
					x += y
				case "-":
					x -= y
				case "*":
					x *= y
				case "/":
					x /= y
				case "%":
					if int64(y) != 0 {
						x = float64(int64(x) % int64(y))
					}
				}
				a = strconv.FormatFloat(x, 'f', -1, 64)
			}
			continue
		}
		switch strings.NewReplacer(" ", "", "(", "", ")", "").Replace(stmt) {
		case "":
			continue
		case "$_=uc$_", "$_=uc":
			a = strings.ToUpper(a)
			continue
		case "$_=lc$_", "$_=lc":
			a = strings.ToLower(a)
			continue
		case "$_=ucfirst$_":
			a = strings.ToUpper(a[:min(1, len(a))]) + a[min(1, len(a)):]
			continue
		case "$_++":
			n, _ := strconv.Atoi(a)
			a = strconv.Itoa(n + 1)
			continue
		case "$_--":
			n, _ := strconv.Atoi(a)
			a = strconv.Itoa(n - 1)
			continue
		case "$_=seq":
			a = strconv.Itoa(job.seq)
			continue
		case "$_=slot":
			a = strconv.Itoa(job.slot)
			continue
		}
		ops, ok := parseRename(r.p, stmt)
		if !ok {
			r.p.Errorf("Cannot use perl expression: %s", stmt)
			r.p.Exit(255)
		}
		for _, op := range ops {
			a = op(a)
		}
	}
	return a
}

var parallelArith = regexp.MustCompile(`^\$_\s*([-+*/%])=\s*(-?[0-9.]+)$`)

// expand fills in a text. used reports whether it had a replacement string.
func (r *parallelRun) expand(text string, job *parallelJob, quoteArgs bool) (out string, used bool) {
	show := func(s string) string {
		if quoteArgs {
			return parallelQuote(s)
		}
		return s
	}
	all := func(f func(string) string) string {
		parts := make([]string, len(job.args))
		for i, a := range job.args {
			parts[i] = show(f(a))
		}
		return strings.Join(parts, " ")
	}
	var b strings.Builder
	for text != "" {
		r.p.Tick(1)
		if r.replace != "{}" && strings.HasPrefix(text, r.replace) {
			b.WriteString(all(func(a string) string { return a }))
			used, text = true, text[len(r.replace):]
			continue
		}
		matched := false
		for name, expr := range r.rpl {
			if strings.HasPrefix(text, name) {
				b.WriteString(all(func(a string) string { return r.perl(expr, a, job) }))
				used, matched, text = true, true, text[len(name):]
				break
			}
		}
		if matched {
			continue
		}
		if strings.HasPrefix(text, "{=") {
			if end := strings.Index(text, "=}"); end > 0 {
				expr := strings.TrimSpace(text[2:end])
				which := len(expr) - len(strings.TrimLeft(expr, "0123456789"))
				if which > 0 {
					n, _ := strconv.Atoi(expr[:which])
					if n >= 1 && n <= len(job.args) {
						b.WriteString(show(r.perl(strings.TrimSpace(expr[which:]), job.args[n-1], job)))
					}
				} else {
					b.WriteString(all(func(a string) string { return r.perl(expr, a, job) }))
				}
				used, text = true, text[end+2:]
				continue
			}
		}
		end := strings.IndexByte(text, '}')
		if text[0] != '{' || end < 0 || r.replace != "{}" && end == 1 {
			b.WriteByte(text[0])
			text = text[1:]
			continue
		}
		if s, ok := r.word(text[1:end], job, show, all); ok {
			b.WriteString(s)
			used = true
		} else {
			b.WriteString(text[:end+1])
		}
		text = text[end+1:]
	}
	return b.String(), used
}

// word is what {…} stands for.
func (r *parallelRun) word(
	name string, job *parallelJob, show func(string) string, all func(func(string) string) string,
) (string, bool) {
	switch name {
	case "#":
		return strconv.Itoa(job.seq), true
	case "%":
		return strconv.Itoa(job.slot), true
	}
	if n, ok := r.names[strings.TrimRight(name, "./")]; ok {
		kind := name[len(strings.TrimRight(name, "./")):]
		if n <= len(job.args) {
			s, ok := r.part(kind, job.args[n-1], job)
			return show(s), ok
		}
	}
	digits := strings.TrimPrefix(name, "-")
	if d := len(digits) - len(strings.TrimLeft(digits, "0123456789")); d > 0 {
		n, err := strconv.Atoi(digits[:d])
		if err != nil {
			return "", false
		}
		if digits != name {
			n = len(job.args) + 1 - n
		}
		arg := ""
		if n >= 1 && n <= len(job.args) {
			arg = job.args[n-1]
		} else {
			return "", true
		}
		s, ok := r.part(digits[d:], arg, job)
		return show(s), ok
	}
	if _, ok := r.part(name, "x", job); !ok {
		return "", false
	}
	return all(func(a string) string {
		s, _ := r.part(name, a, job)
		return s
	}), true
}

// commandLine is what the shell gets.
func (r *parallelRun) commandLine(job *parallelJob) string {
	if len(r.template) == 0 {
		return strings.Join(job.args, " ")
	}
	words := slices.Clone(r.template)
	if r.quoted {
		for i, w := range words {
			if _, used := r.expand(w, job, true); !used {
				words[i] = parallelQuote(w)
			}
		}
	}
	if r.pipe {
		line, _ := r.expand(strings.Join(words, " "), job, true)
		return line
	}
	used := false
	for i, w := range words {
		if r.context && len(job.args) > 1 {
			// With -X the whole word is repeated.
			var parts []string
			any := false
			for _, a := range job.args {
				s, u := r.expand(w, &parallelJob{seq: job.seq, slot: job.slot, args: []string{a}}, true)
				parts, any = append(parts, s), any || u
			}
			if any {
				words[i], used = strings.Join(parts, " "), true
				continue
			}
		}
		s, u := r.expand(w, job, true)
		words[i], used = s, used || u
	}
	line := strings.Join(words, " ")
	if !used && !r.none {
		s, _ := r.expand(r.replace, job, true)
		line += " " + s
	}
	return line
}

// show prints output, with the tag before each line.
func (r *parallelRun) show(job *parallelJob, data []byte, to *proc.Writer) {
	if !r.tag {
		to.Write(data)
		return
	}
	tag := strings.Join(job.args, " ")
	if r.tagString != "" {
		tag, _ = r.expand(r.tagString, job, false)
	}
	for line := range bytes.Lines(data) {
		r.p.Tick(1)
		to.WriteString(tag + "\t")
		to.Write(line)
	}
}

func (r *parallelRun) save(job *parallelJob, out, errs []byte) {
	dir := r.results
	for i, a := range job.args {
		dir = program.JoinPath(program.JoinPath(dir, strconv.Itoa(i+1)), strings.ReplaceAll(a, "/", "\\_"))
	}
	at := ""
	for part := range strings.SplitSeq(r.p.Abs(dir), "/") {
		if part != "" {
			at += "/" + part
			_ = r.p.FS.Mkdir(at, 0o777&^r.p.Umask) // what fails here fails again below
		}
	}
	for name, data := range map[string][]byte{"stdout": out, "stderr": errs, "seq": []byte(strconv.Itoa(job.seq))} {
		f, err := r.p.Open(program.JoinPath(dir, name), vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
		if err == nil {
			_, err = f.Write(data)
			_ = f.Close()
		}
		if err != nil {
			r.p.Errorf("Error: Cannot write %s: %s.", program.JoinPath(dir, name), proc.Strerror(err))
			r.p.Exit(255)
		}
	}
}

// runPipe gives each job a part of the input: that many records, or a block.
func (r *parallelRun) runPipe(records, block int) int {
	data, err := r.p.ReadAll(r.p.Stdin)
	if err != nil {
		r.p.Errorf("%s", proc.Strerror(err))
		return 255
	}
	defer r.p.Release(cap(data))
	for seq := 1; len(data) > 0; seq++ {
		n := 0
		for k := 0; n < len(data); k++ {
			r.p.Tick(1)
			if records > 0 && k >= records {
				break
			}
			next := len(data)
			if i := bytes.IndexByte(data[n:], '\n'); i >= 0 {
				next = n + i + 1
			}
			if records == 0 && k > 0 && next > block {
				break
			}
			n = next
		}
		if !r.run(&parallelJob{seq: seq, stdin: data[:n]}) {
			break
		}
		data = data[n:]
	}
	r.drain()
	return 0
}

// finish writes the log and counts what failed.
func (r *parallelRun) finish(status int) int {
	if r.joblog != "" {
		f, err := r.p.Open(r.joblog, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
		if err == nil {
			_, err = f.Write([]byte("Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n" +
				r.log.String()))
			_ = f.Close()
		}
		if err != nil {
			r.p.Errorf("Error: Cannot write to --joblog %s.", r.joblog)
			return 255
		}
	}
	if status != 0 {
		return status
	}
	if r.halted {
		return r.status
	}
	return min(r.failed, 101)
}
