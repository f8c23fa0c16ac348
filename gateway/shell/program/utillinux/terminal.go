package utillinux

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// terminals are capabilities as infocmp -1 prints them: a line of names, then indented capabilities.
//
//go:embed terminal.txt
var terminals string

// terminal is what terminfo knows of one.
type terminal struct {
	name    string // in full
	flags   map[string]bool
	numbers map[string]int
	strings map[string]string
}

var loadTerminals = sync.OnceValue(func() map[string]*terminal {
	all := map[string]*terminal{}
	var t *terminal
	for line := range strings.Lines(terminals) {
		line = strings.TrimSuffix(line, "\n")
		c, isCap := strings.CutPrefix(line, "\t")
		if !isCap {
			t = &terminal{flags: map[string]bool{}, numbers: map[string]int{}, strings: map[string]string{}}
			names := strings.Split(line, "|")
			t.name = names[len(names)-1]
			for _, n := range names {
				all[n] = t
			}
			continue
		}
		if name, value, ok := strings.Cut(c, "="); ok {
			t.strings[name] = terminfoString(value)
		} else if name, value, ok := strings.Cut(c, "#"); ok {
			n, _ := strconv.ParseInt(value, 0, 32)
			t.numbers[name] = int(n)
		} else {
			t.flags[c] = true
		}
	}
	return all
})

