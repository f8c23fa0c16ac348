package getopt

import (
	_ "embed" // the descriptions of options
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// helpText describes options, a section for each group of commands: lines of key, "=" and the name of the argument
// where there is one, a tab and the text. The section [] has what a long option means in every command that does not
// say otherwise.
//
//go:embed help.txt
var helpText string

type description struct{ key, arg, text string }

// descriptions are the sections of helpText by command.
var descriptions = sync.OnceValue(func() map[string][]description {
	out := map[string][]description{}
	var names []string
	for line := range strings.Lines(helpText) {
		line = strings.TrimSuffix(line, "\n")
		if s, ok := strings.CutPrefix(line, "["); ok {
			s = strings.TrimSuffix(s, "]")
			if names = strings.Fields(s); len(names) == 0 {
				names = []string{""}
			}
			continue
		}
		head, text, ok := strings.Cut(line, "\t")
		if !ok {
			continue
		}
		key, arg, _ := strings.Cut(head, "=")
		if head == "=" {
			key = head
		}
		for _, n := range names {
			out[n] = append(out[n], description{key, arg, text})
		}
	}
	return out
})

// Listed is an option as --help lists it.
type Listed struct {
	Key   string
	Longs []string
	Arity Arity
}

// describe finds what the command's section says of an option, or else what its long names mean everywhere.
func describe(command string, o Listed) description {
	all := descriptions()
	for _, d := range all[command] {
		if d.key == o.Key {
			return d
		}
	}
	for _, l := range o.Longs {
		for _, d := range all[""] {
			if d.key == l {
				return d
			}
		}
		if undone, ok := strings.CutPrefix(l, "no-"); ok {
			return description{text: "undo --" + undone}
		}
	}
	return description{}
}

// unlisted is the text of what is no option but looks like one: the modes of chmod that begin with a minus sign.
const unlisted = "-"

// helpColumn is where the text of an option begins.
const helpColumn = 30

// List prints the options of a command with what they do.
func List(p *proc.Process, options []Listed) {
	for _, o := range options {
		d := describe(p.Name(), o)
		if d.text == unlisted {
			continue
		}
		if d.arg == "" {
			d.arg = "ARG"
		}
		names := "    "
		if len(o.Key) == 1 || o.Key == digits {
			names = " -" + o.Key
			if len(o.Longs) == 0 && o.Arity == Required {
				names += " " + d.arg
			}
			if len(o.Longs) > 0 {
				names += ","
			}
		}
		for i, l := range o.Longs {
			if i > 0 {
				names += ","
			}
			names += " --" + l + [...]string{None: "", Required: "=" + d.arg, Optional: "[=" + d.arg + "]"}[o.Arity]
		}
		printLine(p, names, d.text)
	}
}

// ListSection prints everything that is described of a command whose options are not in a table.
func ListSection(p *proc.Process) {
	for _, d := range descriptions()[p.Name()] {
		names := " " + d.key
		if d.arg != "" {
			names += " " + d.arg
		}
		printLine(p, names, d.text)
	}
}

func printLine(p *proc.Process, names, text string) {
	switch {
	case text == "":
		fmt.Fprintf(p.Out, " %s\n", names)
	case len(names)+2 < helpColumn:
		fmt.Fprintf(p.Out, " %-*s%s\n", helpColumn-1, names, text)
	default:
		fmt.Fprintf(p.Out, " %s\n%*s%s\n", names, helpColumn, "", text)
	}
}

// digits stands for the options -0 to -9 of old command lines, which spell a number.
const digits = "NUM"

// Help prints what --help prints.
func (s *Spec) Help(p *proc.Process) {
	fmt.Fprintf(p.Out, "Usage: %s %s\n", p.Name(), s.operands)
	if s.about != "" {
		fmt.Fprintf(p.Out, "%s\n", s.about)
	}
	fmt.Fprint(p.Out, "\nOptions:\n")
	List(p, s.listed())
}

// listed are the options by letter, then the long ones without a letter in the order of their declaration.
func (s *Spec) listed() []Listed {
	var out []Listed
	letters := make([]byte, 0, len(s.short))
	number := true
	for c := range s.short {
		letters = append(letters, c)
	}
	for c := byte('0'); c <= '9'; c++ {
		_, ok := s.short[c]
		number = number && ok
	}
	slices.SortFunc(letters, func(a, b byte) int { // a, A, b, B as the tools have them
		if d := int(a|0x20) - int(b|0x20); d != 0 {
			return d
		}
		return int(b) - int(a)
	})
	if number {
		out = append(out, Listed{Key: digits})
	}
	for _, c := range letters {
		if number && c >= '0' && c <= '9' {
			continue
		}
		o := Listed{Key: string(c), Arity: s.short[c]}
		for _, l := range s.longs {
			if l.key == o.Key {
				o.Longs = append(o.Longs, l.name)
				o.Arity = l.arity
			}
		}
		out = append(out, o)
	}
	at := map[string]int{}
	for _, l := range s.longs {
		if _, short := s.short[l.key[0]]; short && len(l.key) == 1 {
			continue
		}
		i, seen := at[l.key]
		if !seen {
			i = len(out)
			at[l.key] = i
			out = append(out, Listed{Key: l.key, Arity: l.arity})
		}
		out[i].Longs = append(out[i].Longs, l.name)
	}
	return out
}
