package casetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
)

// Grammar makes random scripts. It is a context-free grammar as text:
//
//	# a comment
//	start =
//	  grep «flag*2» '«regex»' f
//	  3: grep -c '«regex»' f
//	regex =
//	  a
//	  «regex»«regex»
//	flag = -i | -v | -w
//
// Each indented line is an alternative; a number and a colon before it is its weight, 1 otherwise. On one line with the
// name, alternatives are divided by " | ". «name» is a text of that rule, «name?» perhaps one, «name*3» up to three,
// «name+3» one to three; «nl» is a newline, «sp» a space, «none» nothing. Blanks around an alternative do not count.
type Grammar struct {
	rules map[string]*rule
}

type rule struct {
	alts   []alternative
	weight int
	depth  int // of the shallowest text of the rule
}

type alternative struct {
	parts  []part
	weight int
	depth  int
}

// part is a literal, or min to max texts of a rule.
type part struct {
	text     string
	rule     string
	min, max int
}

const (
	infinite   = 1 << 20
	deepest    = 14 // beyond, only the shallowest alternatives are taken
	longest    = 64 << 10
	blank      = "sp"
	newline    = "nl"
	emptyRule  = "none"
	startRule  = "start"
	weightMark = ": "
)

var reference = regexp.MustCompile(`«([a-z][a-z0-9-]*)([?]|[*+][0-9]+)?»`)

// ParseGrammar reads a grammar and checks that each rule it names exists and ends.
func ParseGrammar(data string) (*Grammar, error) {
	g := &Grammar{rules: map[string]*rule{
		blank:     {alts: []alternative{{parts: []part{{text: " "}}, weight: 1}}, weight: 1},
		newline:   {alts: []alternative{{parts: []part{{text: "\n"}}, weight: 1}}, weight: 1},
		emptyRule: {alts: []alternative{{weight: 1}}, weight: 1},
	}}
	var cur *rule
	line := 0
	for l := range strings.Lines(data) {
		line++
		text := strings.TrimSpace(l)
		if text == "" || strings.HasPrefix(l, "#") {
			continue
		}
		if l[0] != ' ' && l[0] != '\t' {
			name, rest, ok := strings.Cut(text, "=")
			name, rest = strings.TrimSpace(name), strings.TrimSpace(rest)
			if !ok || g.rules[name] != nil {
				return nil, fmt.Errorf("line %d: not a new rule: %s", line, text)
			}
			cur = &rule{}
			g.rules[name] = cur
			if rest != "" {
				for _, a := range strings.Split(rest, " | ") {
					cur.add(strings.TrimSpace(a))
				}
			}
			continue
		}
		if cur == nil {
			return nil, fmt.Errorf("line %d: an alternative before the first rule", line)
		}
		cur.add(text)
	}
	return g, g.check()
}

func (r *rule) add(text string) {
	a := alternative{weight: 1}
	if w, rest, ok := strings.Cut(text, weightMark); ok {
		if n, err := strconv.Atoi(w); err == nil {
			a.weight, text = n, rest
		}
	}
	at := 0
	for _, m := range reference.FindAllStringSubmatchIndex(text, -1) {
		if m[0] > at {
			a.parts = append(a.parts, part{text: text[at:m[0]]})
		}
		p := part{rule: text[m[2]:m[3]], min: 1, max: 1}
		if m[4] >= 0 {
			switch op := text[m[4]:m[5]]; op[0] {
			case '?':
				p.min = 0
			case '*':
				p.min = 0
				p.max, _ = strconv.Atoi(op[1:])
			case '+':
				p.max, _ = strconv.Atoi(op[1:])
			}
		}
		a.parts = append(a.parts, p)
		at = m[1]
	}
	if at < len(text) {
		a.parts = append(a.parts, part{text: text[at:]})
	}
	r.alts = append(r.alts, a)
	r.weight += a.weight
}

// check finds how deep each rule must go at least, until nothing changes.
func (g *Grammar) check() error {
	if g.rules[startRule] == nil {
		return errors.New("no rule " + startRule)
	}
	for name, r := range g.rules {
		if len(r.alts) == 0 {
			return fmt.Errorf("%s: no alternatives", name)
		}
		for _, a := range r.alts {
			for _, p := range a.parts {
				if p.rule != "" && g.rules[p.rule] == nil {
					return fmt.Errorf("%s: no rule %s", name, p.rule)
				}
				if strings.ContainsAny(p.text, "«»") {
					return fmt.Errorf("%s: not a reference: %s", name, p.text)
				}
			}
		}
		r.depth = infinite
	}
	for changed := true; changed; {
		changed = false
		for _, r := range g.rules {
			for i := range r.alts {
				a := &r.alts[i]
				a.depth = 1
				for _, p := range a.parts {
					if p.rule != "" && p.min > 0 {
						a.depth = max(a.depth, 1+g.rules[p.rule].depth)
					}
				}
				if a.depth < r.depth {
					r.depth, changed = a.depth, true
				}
			}
		}
	}
	for name, r := range g.rules {
		if r.depth >= infinite {
			return fmt.Errorf("%s: has no end", name)
		}
	}
	return nil
}

// Script returns a random text of the rule "start".
func (g *Grammar) Script(r *rand.Rand) string {
	var b strings.Builder
	g.write(&b, r, startRule, 0)
	return b.String()
}

func (g *Grammar) write(b *strings.Builder, r *rand.Rand, name string, depth int) {
	a := g.rules[name].choose(r, depth >= deepest || b.Len() > longest)
	for _, p := range a.parts {
		if p.rule == "" {
			b.WriteString(p.text)
			continue
		}
		n := p.min
		if p.max > p.min && depth < deepest {
			n += r.IntN(p.max - p.min + 1)
		}
		for range n {
			g.write(b, r, p.rule, depth+1)
		}
	}
}

func (r *rule) choose(rnd *rand.Rand, shallow bool) *alternative {
	if shallow {
		best := &r.alts[0]
		for i := range r.alts {
			if r.alts[i].depth < best.depth {
				best = &r.alts[i]
			}
		}
		return best
	}
	n := rnd.IntN(r.weight)
	for i := range r.alts {
		if n -= r.alts[i].weight; n < 0 {
			return &r.alts[i]
		}
	}
	panic("the weights of a rule changed")
}
