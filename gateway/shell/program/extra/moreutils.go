package extra

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
	"github.com/pgbox/pgbox/gateway/vfs"
)

const tsUsage = "usage: ts [-r] [-i | -s] [-m] [format]\n"

var (
	tsSpec      = getopt.New("+rism", "")
	spongeSpec  = getopt.New("ah", "")
	ifneSpec    = getopt.New("+n", "")
	chronicSpec = getopt.New("+ev", "")
	isutf8Spec  = getopt.New("hqlivV", "help=h quiet=q list=l invert=i verbose=v")
	errnoSpec   = getopt.New("lsSh", "list=l search=s search-all-locales=S help=h")
)

// ts puts the time before each line.
func ts(_ context.Context, p *proc.Process) int {
	opts, args, err := tsSpec.Scan(p.Args[1:])
	if err != nil || slices.ContainsFunc(opts, func(o getopt.Option) bool {
		return o.Key == "help" || o.Key == "version"
	}) {
		unknown := "help"
		if err != nil {
			unknown = strings.Trim(err.Error()[strings.LastIndexByte(err.Error(), ' ')+1:], "'-")
		} else if opts[0].Key == "version" {
			unknown = "version"
		}
		p.Err.WriteString("Unknown option: " + unknown + "\n" + tsUsage)
		return 255
	}
	since, increment, relative := false, false, false
	for _, o := range opts {
		switch o.Key {
		case "i":
			increment = true
		case "s":
			since = true
		case "r":
			relative = true
		}
	}
	format := "%b %d %H:%M:%S"
	if since || increment {
		format = "%H:%M:%S"
	}
	if len(args) > 0 {
		format = args[0]
	}
	// %.S and the like are the seconds with their fraction.
	for _, c := range []string{"S", "s", "T"} {
		fine := "%" + c + ".%6N"
		if c == "T" {
			fine = "%T.%6N"
		}
		format = strings.ReplaceAll(format, "%."+c, fine)
	}
	l := program.NewLineReader(p, p.Stdin, '\n')
	defer l.Close()
	last := p.Now()
	for line, ok := l.Next(); ok; line, ok = l.Next() {
		if relative {
			p.Out.Write(line)
			continue
		}
		now := program.LocalNow(p)
		if since || increment {
			d := now.Sub(last)
			if increment {
				last = now
			}
			now = time.Unix(0, 0).UTC().Add(d)
		}
		stamp := datetime.Counted(p, format, now)
		p.Out.WriteString(stamp + " ")
		p.Release(len(stamp))
		p.Out.Write(line)
		p.Out.Flush() // the next line may be long in coming
	}
	return 0
}

// sponge reads everything before it opens its file.
func sponge(_ context.Context, p *proc.Process) int {
	opts, args, err := spongeSpec.Scan(p.Args[1:])
	if err != nil {
		p.Errorf("%v", err)
	}
	add := false
	for _, o := range opts {
		switch o.Key {
		case "a":
			add = true
		case "h":
			p.Out.WriteString("sponge [-a] <file>: soak up all input from stdin and write it to <file>\n")
			return 0
		}
	}
	data, err := p.ReadAll(p.Stdin)
	if err != nil {
		p.Err.WriteString("failed to read from stdin: " + proc.Strerror(err) + "\n")
		return 1
	}
	defer p.Release(cap(data))
	if len(args) == 0 {
		p.Out.Write(data)
		return 0
	}
	flag := vfs.WriteOnly | vfs.Create | vfs.Trunc
	if add {
		flag = vfs.WriteOnly | vfs.Create | vfs.Append
	}
	f, err := p.Open(args[0], flag, 0o666)
	if err == nil {
		_, err = f.Write(data)
		_ = f.Close()
	}
	if err != nil {
		p.Err.WriteString("error opening output file: " + proc.Strerror(err) + "\n")
		return 1
	}
	return 0
}

