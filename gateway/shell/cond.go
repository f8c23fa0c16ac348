package shell

import "strings"

// condReader reads a [[ ]] the way bash's own parser does, to say what bash says of a wrong one.
type condReader struct {
	src  string
	i    int
	tok  string // "" at the end of the text, "\n" for a newline
	word bool   // tok is a word
	msg  string
	bad  bool
	eof  bool
	ext  bool // the next word is a pattern, in which @(…) and its like are known
}

// readCond reads a conditional command of which "[[" ends at i.
func readCond(src string, i int) *condReader {
	c := &condReader{src: src, i: i}
	c.next()
	if c.or(); !c.bad && c.tok != "]]" {
		msg := "syntax error in conditional expression"
		if !c.word {
			msg += ": unexpected token `" + c.shown() + "'"
		}
		c.fail(msg)
	}
	return c
}

func (c *condReader) fail(msg string) {
	if !c.bad {
		c.bad, c.msg, c.eof = true, msg, !c.word && strings.TrimSpace(c.src[c.i:]) == ""
	}
}

func (c *condReader) shown() string {
	switch c.tok {
	case "":
		return "EOF"
	case "\n":
		return "newline"
	}
	return c.tok
}

func (c *condReader) next() {
	for c.i < len(c.src) && (c.src[c.i] == ' ' || c.src[c.i] == '\t') {
		c.i++
	}
	start := c.i
	c.word = false
	rest := c.src[start:]
	if strings.HasPrefix(rest, "\n") {
		c.tok = "\n"
		return
	}
	for _, op := range operators {
		if strings.HasPrefix(rest, op) {
			c.i += len(op)
			c.tok = op
			return
		}
	}
	for c.i < len(c.src) {
		if c.src[c.i] == '(' && c.ext && c.i > start && strings.IndexByte("?*+@!", c.src[c.i-1]) >= 0 {
			c.i = skipNest(c.src, c.i) + 1
			continue
		}
		if strings.IndexByte(" \t\n;&|()<>", c.src[c.i]) >= 0 {
			break
		}
		switch c.src[c.i] {
		case '\\':
			c.i++
		case '\'':
			for c.i++; c.i < len(c.src) && c.src[c.i] != '\''; c.i++ {
			}
		case '"':
			c.i = quoteEnd(c.src, c.i)
		case '$':
			if c.i+1 < len(c.src) && (c.src[c.i+1] == '(' || c.src[c.i+1] == '{') {
				c.i = skipNest(c.src, c.i+1)
			}
		}
		c.i++
	}
	c.i = min(c.i, len(c.src))
	c.tok = c.src[start:c.i]
	c.word = c.tok != "" && c.tok != "]]"
}

func (c *condReader) or() {
	for c.and(); !c.bad && c.tok == "||"; c.and() {
		c.next()
	}
}

func (c *condReader) and() {
	for c.term(); !c.bad && c.tok == "&&"; c.term() {
		c.next()
	}
}

func (c *condReader) term() {
	for c.tok == "\n" {
		c.i++
		c.next()
	}
	switch {
	case c.bad:
	case c.tok == "(":
		c.next()
		if c.or(); c.bad {
			return
		}
		if c.tok != ")" {
			c.fail("unexpected token `" + c.shown() + "', expected `)'")
			return
		}
		c.next()
	case c.tok == "!":
		c.next()
		c.term()
	case c.tok == "]]":
		c.fail("")
	case !c.word:
		c.fail("unexpected token `" + c.shown() + "' in conditional command")
	case isUnaryOp(c.tok):
		c.next()
		if !c.word {
			c.fail("unexpected argument `" + c.shown() + "' to conditional unary operator")
			return
		}
		c.next()
	default:
		c.next()
		op := c.tok
		switch {
		case op == "<" || op == ">" || op == "=~" || isBinaryOp(op):
		case op == "]]" || op == "&&" || op == "||" || op == ")":
			return
		case c.word:
			c.fail("conditional binary operator expected")
			return
		default:
			c.fail("unexpected token `" + c.shown() + "', conditional binary operator expected")
			return
		}
		c.ext = op == "=" || op == "==" || op == "!="
		c.next()
		c.ext = false
		if op == "=~" && !c.bad {
			// A regular expression may hold parentheses.
			for c.word || c.tok == "(" || c.tok == ")" || c.tok == "|" {
				if c.i < len(c.src) && (c.src[c.i] == ' ' || c.src[c.i] == '\t') {
					break
				}
				c.next()
			}
			c.word = true
		}
		if !c.word {
			c.fail("unexpected argument `" + c.shown() + "' to conditional binary operator")
			return
		}
		c.next()
	}
}
