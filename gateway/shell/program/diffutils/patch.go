package diffutils

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/patch"
	"github.com/pgbox/pgbox/gateway/vfs"
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
	backup  program.Backups
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
	r := &patchRun{p: p, backup: program.NewBackups(p), strip: -1, fuzz: 2, saved: map[string]bool{}}
	r.backup.Suffix, r.backup.Kind = ".orig", "existing"
	if s := p.Getenv("SIMPLE_BACKUP_SUFFIX"); s != "" {
		r.backup.Suffix = s
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
		r.backup.Suffix = o.Value
	case "V":
		r.backup.Set(p, patchSpec, o)
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
			err = vfs.ENOTDIR
		}
		if err != nil {
			r.fatal("Can't change to directory %s : %s", o.Value, proc.Strerror(err))
			return false
		}
		p.Dir = program.CleanKeepSlash(p.Abs(o.Value))
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
		r.rejects = program.Choose(p, patchSpec, o.Key, o.Value, "context", "unified")
	case "read-only":
		r.readOnly = program.Choose(p, patchSpec, o.Key, o.Value, "ignore", "warn", "fail")
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
	st          vfs.Stat // of in
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
		return program.BaseName(name)
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
	if !j.skip && j.in != "" && j.exists && j.st.Kind != vfs.Regular {
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
	if j.exists && j.st.Kind != vfs.Regular {
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