// ifne runs its command if there is input, or with -n if there is none.
func ifne(ctx context.Context, p *proc.Process) int {
	opts, args, _ := ifneSpec.Scan(p.Args[1:]) // it goes on after a bad option
	if len(p.Args) < 2 {
		p.Err.WriteString("Usage: ifne [-n] command [args]\n")
		return 1
	}
	empty := len(opts) > 0
	var first [4096]byte
	n, err := 0, error(nil)
	for n == 0 && err == nil {
		n, err = p.Stdin.Read(first[:])
		p.Tick(1)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		p.Err.WriteString("read error: " + proc.Strerror(err) + "\n")
		return 1
	}
	if n == 0 != empty {
		if empty {
			p.Out.Write(first[:n])
			if err := program.ReadBlocks(p, p.Stdin, func(b []byte) { p.Out.Write(b) }); err != nil {
				return 1
			}
		}
		return 0
	}
	if len(args) == 0 {
		return 0
	}
	child := p.Child(args...)
	if !empty {
		child.Stdin = io.MultiReader(bytes.NewReader(first[:n]), p.Stdin)
	}
	if _, err := child.LookPath(args[0]); err != nil {
		p.Err.WriteString(args[0] + ": " + proc.Strerror(err) + "\n")
		return 1
	}
	return p.Exec(ctx, child)
}

// chronic shows what a command prints only if it fails.
func chronic(ctx context.Context, p *proc.Process) int {
	opts, args, err := chronicSpec.Scan(p.Args[1:])
	if err != nil || len(args) == 0 {
		if err != nil {
			p.Err.WriteString("Unknown option: " + strings.Trim(err.Error()[strings.LastIndexByte(err.Error(), ' ')+1:], "'-") +
				"\n")
		}
		p.Err.WriteString("usage: chronic COMMAND...\n")
		return 255
	}
	onError, verbose := false, false
	for _, o := range opts {
		onError, verbose = onError || o.Key == "e", verbose || o.Key == "v"
	}
	child := p.Child(args...)
	if _, err := child.LookPath(args[0]); err != nil {
		fmt.Fprintf(p.Err, "Command '%s' not found in %s at /usr/bin/chronic line 69.\n", args[0],
			strings.ReplaceAll(p.Getenv("PATH"), ":", ", "))
		return 2
	}
	out, errs := proc.NewBuffer(p), proc.NewBuffer(p)
	child.Stdout, child.Stderr = out, errs
	status := p.Exec(ctx, child)
	if status == 0 && (!onError || errs.Len() == 0) {
		return 0
	}
	if verbose {
		p.Out.WriteString("STDOUT:\n")
		p.Out.Write(out.Bytes())
		p.Out.WriteString("\nSTDERR:\n")
		p.Out.Flush()
		p.Err.Write(errs.Bytes())
		fmt.Fprintf(p.Out, "\nRETVAL: %d\n", status)
	} else {
		p.Out.Write(out.Bytes())
		p.Out.Flush()
		p.Err.Write(errs.Bytes())
	}
	if status == 0 {
		return 2
	}
	return status
}

// combine is set operations on the lines of two files.
func combine(_ context.Context, p *proc.Process) int {
	args := p.Args[1:]
	if len(args) != 3 {
		p.Err.WriteString("Usage: combine file1 OP file2\n")
		return 255
	}
	first, op, second := args[0], strings.ToLower(args[1]), args[2]
	if p.Name() == "_" || !slices.Contains([]string{"and", "not", "or", "xor"}, op) {
		p.Err.WriteString("unknown operation, " + op + "\n")
		return 255
	}
	lines := func(name string, f func(line []byte)) bool {
		err := program.WithInput(p, name, func(_ string, r io.Reader) error {
			l := program.NewLineReader(p, r, '\n')
			defer l.Close()
			for line, ok := l.Next(); ok; line, ok = l.Next() {
				f(program.Chomp(line, '\n'))
			}
			return l.Err
		})
		if err != nil {
			fmt.Fprintf(p.Err, "%s: %s\n", name, proc.Strerror(err))
		}
		return err == nil
	}
	load := func(name string) (map[string]bool, bool) {
		m := map[string]bool{}
		ok := lines(name, func(line []byte) {
			p.Hold(len(line) + 48)
			m[string(line)] = true
		})
		return m, ok
	}
	print := func(line []byte) {
		p.Out.Write(line)
		p.Out.WriteByte('\n')
	}
	if op == "or" {
		if !lines(first, print) || !lines(second, print) {
			return 255
		}
		return 0
	}
	theirs, ok := load(second)
	if !ok {
		return 255
	}
	ours := map[string]bool{}
	if !lines(first, func(line []byte) {
		if op == "xor" {
			p.Hold(len(line) + 48)
			ours[string(line)] = true
		}
		if theirs[string(line)] == (op == "and") {
			print(line)
		}
	}) {
		return 255
	}
	if op == "xor" && !lines(second, func(line []byte) {
		if !ours[string(line)] {
			print(line)
		}
	}) {
		return 255
	}
	return 0
}

