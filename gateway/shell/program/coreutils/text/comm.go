package text

import (
	"bytes"
	"context"
	"strconv"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var commSpec = getopt.New("123z", "check-order nocheck-order output-delimiter: total zero-terminated=z").
	WithUsage("[OPTION]... FILE1 FILE2", "Compare sorted files FILE1 and FILE2 line by line.")

// twoInputs checks for exactly two operands and opens them.
func twoInputs(
	p *proc.Process, s *getopt.Spec, args []string, end byte,
) (l [2]*program.LineReader, done func(), ok bool) {
	switch {
	case len(args) == 0:
		s.Fail(p, "missing operand")
	case len(args) == 1:
		s.Fail(p, "missing operand after %s", program.Quote(args[0]))
	case len(args) > 2:
		show := program.Quote
		if s == joinSpec {
			show = program.QuoteName
		}
		s.Fail(p, "extra operand %s", show(args[2]))
	}
	var closers []func()
	done = func() {
		for _, c := range closers {
			c()
		}
	}
	for i, name := range args {
		r, err := p.OpenInput(name)
		if err != nil {
			p.Errorf("%s: %s", program.QuoteColon(name), proc.Strerror(err))
			return l, done, false
		}
		closers = append(closers, func() { _ = r.Close() })
		l[i] = program.NewLineReader(p, r, end)
		closers = append(closers, l[i].Close)
	}
	return l, done, true
}

func comm(_ context.Context, p *proc.Process) int {
	opts, args := commSpec.Parse(p)
	show := [3]bool{true, true, true}
	sep, hasSep, total, check, end := "\t", false, false, 0, byte('\n')
	for _, o := range opts {
		switch o.Key {
		case "1", "2", "3":
			show[o.Key[0]-'1'] = false
		case "z":
			end = 0
		case "total":
			total = true
		case "check-order":
			check = 1
		case "nocheck-order":
			check = -1
		case "output-delimiter":
			if hasSep && sep != o.Value {
				p.Errorf("multiple output delimiters specified")
				return 1
			}
			sep, hasSep = o.Value, true
			if sep == "" {
				sep = "\x00"
			}
		}
	}
	in, done, ok := twoInputs(p, commSpec, args, end)
	defer done()
	if !ok {
		return 1
	}
	var count [3]int
	var line [2][]byte
	var have, warned [2]bool
	var seen [2]int
	var prev, older [2][]byte
	unpaired := false
	status := 0
	read := func(i int) {
		if have[i] {
			older[i], prev[i] = prev[i], append(older[i][:0], line[i]...)
			seen[i]++
		}
		var l []byte
		l, have[i] = in[i].Next()
		line[i] = program.Chomp(l, end)
		if err := in[i].Err; err != nil {
			p.Errorf("%s: %s", program.QuoteColon(args[i]), proc.Strerror(err))
			p.Exit(1)
		}
		// At the end the last two lines are looked at again, since by now an unpaired line may have been met.
		bad := have[i] && seen[i] > 0 && bytes.Compare(prev[i], line[i]) > 0 ||
			!have[i] && seen[i] > 1 && bytes.Compare(older[i], prev[i]) > 0
		if bad && check >= 0 && !warned[i] && (check > 0 || unpaired) {
			warned[i] = true
			p.Errorf("file %d is not in sorted order", i+1)
			status = 1
			if check > 0 {
				p.Exit(1)
			}
		}
	}
	put := func(column int, l []byte) {
		count[column]++
		if !show[column] {
			return
		}
		for c := range column {
			if show[c] {
				p.Out.WriteString(sep)
			}
		}
		p.Out.Write(l)
		p.Out.WriteByte(end)
	}
	read(0)
	read(1)
	for have[0] || have[1] {
		order := 0
		switch {
		case !have[0]:
			order = 1
		case !have[1]:
			order = -1
		default:
			order = bytes.Compare(line[0], line[1])
		}
		switch {
		case order == 0:
			put(2, line[1])
			read(0)
			read(1)
		case order < 0:
			unpaired = true
			put(0, line[0])
			read(0)
		default:
			unpaired = true
			put(1, line[1])
			read(1)
		}
	}
	if total {
		p.Out.WriteString(strconv.Itoa(count[0]) + sep + strconv.Itoa(count[1]) + sep + strconv.Itoa(count[2]) + sep +
			"total")
		p.Out.WriteByte(end)
	}
	if status != 0 && check == 0 {
		p.Errorf("input is not in sorted order")
	}
	return status
}
