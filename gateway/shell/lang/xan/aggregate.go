package xan

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Aggregation is one aggregate of a list, like `sum(x) as total`.
type Aggregation struct {
	Name string
	kind string
	arg  *Expression // nil for count()
}

var aggregates = []string{
	"count", "count_empty", "sum", "mean", "avg", "min", "max", "median", "q1", "q3", "var", "variance", "stddev", "first",
	"last", "mode", "cardinality", "values",
	"distinct_values", "lex_first", "lex_last", "all", "any",
}

// CompileAggregations parses a list of aggregations.
func CompileAggregations(src string, headers []string) ([]Aggregation, error) {
	p, err := newParser(src, headers)
	if err != nil {
		return nil, err
	}
	var out []Aggregation
	for {
		first := p.at
		a := Aggregation{kind: p.next()}
		if !slices.Contains(aggregates, a.kind) {
			return nil, fmt.Errorf("unknown aggregation %q", a.kind)
		}
		if err := p.expect("("); err != nil {
			return nil, err
		}
		args, err := p.arguments(")")
		if err != nil {
			return nil, err
		}
		if len(args) > 1 || len(args) == 0 && a.kind != "count" {
			return nil, fmt.Errorf("%s takes one argument", a.kind)
		}
		if len(args) == 1 {
			a.arg = &Expression{root: args[0]}
		}
		start := 0
		if first > 0 {
			start = p.ends[first-1]
		}
		a.Name = strings.TrimSpace(src[start:p.ends[p.at-1]])
		if _, ok := p.accept("as"); ok {
			if a.Name = unquote(p.next()); a.Name == "" {
				return nil, fmt.Errorf("expected a name after as")
			}
		}
		out = append(out, a)
		if more, err := p.more(); !more {
			return out, err
		}
	}
}

// Accumulator takes in the rows of one group.
type Accumulator struct {
	list   []Aggregation
	states []state
	Hold   func(n int) // told of the bytes that are kept
}

type state struct {
	n, empty, numeric int
	sum, mean, m2     float64
	min, max          float64
	first, last       string
	low, high         string
	values            []float64
	texts             []string
	counts            map[string]int
	all, some         bool
}

// NewAccumulator starts a group.
func NewAccumulator(list []Aggregation, hold func(n int)) *Accumulator {
	a := &Accumulator{list: list, states: make([]state, len(list)), Hold: hold}
	for i := range a.states {
		a.states[i].all = true
	}
	return a
}

// Add takes in one row.
func (a *Accumulator) Add(row []string, index int) error {
	for i, g := range a.list {
		s := &a.states[i]
		if g.arg == nil {
			s.n++
			continue
		}
		v, err := g.arg.Eval(row, index)
		if err != nil {
			return err
		}
		text := Text(v)
		truth := Truthy(v)
		s.all, s.some = s.all && truth, s.some || truth
		if text == "" || g.kind == "count" && v == false {
			s.empty++
			continue
		}
		s.n++
		if s.n == 1 {
			s.first, s.low, s.high = text, text, text
		}
		s.last, s.low, s.high = text, min(s.low, text), max(s.high, text)
		if f, ok := number(v); ok {
			s.number(f)
			if g.kind == "median" || g.kind == "q1" || g.kind == "q3" {
				a.Hold(8)
				s.values = append(s.values, f)
			}
		} else if slices.Contains([]string{"sum", "mean", "avg", "median", "q1", "q3", "var", "variance", "stddev", "min",
			"max"}, g.kind) {
			return fmt.Errorf("%q is not a number", text)
		}
		switch g.kind {
		case "values":
			a.Hold(16 + len(text))
			s.texts = append(s.texts, text)
		case "mode", "cardinality", "distinct_values":
			if s.counts == nil {
				s.counts = map[string]int{}
			}
			if s.counts[text] == 0 {
				a.Hold(64 + len(text))
				s.texts = append(s.texts, text)
			}
			s.counts[text]++
		}
	}
	return nil
}

func (s *state) number(f float64) {
	s.numeric++
	if s.numeric == 1 {
		s.min, s.max = f, f
	}
	s.min, s.max = min(s.min, f), max(s.max, f)
	s.sum += f
	delta := f - s.mean
	s.mean += delta / float64(s.numeric)
	s.m2 += delta * (f - s.mean)
}

// Quantile is the value below which the share q of sorted values lies.
func Quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := int(math.Floor(at))
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (sorted[high]-sorted[low])*(at-float64(low))
}

// Row returns the results.
func (a *Accumulator) Row() []string {
	out := make([]string, len(a.list))
	for i, g := range a.list {
		out[i] = a.states[i].result(g.kind)
	}
	return out
}

func (s *state) result(kind string) string {
	switch kind {
	case "count":
		return FormatNumber(float64(s.n))
	case "count_empty":
		return FormatNumber(float64(s.empty))
	case "cardinality":
		return FormatNumber(float64(len(s.texts)))
	case "sum":
		return FormatNumber(s.sum)
	case "values", "distinct_values":
		return strings.Join(s.texts, "|")
	case "all":
		return Text(s.all)
	case "any":
		return Text(s.some)
	case "first":
		return s.first
	case "last":
		return s.last
	case "lex_first":
		return s.low
	case "lex_last":
		return s.high
	case "mode":
		best := ""
		for _, t := range s.texts {
			if c, b := s.counts[t], s.counts[best]; c > b || c == b && t < best {
				best = t
			}
		}
		return best
	}
	if s.numeric == 0 {
		return ""
	}
	switch kind {
	case "min":
		return FormatNumber(s.min)
	case "max":
		return FormatNumber(s.max)
	case "median", "q1", "q3":
		slices.Sort(s.values)
		return FormatNumber(Quantile(s.values, map[string]float64{"q1": .25, "median": .5, "q3": .75}[kind]))
	case "var", "variance":
		return FormatNumber(s.m2 / float64(s.numeric))
	case "stddev":
		return FormatNumber(math.Sqrt(s.m2 / float64(s.numeric)))
	}
	return FormatNumber(s.mean)
}