// pee gives its input to every command.
func pee(ctx context.Context, p *proc.Process) int {
	args := slices.DeleteFunc(slices.Clone(p.Args[1:]), func(a string) bool {
		return slices.Contains([]string{"--ignore-sigpipe", "--no-ignore-sigpipe", "--ignore-write-errors",
			"--no-ignore-write-errors"}, a)
	})
	data, err := p.ReadAll(p.Stdin)
	if err != nil {
		p.Errorf("%s", proc.Strerror(err))
		return 1
	}
	defer p.Release(cap(data))
	status := 0
	for _, a := range args {
		status |= p.Exec(ctx, p.Shell(a, bytes.NewReader(data), nil))
	}
	return status
}

// mispipe is a pipe that answers with the status of its first command.
func mispipe(ctx context.Context, p *proc.Process) int {
	if len(p.Args) != 3 {
		p.Errorf("Wrong number of args, aborting")
		return 1
	}
	held := proc.NewBuffer(p)
	status := p.Exec(ctx, p.Shell(p.Args[1], nil, held))
	p.Exec(ctx, p.Shell(p.Args[2], bytes.NewReader(held.Bytes()), nil))
	return status
}

func isutf8(_ context.Context, p *proc.Process) int {
	opts, args, err := isutf8Spec.Scan(p.Args[1:])
	if err != nil {
		p.Errorf("%v", err)
		p.Err.WriteString("Usage: isutf8 [OPTION]... [FILE]...\n")
		return 1
	}
	quiet, list, invert := false, false, false
	for _, o := range opts {
		switch o.Key {
		case "q":
			quiet = true
		case "l":
			list = true
		case "i":
			list, invert = true, true
		case "h":
			p.Out.WriteString("Usage: isutf8 [OPTION]... [FILE]...\nCheck whether input files are valid UTF-8.\n")
			return 0
		}
	}
	names := args
	if len(names) == 0 {
		names = []string{"-"}
	}
	status := 0
	for _, name := range names {
		shown := name
		if len(args) == 0 {
			shown = "(standard input)"
		}
		problem := ""
		err := program.WithInput(p, name, func(_ string, r io.Reader) error {
			data, err := p.ReadAll(r)
			problem = utf8Problem(data)
			p.Release(cap(data))
			return err
		})
		if err != nil {
			verb := "open"
			if errors.Is(err, vfs.EISDIR) {
				verb = "read"
			}
			p.Err.WriteString(verb + ": " + proc.Strerror(err) + "\n")
			status = 1
			continue
		}
		switch {
		case list && (problem == "") == invert:
			p.Out.WriteString(shown + "\n")
		case !list && !quiet && problem != "":
			p.Out.WriteString(shown + ": " + problem + "\n")
		}
		if (problem != "") != invert {
			status = 1
		}
	}
	return status
}

// utf8Problem says where and why data is no UTF-8, "" if it is.
func utf8Problem(data []byte) string {
	if utf8.Valid(data) {
		return ""
	}
	line, char := 1, 1
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return fmt.Sprintf("line %d, char %d, byte %d: %s", line, char-1, i, utf8Expected(data[i:]))
		}
		char++
		if r == '\n' {
			line, char = line+1, 1
		}
		i += n
	}
	return ""
}

