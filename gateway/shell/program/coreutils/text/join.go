package text

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var joinSpec = getopt.New("a:e:i1:2:j:o:t:v:z", "ignore-case=i check-order nocheck-order zero-terminated=z header").
	WithUsage("[OPTION]... FILE1 FILE2",
		"For each pair of input lines with identical join fields, write a line to standard output.")

// joinField is an element of -o: file 0 is the join field.
type joinField struct{ file, field int }

type joinLine struct {
	text   []byte
	fields [][]byte
	kept   bool // in a group of lines with the same key
}

type joinRun struct {
	p            *proc.Process
	tab          int // -1 blanks, -2 the whole line
	fold         bool
	empty        []byte
	hasEmpty     bool
	key          [2]int
	unpaired     [2]bool
	paired       bool
	output       []joinField
	auto         bool
	autoCount    [2]int
	end          byte
	check        int
	seenUnpaired bool
	warned       [2]bool
	status       int
	in           [2]*program.LineReader
	prev         [2]*joinLine
	free         []*joinLine
	lineNo       [2]int
	names        []string
}

func join(_ context.Context, p *proc.Process) int {
	opts, args := joinSpec.Parse(p)
	j := &joinRun{p: p, tab: -1, key: [2]int{-1, -1}, paired: true, end: '\n'}
	header := false
	fileNumber := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 2 {
			p.Errorf("invalid field number: %s", program.Quote(s))
			p.Exit(1)
		}
		return n - 1
	}
	setKey := func(i, v int) {
		if j.key[i] >= 0 && j.key[i] != v {
			p.Errorf("incompatible join fields %d, %d", j.key[i]+1, v+1)
			p.Exit(1)
		}
		j.key[i] = v
	}
	for _, o := range opts {
		switch o.Key {
		case "v":
			j.paired = false
			j.unpaired[fileNumber(o.Value)] = true
		case "a":
			j.unpaired[fileNumber(o.Value)] = true
		case "e":
			j.empty, j.hasEmpty = []byte(o.Value), true
		case "i":
			j.fold = true
		case "1", "2":
			setKey(int(o.Key[0]-'1'), j.fieldNumber(o.Value))
		case "j":
			n := j.fieldNumber(o.Value)
			setKey(0, n)
			setKey(1, n)
		case "o":
			if o.Value == "auto" {
				j.auto = true
			} else {
				j.addOutput(o.Value)
			}
		case "t":
			switch {
			case o.Value == "":
				j.tab = -2
			case o.Value == `\0`:
				j.tab = 0
			case len(o.Value) > 1:
				p.Errorf("multi-character tab %s", program.Quote(o.Value))
				return 1
			default:
				j.tab = int(o.Value[0])
			}
		case "z":
			j.end = 0
		case "check-order":
			j.check = 1
		case "nocheck-order":
			j.check = -1
		case "header":
			header = true
		}
	}
	// -o takes more fields in the following operands.
	for j.output != nil && len(args) > 2 {
		j.addOutput(args[0])
		args = args[1:]
	}
	j.key[0], j.key[1] = max(j.key[0], 0), max(j.key[1], 0)
	if len(args) == 2 && args[0] == "-" && args[1] == "-" {
		p.Errorf("both files cannot be standard input")
		return 1
	}
	var done func()
	var ok bool
	j.names = args
	j.in, done, ok = twoInputs(p, joinSpec, args, j.end)
	defer done()
	if !ok {
		return 1
	}
	j.run(header)
	if j.status != 0 && j.check == 0 {
		p.Errorf("input is not in sorted order")
	}
	return j.status
}

func (j *joinRun) fieldNumber(s string) int {
	n, problem := program.ParseCount(s, "")
	if problem == program.NumberInvalid || n == 0 {
		j.p.Errorf("invalid field number: %s", program.Quote(s))
		j.p.Exit(1)
	}
	return int(n) - 1
}

func (j *joinRun) addOutput(list string) {
	for f := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		switch {
		case f == "0":
			j.output = append(j.output, joinField{})
		case strings.HasPrefix(f, "1.") || strings.HasPrefix(f, "2."):
			j.output = append(j.output, joinField{int(f[0] - '0'), j.fieldNumber(f[2:])})
		case len(f) > 1 && f[1] == '.' && f[0] != '0' || f == "" || !program.IsDigit(f[0]) || f[0] > '2':
			j.p.Errorf("invalid file number in field spec: %s", program.Quote(f))
			j.p.Exit(1)
		default:
			j.p.Errorf("invalid field specifier: %s", program.Quote(f))
			j.p.Exit(1)
		}
	}
}

// split fills in the fields of a line.
func (j *joinRun) split(l *joinLine) {
	text := l.text
	f := l.fields[:0]
	defer func() { l.fields = f }()
	switch {
	case j.tab == -2:
		f = append(f, text)
		return
	case j.tab >= 0:
		for {
			i := bytes.IndexByte(text, byte(j.tab))
			if i < 0 {
				f = append(f, text)
				return
			}
			f, text = append(f, text[:i]), text[i+1:]
		}
	}
	for i := 0; ; {
		i = skipBlanks(text, i)
		if i >= len(text) {
			return
		}
		start := i
		for i < len(text) && !isBlank(text[i]) {
			i++
		}
		f = append(f, text[start:i])
		if i < len(text) && skipBlanks(text, i) == len(text) {
			f = append(f, nil) // blanks at the end begin one more field
			return
		}
	}
}

