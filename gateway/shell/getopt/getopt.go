package getopt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// Arity says whether an option takes an argument.
type Arity uint8

// The arities of an option.
const (
	None Arity = iota
	Required
	Optional
)

// Option is one option of a command line.
type Option struct {
	Key   string // the short letter, or the long name when it has no letter
	Value string
	Has   bool // an argument was given (only in doubt for optional arguments)
	Long  bool // spelled as a long option
}

type long struct {
	name  string
	key   string
	arity Arity
}

// Spec is the set of options of a command. Its exported fields may be set
// with the With methods before first use; a Spec is read-only afterwards and safe for concurrent use.
type Spec struct {
	short    map[byte]Arity
	longs    []long
	inOrder  bool // stop at the first operand
	status   int
	operands string
	about    string
	version  string
	hint     string
	letters  bool // -h and -V are --help and --version
}

// New makes a Spec; see the package documentation for the notation.
func New(short, longs string) *Spec {
	s := &Spec{short: map[byte]Arity{}, status: 1, hint: "Try '%[1]s --help' for more information.",
		operands: "[OPTION]... [FILE]..."}
	if rest, ok := strings.CutPrefix(short, "+"); ok {
		s.inOrder, short = true, rest
	}
	for i := 0; i < len(short); i++ {
		c := short[i]
		switch {
		case strings.HasPrefix(short[i+1:], "::"):
			s.short[c] = Optional
			i += 2
		case strings.HasPrefix(short[i+1:], ":"):
			s.short[c] = Required
			i++
		default:
			s.short[c] = None
		}
	}
	for w := range strings.FieldsSeq(longs) {
		name, key, _ := strings.Cut(w, "=")
		l := long{name: strings.TrimRight(name, ":"), key: key}
		l.arity = Arity(min(len(name)-len(l.name), 2)) // ":" Required, "::" Optional
		if l.key == "" {
			l.key = l.name
		}
		s.longs = append(s.longs, l)
	}
	for _, name := range []string{"help", "version"} {
		if !slices.ContainsFunc(s.longs, func(l long) bool { return l.name == name }) {
			s.longs = append(s.longs, long{name: name, key: name})
		}
	}
	return s
}

// WithStatus sets the exit status of a usage error (1 unless set).
func (s *Spec) WithStatus(status int) *Spec { s.status = status; return s }

// WithHint sets the line that follows a usage error; %[1]s is the command's name.
func (s *Spec) WithHint(format string) *Spec { s.hint = format; return s }

// NamedHint is the hint of diffutils and patch.
const NamedHint = "%[1]s: Try '%[1]s --help' for more information."

// WithUsage sets what --help shows after the name ("[OPTION]... [FILE]..." unless set) and
// the sentences that follow.
func (s *Spec) WithUsage(operands, about string) *Spec {
	s.operands, s.about = operands, about
	return s
}

// WithVersion sets what --version prints after the name ("(GNU coreutils) 9.1" unless set).
func (s *Spec) WithVersion(v string) *Spec { s.version = v; return s }

// WithLetters adds -h and -V for --help and --version, as the tools of util-linux have them; the version is one line.
func (s *Spec) WithLetters() *Spec {
	s.letters, s.short['h'], s.short['V'] = true, None, None
	return s
}

// UsageError is a command line that does not fit the Spec. Its text is glibc's
// message without the program's name.
type UsageError struct{ Message string }

func (e *UsageError) Error() string { return e.Message }

// Scan splits args (without the command's name) into options and operands.
func (s *Spec) Scan(args []string) (opts []Option, operands []string, err error) {
	return s.scan(args, s.inOrder)
}

func (s *Spec) scan(args []string, inOrder bool) (opts []Option, operands []string, err error) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return opts, append(operands, args[i+1:]...), nil
		case strings.HasPrefix(arg, "--"):
			name, value, has := strings.Cut(arg[2:], "=")
			l, err := s.lookup(name, arg)
			if err != nil {
				return nil, nil, err
			}
			switch {
			case has && l.arity == None:
				return nil, nil, usagef("option '--%s' doesn't allow an argument", l.name)
			case !has && l.arity == Required:
				if i+1 >= len(args) {
					return nil, nil, usagef("option '--%s' requires an argument", l.name)
				}
				i++
				value, has = args[i], true
			}
			opts = append(opts, Option{Key: l.key, Value: value, Has: has, Long: true})
		case len(arg) > 1 && arg[0] == '-':
			for j := 1; j < len(arg); j++ {
				c := arg[j]
				a, ok := s.short[c]
				if !ok {
					return nil, nil, usagef("invalid option -- '%s'", arg[j:j+1])
				}
				o := Option{Key: arg[j : j+1]}
				if a != None && j+1 < len(arg) {
					o.Value, o.Has = arg[j+1:], true
					j = len(arg)
				} else if a == Required {
					if i+1 >= len(args) {
						return nil, nil, usagef("option requires an argument -- '%c'", c)
					}
					i++
					o.Value, o.Has = args[i], true
				}
				opts = append(opts, o)
			}
		case inOrder:
			return opts, append(operands, args[i:]...), nil
		default:
			operands = append(operands, arg)
		}
	}
	return opts, operands, nil
}

func (s *Spec) lookup(name, arg string) (long, error) {
	var found []long
	for _, l := range s.longs {
		if l.name == name {
			return l, nil
		}
		if strings.HasPrefix(l.name, name) {
			found = append(found, l)
		}
	}
	if len(found) == 0 {
		return long{}, usagef("unrecognized option '%s'", arg)
	}
	for _, l := range found[1:] {
		// Two names of one option are no ambiguity.
		if l.key != found[0].key || l.arity != found[0].arity {
			m := "option '--" + name + "' is ambiguous; possibilities:"
			for _, l := range found {
				m += " '--" + l.name + "'"
			}
			return long{}, &UsageError{m}
		}
	}
	return found[0], nil
}

func usagef(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// Parse scans p.Args. On a usage error it prints the message and the hint and
// ends the command; --help and --version print and end it too.
func (s *Spec) Parse(p *proc.Process) (opts []Option, operands []string) {
	_, posix := p.Env.Get("POSIXLY_CORRECT")
	opts, operands, err := s.scan(p.Args[1:], s.inOrder || posix)
	if err != nil {
		p.Errorf("%v", err)
		s.Hint(p)
	}
	for _, o := range opts {
		switch {
		case o.Long && o.Key == "help", s.letters && o.Key == "h":
			s.Help(p)
			p.Exit(0)
		case o.Long && o.Key == "version", s.letters && o.Key == "V":
			v := s.version
			if v == "" {
				v = "(GNU coreutils) 9.1"
			}
			// Scripts look for the version they know on the first line.
			fmt.Fprintf(p.Out, "%s %s\n", p.Name(), v)
			if !s.letters {
				p.Out.WriteString("This is pgbox's own implementation, compatible with that version.\n")
			}
			p.Exit(0)
		}
	}
	return opts, operands
}

// Hint prints "Try 'ls --help' for more information." and ends the command with the status
// of a usage error.
func (s *Spec) Hint(p *proc.Process) {
	p.Out.Flush()
	fmt.Fprintf(p.Err, s.hint+"\n", p.Name())
	p.Exit(s.status)
}

// Fail prints a message and the hint, and ends the command with the status of a usage error.
func (s *Spec) Fail(p *proc.Process, format string, args ...any) {
	p.Errorf(format, args...)
	s.Hint(p)
}
