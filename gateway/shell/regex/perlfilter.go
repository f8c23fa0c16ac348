package regex

import (
	"regexp/syntax"
	"strings"
	"unicode"
)

// newPerlFilter returns a matcher for lines of the Perl pattern src, nil when there is none. exact says that a line that the filter
// matches is one that the pattern matches; otherwise it may not be.
func newPerlFilter(src string, opt Options, std bool) (f *Regexp, exact bool) {
	if !std {
		src = loosen(src)
	}
	flags := syntax.Perl | syntax.UnicodeGroups
	if opt.IgnoreCase {
		flags |= syntax.FoldCase
	}
	re, err := syntax.Parse(src, flags)
	if err != nil {
		return nil, false
	}
	root, ok := fromSyntax(re)
	if !ok {
		return nil, false
	}
	f = &Regexp{opt: Options{Dialect: Grep, Multiline: opt.Multiline}, oneByte: -1, asciiWords: true}
	if err := f.build(root); err != nil {
		return nil, false
	}
	return f, std
}

// fromSyntax translates a tree of package regexp/syntax. Greed is lost: it does not change which lines match.
func fromSyntax(re *syntax.Regexp) (*node, bool) {
	n := &node{}
	for _, s := range re.Sub {
		sub, ok := fromSyntax(s)
		if !ok {
			return nil, false
		}
		n.sub = append(n.sub, sub)
	}
	switch re.Op {
	case syntax.OpNoMatch:
		n.op = opSet
	case syntax.OpEmptyMatch:
		n.op = opEmpty
	case syntax.OpLiteral:
		n.op = opCat
		for _, r := range re.Rune {
			set := runeSet{{r, r}}
			if re.Flags&syntax.FoldCase != 0 {
				set = set.fold(false)
			}
			n.sub = append(n.sub, &node{op: opSet, set: set})
		}
	case syntax.OpCharClass:
		n.op = opSet
		for i := 0; i < len(re.Rune); i += 2 {
			n.set = append(n.set, runeRange{re.Rune[i], re.Rune[i+1]})
		}
	case syntax.OpAnyCharNotNL:
		n.op, n.set = opSet, runeSet{{0, '\n' - 1}, {'\n' + 1, unicode.MaxRune}}
	case syntax.OpAnyChar:
		n.op, n.set = opSet, runeSet{{0, unicode.MaxRune}}
	case syntax.OpBeginLine, syntax.OpBeginText: // the same in a line
		n.op, n.assert = opAssert, bot
	case syntax.OpEndLine, syntax.OpEndText:
		n.op, n.assert = opAssert, eot
	case syntax.OpWordBoundary:
		n.op, n.assert = opAssert, wordEdge
	case syntax.OpNoWordBoundary:
		n.op, n.assert = opAssert, notEdge
	case syntax.OpCapture:
		return n.sub[0], true
	case syntax.OpStar:
		n.op, n.max = opRepeat, -1
	case syntax.OpPlus:
		n.op, n.min, n.max = opRepeat, 1, -1
	case syntax.OpQuest:
		n.op, n.max = opRepeat, 1
	case syntax.OpRepeat:
		n.op, n.min, n.max = opRepeat, re.Min, re.Max
	case syntax.OpConcat:
		n.op = opCat
	case syntax.OpAlternate:
		n.op = opAlt
	default:
		return nil, false
	}
	return n, true
}

// loosen leaves out of a pattern what only narrows it: look-around and the atomicity of groups. Back-references become anything.
// What it does not know it leaves, for the parser to refuse.
func loosen(src string) string {
	var b strings.Builder
	skip := 0 // depth of parentheses within a look-around
	class := false
	put := func(s string) {
		if skip == 0 {
			b.WriteString(s)
		}
	}
	for i := 0; i < len(src); i++ {
		c := src[i]
		switch {
		case c == '\\' && i+1 < len(src):
			i++
			switch d := src[i]; {
			case class:
				put(src[i-1 : i+1])
			case d >= '1' && d <= '9':
				for i+1 < len(src) && src[i+1] >= '0' && src[i+1] <= '9' {
					i++
				}
				put(`(?s:.*)`)
			case d == 'k' && i+1 < len(src):
				end := strings.IndexAny(src[i+2:], ">}'")
				if end < 0 {
					return src
				}
				i += 2 + end
				put(`(?s:.*)`)
			case d == 'Z':
				put(`\z`)
			default:
				put(src[i-1 : i+1])
			}
		case class:
			if c == '[' && strings.HasPrefix(src[i:], "[:") {
				if end := strings.Index(src[i:], ":]"); end > 0 {
					put(src[i : i+end+2])
					i += end + 1
					continue
				}
			}
			class = c != ']'
			put(src[i : i+1])
		case c == '[':
			class = true
			put("[")
			// A bracket right after the opening is a member.
			if strings.HasPrefix(src[i+1:], "^") {
				i++
				put("^")
			}
			if strings.HasPrefix(src[i+1:], "]") {
				i++
				put(`\]`)
			}
		case c == '(':
			rest := src[i+1:]
			switch {
			case skip > 0:
				skip++
			case strings.HasPrefix(rest, "?=") || strings.HasPrefix(rest, "?!") || strings.HasPrefix(rest, "?<=") || strings.HasPrefix(rest, "?<!"):
				put("(?:")
				skip = 1
			case strings.HasPrefix(rest, "?>"):
				put("(?:")
				i += 2
			default:
				put("(")
			}
		case c == ')' && skip > 0:
			if skip--; skip == 0 {
				put(")")
			}
		default:
			put(src[i : i+1])
		}
	}
	return b.String()
}