func (j *joinRun) keyOf(l *joinLine, i int) []byte {
	if j.key[i] < len(l.fields) {
		return l.fields[j.key[i]]
	}
	return nil
}

func (j *joinRun) compareKeys(a, b []byte) int {
	if j.fold {
		return program.CompareASCIIFold(a, b)
	}
	return bytes.Compare(a, b)
}

func (j *joinRun) next(i int) *joinLine {
	raw, ok := j.in[i].Next()
	if err := j.in[i].Err; err != nil {
		j.p.Errorf("read error: %s", proc.Strerror(err))
		j.p.Exit(1)
	}
	if !ok {
		return nil
	}
	j.lineNo[i]++
	l := &joinLine{}
	if n := len(j.free); n > 0 {
		l, j.free = j.free[n-1], j.free[:n-1]
	}
	l.text = append(l.text[:0], program.Chomp(raw, j.end)...)
	j.split(l)
	if prev := j.prev[i]; prev != nil && j.check >= 0 && (j.check > 0 || j.seenUnpaired) && !j.warned[i] &&
		j.compareKeys(j.keyOf(prev, i), j.keyOf(l, i)) > 0 {
		j.warned[i] = true
		j.status = 1
		j.p.Errorf("%s:%d: is not sorted: %s", j.names[i], j.lineNo[i], l.text)
		if j.check > 0 {
			j.p.Exit(1)
		}
	}
	// Nobody looks at the line before any more, unless it is in a group.
	if prev := j.prev[i]; prev != nil && !prev.kept {
		j.free = append(j.free, prev)
	}
	j.prev[i] = l
	return l
}

func (j *joinRun) run(header bool) {
	a, b := j.next(0), j.next(1)
	if j.auto {
		for i, l := range []*joinLine{a, b} {
			if l != nil {
				j.autoCount[i] = len(l.fields)
			}
		}
	}
	if header && (a != nil || b != nil) {
		j.print(a, b)
		j.prev = [2]*joinLine{}
		if a != nil {
			a = j.next(0)
		}
		if b != nil {
			b = j.next(1)
		}
	}
	var groupA, groupB []*joinLine
	for a != nil && b != nil {
		j.p.Tick(1)
		r := j.compareKeys(j.keyOf(a, 0), j.keyOf(b, 1))
		switch {
		case r < 0:
			if j.unpaired[0] {
				j.print(a, nil)
			}
			a = j.next(0)
			j.seenUnpaired = true
		case r > 0:
			if j.unpaired[1] {
				j.print(nil, b)
			}
			b = j.next(1)
			j.seenUnpaired = true
		default:
			var nextA, nextB *joinLine
			a.kept, b.kept = true, true
			groupA, groupB = append(groupA[:0], a), append(groupB[:0], b)
			held := 0
			collect := func(i int, group []*joinLine, key []byte) ([]*joinLine, *joinLine) {
				for {
					l := j.next(i)
					if l == nil || j.compareKeys(j.keyOf(l, i), key) != 0 {
						return group, l
					}
					j.p.Hold(len(l.text) + 64)
					held += len(l.text) + 64
					l.kept = true
					group = append(group, l)
				}
			}
			groupA, nextA = collect(0, groupA, j.keyOf(a, 0))
			groupB, nextB = collect(1, groupB, j.keyOf(b, 1))
			if j.paired {
				for _, x := range groupA {
					for _, y := range groupB {
						j.p.Tick(1)
						j.print(x, y)
					}
				}
			}
			j.p.Release(held)
			for i, group := range [][]*joinLine{groupA, groupB} {
				for _, l := range group {
					if l.kept = false; l != j.prev[i] {
						j.free = append(j.free, l)
					}
				}
			}
			a, b = nextA, nextB
		}
	}
	for ; a != nil; a = j.next(0) {
		if j.unpaired[0] {
			j.print(a, nil)
		} else if j.check == 0 && j.warned[0] {
			break
		}
	}
	for ; b != nil; b = j.next(1) {
		if j.unpaired[1] {
			j.print(nil, b)
		} else if j.check == 0 && j.warned[1] {
			break
		}
	}
}

func (j *joinRun) print(a, b *joinLine) {
	sep := byte(' ')
	if j.tab >= 0 {
		sep = byte(j.tab)
	}
	first := true
	put := func(f []byte) {
		if !first {
			j.p.Out.WriteByte(sep)
		}
		first = false
		if len(f) == 0 {
			f = j.empty
		}
		j.p.Out.Write(f)
	}
	lines := [2]*joinLine{a, b}
	field := func(i, n int) []byte {
		if lines[i] != nil && n < len(lines[i].fields) {
			return lines[i].fields[n]
		}
		return nil
	}
	key := func() []byte {
		if a != nil {
			return field(0, j.key[0])
		}
		return field(1, j.key[1])
	}
	switch {
	case j.output != nil:
		for _, o := range j.output {
			if o.file == 0 {
				put(key())
			} else {
				put(field(o.file-1, o.field))
			}
		}
	default:
		put(key())
		for i, l := range lines {
			count := 0
			if l != nil {
				count = len(l.fields)
			}
			if j.auto {
				count = j.autoCount[i]
			}
			for n := range count {
				if n != j.key[i] {
					put(field(i, n))
				}
			}
		}
	}
	j.p.Out.WriteByte(j.end)
}
