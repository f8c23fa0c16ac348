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
}

// condError looks for a mistake in the last [[ before at. The message is empty where bash stays silent.
func condError(src string, at int) (msg string, line int, eof, found bool) {
	for end := min(at+2, len(src)); ; {
		i := strings.LastIndex(src[:end], "[[")
		if i < 0 || i < at-4096 {
			return "", 0, false, false
		}
		end = i
		if i > 0 && strings.IndexByte(" \t\n;&|(!{", src[i-1]) < 0 || i+2 < len(src) && strings.IndexByte(" \t\n", src[i+2]) < 0 {
			continue
		}
		c := condReader{src: src, i: i + 2}
		c.next()
		c.or()
		if !c.bad && c.tok != "]]" {
			c.fail("syntax error in conditional expression")
		}
		if c.bad {
			return c.msg, strings.Count(src[:min(c.i, len(src))], "\n") + 1, c.eof, true
		}
		return "", 0, false, false
	}
}

func (c *condReader) fail(msg string) {
	if !c.bad {
		c.bad, c.msg, c.eof = true, msg, c.tok == ""
	}
}

func (c *condReader) shown() string {
	if c.tok == "" || c.tok == "\n" {
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
	for _, op := range []string{"&&", "||", "(", ")", "<", ">", ";", "&", "|", "\n"} {
		if strings.HasPrefix(rest, op) {
			c.i += len(op)
			c.tok = op
			if op == "\n" {
				c.i--
				c.tok = "\n"
			}
			return
		}
	}
	for c.i < len(c.src) && strings.IndexByte(" \t\n;&|()<>", c.src[c.i]) < 0 {
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
		c.next()
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