func utf8Expected(b []byte) string {
	first := b[0]
	size, low, high, of := 0, byte(0x80), byte(0xbf), ""
	switch {
	case first >= 0xc2 && first <= 0xdf:
		size, of = 2, "between C2 and DF"
	case first == 0xe0:
		size, of, low = 3, "E0", 0xa0
	case first == 0xed:
		size, of, high = 3, "ED", 0x9f
	case first >= 0xe1 && first <= 0xec:
		size, of = 3, "between E1 and EC"
	case first >= 0xee && first <= 0xef:
		size, of = 3, "between EE and EF"
	case first == 0xf0:
		size, of, low = 4, "F0", 0x90
	case first >= 0xf1 && first <= 0xf3:
		size, of = 4, "between F1 and F3"
	case first == 0xf4:
		size, of, high = 4, "F4", 0x8f
	default:
		return "Expecting bytes in the following ranges: 00..7F C2..F4."
	}
	nth := []string{"", "2nd", "3rd", "4th"}
	for k := 1; k < size; k++ {
		if k > 1 {
			low, high = 0x80, 0xbf
		}
		if k >= len(b) || b[k] < low || b[k] > high {
			return fmt.Sprintf("After a first byte %s, expecting a %s byte between %02X and %02X.", of, nth[k], low, high)
		}
	}
	return ""
}

// errnoTable is what the kernel calls its errors, by number from 1.
const errnoTable = "EPERM Operation not permitted|ENOENT No such file or directory|ESRCH No such process|EINTR Interrupted system call|EIO Input/output error|ENXIO No such device or address|E2BIG Argument list too long|" +
	"ENOEXEC Exec format error|EBADF Bad file descriptor|ECHILD No child processes|EAGAIN Resource temporarily unavailable|ENOMEM Cannot allocate memory|EACCES Permission denied|EFAULT Bad address|ENOTBLK Block device required|" +
	"EBUSY Device or resource busy|EEXIST File exists|EXDEV Invalid cross-device link|ENODEV No such device|ENOTDIR Not a directory|EISDIR Is a directory|EINVAL Invalid argument|ENFILE Too many open files in system|EMFILE Too many open files|" +
	"ENOTTY Inappropriate ioctl for device|ETXTBSY Text file busy|EFBIG File too large|ENOSPC No space left on device|ESPIPE Illegal seek|EROFS Read-only file system|EMLINK Too many links|EPIPE Broken pipe|EDOM Numerical argument out of domain|" +
	"ERANGE Numerical result out of range|EDEADLK Resource deadlock avoided|ENAMETOOLONG File name too long|ENOLCK No locks available|ENOSYS Function not implemented|ENOTEMPTY Directory not empty|ELOOP Too many levels of symbolic links"

func errnoCommand(_ context.Context, p *proc.Process) int {
	opts, args, err := errnoSpec.Scan(p.Args[1:])
	if err != nil {
		p.Errorf("%v", err)
		return 1
	}
	mode := ""
	for _, o := range opts {
		mode = o.Key
	}
	rows := strings.Split(errnoTable, "|")
	print := func(n int) {
		name, text, _ := strings.Cut(rows[n], " ")
		fmt.Fprintf(p.Out, "%s %d %s\n", name, n+1, text)
	}
	status := 0
	switch mode {
	case "l":
		for n := range rows {
			print(n)
		}
	case "s", "S":
		for n, r := range rows {
			_, text, _ := strings.Cut(strings.ToLower(r), " ")
			if !slices.ContainsFunc(args, func(a string) bool { return !strings.Contains(text, strings.ToLower(a)) }) {
				print(n)
			}
		}
	case "h", "help":
		p.Out.WriteString("Usage: errno [-lsS] [--list] [--search] [--search-all-locales] [keyword]\n")
	default:
		if len(args) == 0 {
			return 0
		}
		for _, a := range args {
			n, err := strconv.Atoi(a)
			if err != nil {
				n = 1 + slices.IndexFunc(rows, func(r string) bool { return strings.HasPrefix(r, strings.ToUpper(a)+" ") })
			}
			if n < 1 || n > len(rows) {
				if err != nil {
					p.Err.WriteString("ERROR: Not understood: " + a + "\n")
				}
				status = 1
				continue
			}
			print(n - 1)
		}
	}
	return status
}