// terminfoString undoes the escapes of terminfo source.
func terminfoString(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '^' && i+1 < len(s):
			i++
			if s[i] == '?' {
				b.WriteByte(127)
			} else {
				b.WriteByte(s[i] & 31)
			}
		case c == '\\' && i+1 < len(s):
			i++
			switch c := s[i]; c {
			case 'E', 'e':
				b.WriteByte(27)
			case 'n', 'l':
				b.WriteByte('\n')
			case 'r':
				b.WriteByte('\r')
			case 't':
				b.WriteByte('\t')
			case 'b':
				b.WriteByte('\b')
			case 'f':
				b.WriteByte('\f')
			case 's':
				b.WriteByte(' ')
			case '0', '1', '2', '3':
				if i+2 < len(s) && program.IsDigit(s[i+1]) && program.IsDigit(s[i+2]) {
					b.WriteByte((c-'0')<<6 | (s[i+1]-'0')<<3 | (s[i+2] - '0'))
					i += 2
				}
			default:
				b.WriteByte(c)
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// expandTerminfo fills parameters in, as tparm(3), and leaves padding out.
func expandTerminfo(s string, params [9]int) string {
	var b strings.Builder
	var stack []int
	vars := map[byte]int{}
	push := func(n int) { stack = append(stack, n) }
	pop := func() int {
		if len(stack) == 0 {
			return 0
		}
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		return n
	}
	truth := func(v bool) {
		if v {
			push(1)
		} else {
			push(0)
		}
	}
	// skip goes past the part that is not wanted: to %; or, if stopAtElse, to its %e.
	skip := func(i int, stopAtElse bool) int {
		depth := 0
		for ; i < len(s); i++ {
			if s[i] != '%' || i+1 >= len(s) {
				continue
			}
			i++
			switch s[i] {
			case '?':
				depth++
			case ';':
				if depth == 0 {
					return i
				}
				depth--
			case 'e':
				if depth == 0 && stopAtElse {
					return i
				}
			}
		}
		return i
	}
	for i := 0; i < len(s); i++ {
		if s[i] == '$' && i+1 < len(s) && s[i+1] == '<' {
			if end := strings.IndexByte(s[i:], '>'); end > 0 {
				i += end
				continue
			}
		}
		if s[i] != '%' || i+1 >= len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case '%':
			b.WriteByte('%')
		case 'i':
			params[0]++
			params[1]++
		case 'p':
			if i++; i < len(s) && s[i] >= '1' && s[i] <= '9' {
				push(params[s[i]-'1'])
			}
		case 'd':
			b.WriteString(strconv.Itoa(pop()))
		case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			j := i
			for j < len(s) && program.IsDigit(s[j]) {
				j++
			}
			if j < len(s) && (s[j] == 'd' || s[j] == 'x') {
				fmt.Fprintf(&b, "%"+s[i:j+1], pop())
			}
			i = j
		case 'c':
			b.WriteByte(byte(pop()))
		case '{':
			end := strings.IndexByte(s[i:], '}')
			if end < 0 {
				return b.String()
			}
			n, _ := strconv.Atoi(s[i+1 : i+end])
			push(n)
			i += end
		case '\'':
			if i+2 < len(s) {
				push(int(s[i+1]))
				i += 2
			}
		case 'P', 'g':
			if i++; i < len(s) {
				if c == 'P' {
					vars[s[i]] = pop()
				} else {
					push(vars[s[i]])
				}
			}
		case '+', '-', '*', '/', 'm', '&', '|', '^', '=', '<', '>', 'A', 'O':
			y, x := pop(), pop()
			switch c {
			case '+':
				push(x + y)
			case '-':
				push(x - y)
			case '*':
				push(x * y)
			case '/', 'm':
				switch {
				case y == 0:
					push(0)
				case c == '/':
					push(x / y)
				default:
					push(x % y)
				}
			case '&':
				push(x & y)
			case '|':
				push(x | y)
			case '^':
				push(x ^ y)
			case '=':
				truth(x == y)
			case '<':
				truth(x < y)
			case '>':
				truth(x > y)
			case 'A':
				truth(x != 0 && y != 0)
			case 'O':
				truth(x != 0 || y != 0)
			}
		case '!':
			truth(pop() == 0)
		case '~':
			push(^pop())
		case 't':
			if pop() == 0 {
				i = skip(i+1, true)
			}
		case 'e':
			i = skip(i+1, false)
		}
	}
	return b.String()
}

const tputUsage = `Usage: tput [options] [command]

Options:
  -S <<       read commands from standard input
  -T TERM     use this instead of $TERM
  -V          print curses-version
  -x          do not try to clear scrollback

Commands:
  clear       clear the screen
  init        initialize the terminal
  reset       reinitialize the terminal
  capname     unlike clear/init/reset, print value for capability "capname"
`

const cursesVersion = "ncurses 6.4.20221231\n"

var (
	tputSpec  = getopt.New("+ST:Vx", "")
	clearSpec = getopt.New("T:Vx", "")
	resetSpec = getopt.New("+a:cd:e:Ii:k:m:p:qQrsSVw", "")
)

func tput(_ context.Context, p *proc.Process) int {
	opts, args, err := tputSpec.Scan(p.Args[1:])
	if err != nil {
		p.Errorf("%v", err)
		p.Err.WriteString(tputUsage)
		return 2
	}
	name, named := p.Getenv("TERM"), false
	lines, keep := false, false
	for _, o := range opts {
		switch o.Key {
		case "S":
			lines = true
		case "T":
			name, named = o.Value, true
		case "V":
			p.Out.WriteString(cursesVersion)
			return 0
		case "x":
			keep = true
		}
	}
	if name == "" && !named {
		p.Errorf("No value for $TERM and no -T specified")
		return 2
	}
	t := loadTerminals()[name]
	if t == nil {
		p.Errorf("unknown terminal \"%s\"", name)
		return 3
	}
	if !lines {
		if len(args) == 0 {
			p.Err.WriteString(tputUsage)
			return 2
		}
		return t.put(p, args, keep)
	}
	data, err := p.ReadAll(p.Stdin)
	if err != nil {
		p.Errorf("%s", proc.Strerror(err))
		return 2
	}
	defer p.Release(cap(data))
	errors := 0
	for line := range bytes.Lines(data) {
		if words := strings.Fields(string(line)); len(words) > 0 && t.put(p, words, keep) != 0 {
			errors++
		}
	}
	if errors > 0 {
		return 4 + errors
	}
	return 0
}

// put prints one capability.
func (t *terminal) put(p *proc.Process, args []string, keep bool) int {
	name := args[0]
	switch name {
	case "clear":
		return t.clear(p, keep)
	case "init", "reset":
		p.Errorf("terminal attributes: No such device or address\n")
		return 2
	case "longname":
		p.Out.WriteString(t.name)
		return 0
	case "cols", "lines":
		n := t.numbers[name]
		variable := "COLUMNS"
		if name == "lines" {
			variable = "LINES"
		}
		if v, err := strconv.Atoi(p.Getenv(variable)); err == nil && v > 0 {
			n = v
		}
		fmt.Fprintf(p.Out, "%d\n", n)
		return 0
	}
	if s, ok := t.strings[name]; ok {
		var params [9]int
		for i, a := range args[1:] {
			if i < len(params) {
				params[i], _ = strconv.Atoi(a)
			}
		}
		p.Out.WriteString(expandTerminfo(s, params))
		return 0
	}
	if n, ok := t.numbers[name]; ok {
		fmt.Fprintf(p.Out, "%d\n", n)
		return 0
	}
	if t.flags[name] {
		return 0
	}
	for _, other := range loadTerminals() {
		if _, ok := other.numbers[name]; ok {
			p.Out.WriteString("-1\n")
			return 0
		}
		if _, ok := other.strings[name]; ok || other.flags[name] || name == "hc" || name == "eo" {
			return 1
		}
	}
	p.Errorf("unknown terminfo capability '%s'", name)
	return 4
}

func (t *terminal) clear(p *proc.Process, keep bool) int {
	s, ok := t.strings["clear"]
	if !ok {
		return 1
	}
	if !keep {
		s += t.strings["E3"]
	}
	p.Out.WriteString(expandTerminfo(s, [9]int{}))
	return 0
}

func clearCommand(_ context.Context, p *proc.Process) int {
	opts, args, err := clearSpec.Scan(p.Args[1:])
	usage := "Usage: clear [options]\n\nOptions:\n  -T TERM     use this instead of $TERM\n  -V          print curses-version\n  -x          do not try to clear scrollback\n"
	if err != nil || len(args) > 0 {
		if err != nil {
			p.Errorf("%v", err)
		}
		p.Err.WriteString(usage)
		return 1
	}
	name, keep := p.Getenv("TERM"), false
	for _, o := range opts {
		switch o.Key {
		case "T":
			name = o.Value
		case "V":
			p.Out.WriteString(cursesVersion)
			return 0
		case "x":
			keep = true
		}
	}
	if name == "" {
		p.Err.WriteString("TERM environment variable not set.\n")
		return 1
	}
	t := loadTerminals()[name]
	if t == nil {
		p.Err.WriteString("'" + name + "': unknown terminal type.\n")
		return 1
	}
	return t.clear(p, keep)
}

// reset fails as on a machine without a terminal.
func reset(_ context.Context, p *proc.Process) int {
	opts, _, err := resetSpec.Scan(p.Args[1:])
	if err != nil {
		p.Errorf("%v", err)
		return 1
	}
	for _, o := range opts {
		if o.Key == "V" {
			p.Out.WriteString(cursesVersion)
			return 0
		}
	}
	p.Errorf("terminal attributes: No such device or address\n")
	return 10
}

// sttySettings are the words that stty takes, beside speeds; those with a value end in a blank.
const sttySettings = " parenb parodd cmspar cs5 cs6 cs7 cs8 hupcl hup cstopb cread clocal crtscts cdtrdsr ignbrk brkint ignpar parmrk inpck istrip inlcr igncr icrnl iuclc ixon ixany ixoff tandem imaxbel iutf8 " +
	"opost olcuc ocrnl onlcr onocr onlret ofill ofdel nl0 nl1 cr0 cr1 cr2 cr3 tab0 tab1 tab2 tab3 tabs bs0 bs1 vt0 vt1 ff0 ff1 isig icanon iexten echo echoe crterase echok echonl noflsh xcase tostop echoprt prterase echoctl ctlecho echoke crtkill extproc flusho " +
	"evenp parity oddp nl ek sane cooked raw pass8 litout cbreak decctlq lcase LCASE crt dec size speed drain "

const sttyValued = " intr quit erase kill eof eol eol2 swtch start stop susp rprnt werase lnext discard status min time ispeed ospeed rows cols columns line "

var sttySpec = getopt.New("agF:", "all=a save=g file:=F").WithUsage("[-F DEVICE | --file=DEVICE] [SETTING]...",
	"Print or change terminal characteristics.")

// stty checks its arguments and then finds no terminal.
func stty(_ context.Context, p *proc.Process) int {
	var args []string
	var flags []string
	device := "standard input"
	words := p.Args[1:]
	for n := 0; n < len(words); n++ {
		a := words[n]
		switch {
		case a == "-F" || a == "--file":
			if n++; n >= len(words) {
				sttySpec.Parse(p)
			}
			device = words[n]
		case strings.HasPrefix(a, "-F") || strings.HasPrefix(a, "--file="):
			device = strings.TrimPrefix(strings.TrimPrefix(a, "-F"), "--file=")
		case a == "-a" || a == "--all":
			flags = append(flags, "a")
		case a == "-g" || a == "--save":
			flags = append(flags, "g")
		case a == "-ag" || a == "-ga":
			flags = append(flags, "a", "g")
		case strings.HasPrefix(a, "--"):
			sttySpec.Parse(p)
		default:
			args = append(args, a)
		}
	}
	mixed := strings.Contains(strings.Join(flags, ""), "a") && strings.Contains(strings.Join(flags, ""), "g")
	switch {
	case mixed:
		p.Errorf("the options for verbose and stty-readable output styles are\nmutually exclusive")
		return 1
	case len(flags) > 0 && len(args) > 0:
		p.Errorf("when specifying an output style, modes may not be set")
		return 1
	}
	for n := 0; n < len(args); n++ {
		a := args[n]
		bare := strings.TrimPrefix(a, "-")
		_, err := strconv.Atoi(a)
		switch {
		case a == "":
			sttySpec.Fail(p, "invalid argument %s", program.Quote(a))
		case strings.Contains(sttySettings, " "+bare+" ") || err == nil:
		case strings.Contains(sttyValued, " "+a+" "):
			if n++; n >= len(args) {
				sttySpec.Fail(p, "missing argument to %s", program.Quote(a))
			}
		case strings.Count(a, ":") > 3: // what -g printed
		default:
			sttySpec.Fail(p, "invalid argument %s", program.Quote(a))
		}
	}
	if device != "standard input" {
		f, err := p.Open(device, vfs.ReadOnly, 0)
		if err != nil {
			p.Errorf("%s: %s", device, proc.Strerror(err))
			return 1
		}
		_ = f.Close()
		p.Errorf("%s: Inappropriate ioctl for device", device)
		return 1
	}
	p.Errorf("'standard input': Inappropriate ioctl for device")
	return 1
}
