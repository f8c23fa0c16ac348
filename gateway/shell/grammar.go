package shell

import (
	"slices"
	"strings"
)

// grammar reads a text by bash's grammar, to name the token at which bash stops: the parser, which makes the tree of a
// right one, tells of a wrong one where the construct began that it could not finish.
type grammar struct {
	src  string // ends in a newline
	step func()

	kind     tokenKind
	tok      string
	at       int  // where tok begins
	i        int  // where it ends
	arrays   bool // name=( begins an array here
	patterns bool // extended patterns are understood
	docs     []hereDoc
	substs   int    // command substitutions around tok
	expected string // what ends the list that is being read
}

type tokenKind int

const (
	endToken tokenKind = iota
	opToken            // an operator or a newline
	wordToken
	numberToken // before a redirection: a number or {name}
)

// offence is where bash stops reading: at a token, at the end of the text, or with the message of a conditional
// command.
type offence struct {
	tok   string // "" at the end of the text
	at    int
	subst bool // in a command substitution
	cond  *condReader
	msg   [2]string // in words of their own

	expected string // what had to be there
	close    string // what is missing of what begins at at: a quote or a bracket
	array    bool   // it is an array's
}

// findOffence returns the first mistake in src, nil when the grammar finds none.
func findOffence(src string, patterns bool, step func()) (found *offence) {
	if !strings.HasSuffix(src, "\n") {
		src += "\n"
	}
	g := grammar{src: src, step: step, patterns: patterns, arrays: true}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *offence:
			found = r
		default:
			panic(r)
		}
	}()
	g.next()
	for g.kind != endToken {
		if g.op("\n") {
			g.next()
			continue
		}
		for {
			g.andOr()
			if !g.op("&", ";") {
				break
			}
			if g.next(); g.op("\n") {
				break
			}
		}
		if !g.op("\n") {
			g.fail()
		}
	}
	return nil
}

func (g *grammar) fail() {
	expected := ""
	if g.kind == endToken {
		expected = g.expected
	}
	g.lacks(expected)
}

// lacks fails because a certain token is not there.
func (g *grammar) lacks(expected string) {
	if g.kind == endToken && g.substs > 0 {
		panic(&offence{at: len(g.src), close: ")"})
	}
	panic(&offence{tok: g.tok, at: g.at, subst: g.substs > 0, expected: expected})
}

// op reports whether the token is one of these operators.
func (g *grammar) op(ops ...string) bool {
	if g.kind == opToken {
		for _, o := range ops {
			if g.tok == o {
				return true
			}
		}
	}
	return false
}

// is reports whether the token is this word, where it counts as a reserved one.
func (g *grammar) is(word string) bool { return g.kind == wordToken && g.tok == word }

// expect steps over a reserved word or an operator that has to be there.
func (g *grammar) expect(tok string) {
	if g.tok != tok || g.kind != wordToken && g.kind != opToken {
		g.lacks(tok)
	}
	g.next()
}

func (g *grammar) newlines() {
	for g.op("\n") {
		g.next()
	}
}

func (g *grammar) word() {
	if g.kind != wordToken {
		g.fail()
	}
	g.next()
}

// closers are reserved words that no command begins with.
var closers = map[string]bool{"then": true, "else": true, "elif": true, "fi": true, "do": true, "done": true,
	"esac": true, "}": true, "]]": true, "in": true}

// operators, the longest first.
var operators = []string{
	"<<<", "<<-", ";;&", "&>>", "<<", "&&", "||", ";;", ";&", "|&", ">>", "<&", ">&", "<>", ">|", "&>", "(", ")", ";", "&",
	"|", "<", ">",
}

func (g *grammar) redirects() bool {
	return g.kind == numberToken || g.op("<", ">", ">>", ">|", "<>", "<&", ">&", "&>", "&>>", "<<", "<<-", "<<<")
}

func (g *grammar) startsCommand() bool {
	return g.kind == wordToken && !closers[g.tok] || g.op("(") || g.redirects()
}

// startsCompound reports whether a compound command begins here, which is also what a function's body is.
func (g *grammar) startsCompound() bool {
	if g.kind == wordToken {
		switch g.tok {
		case "if", "while", "until", "for", "select", "case", "{", "[[":
			return true
		}
	}
	return g.op("(")
}

// list reads commands up to what cannot begin one.
func (g *grammar) list() {
	g.newlines()
	for {
		g.andOr()
		if !g.op("&", ";", "\n") {
			return
		}
		g.next()
		if g.newlines(); !g.startsCommand() {
			return
		}
	}
}

// listTo reads commands and the reserved word or operator that ends them.
func (g *grammar) listTo(end string) {
	outer := g.expected
	g.expected = end
	g.list()
	g.expected = outer
	g.expect(end)
}

func (g *grammar) andOr() {
	for {
		g.pipeline()
		if !g.op("&&", "||") {
			return
		}
		g.next()
		g.newlines()
	}
}

func (g *grammar) pipeline() {
	for g.is("!") || g.is("time") {
		if g.is("time") {
			if g.next(); g.is("-p") {
				g.next()
			}
			if g.is("--") {
				g.next()
			}
		} else {
			g.next()
		}
		if g.op("\n", ";") {
			return
		}
	}
	for {
		g.command()
		if !g.op("|", "|&") {
			return
		}
		g.next()
		g.newlines()
	}
}

func (g *grammar) command() {
	switch {
	case g.startsCompound():
		g.compound()
	case !g.startsCommand() || g.is("!"):
		g.fail()
	case g.is("function"):
		g.next()
		if g.word(); g.op("(") && strings.HasPrefix(strings.TrimLeft(g.src[g.i:], " \t"), ")") {
			g.next()
			g.expect(")")
		}
		g.body()
	case g.is("coproc"):
		if g.next(); g.startsCompound() {
			g.compound()
			return
		}
		if g.redirects() {
			g.simple()
			return
		}
		if g.word(); g.startsCompound() {
			g.compound()
			return
		}
		g.arguments()
	default:
		g.simple()
	}
}

// body is what follows the name of a function.
func (g *grammar) body() {
	if g.newlines(); !g.startsCompound() {
		g.fail()
	}
	g.compound()
}

func (g *grammar) simple() {
	assigned := false
	for g.kind == wordToken || g.redirects() {
		switch {
		case g.redirects():
			g.redirect()
		case isAssignment(g.tok):
			assigned = true
			g.next()
		default:
			g.arrays = slices.Contains(declarations, g.tok) || g.tok == "eval" || g.tok == "let" || g.tok == "alias"
			if g.next(); g.op("(") && !assigned {
				g.next()
				g.expect(")")
				g.body()
				return
			}
			g.arguments()
			return
		}
	}
}

func (g *grammar) arguments() {
	for g.kind == wordToken || g.redirects() {
		if g.redirects() {
			g.redirect()
		} else {
			g.next()
		}
	}
}

func (g *grammar) redirect() {
	if g.kind == numberToken {
		g.next()
	}
	op := g.tok
	g.next()
	if g.kind == numberToken && (op == "<&" || op == ">&") {
		g.next()
		return
	}
	if g.kind == wordToken && (op == "<<" || op == "<<-") {
		g.docs = append(g.docs, hereDoc{unquoteDelim(g.tok), op == "<<-"})
	}
	g.word()
}

func (g *grammar) compound() {
	switch g.tok {
	case "(":
		if strings.HasPrefix(g.src[g.at:], "((") {
			if end, ok := g.arithmeticCommand(); ok {
				g.i = end
				g.next()
				break
			}
		}
		g.next()
		g.listTo(")")
	case "{":
		g.next()
		g.listTo("}")
	case "[[":
		c := readCond(g.src, g.i)
		if c.bad {
			panic(&offence{at: min(c.i, len(g.src)), cond: c})
		}
		g.i = c.i
		g.next()
	case "if":
		for g.is("if") || g.is("elif") {
			g.next()
			g.listTo("then")
			g.list()
		}
		if g.is("else") {
			g.next()
			g.list()
		}
		g.expect("fi")
	case "while", "until":
		g.next()
		g.listTo("do")
		g.listTo("done")
	case "for", "select":
		g.loop()
	case "case":
		g.cases()
	}
	for g.redirects() {
		g.redirect()
	}
}

// loop is a for or select.
func (g *grammar) loop() {
	arith := g.tok == "for"
	g.next()
	switch {
	case arith && g.op("(") && strings.HasPrefix(g.src[g.at:], "(("):
		end, ok := g.arithmeticCommand()
		if !ok {
			panic(&offence{at: g.at, close: ")"})
		}
		head := g.src[g.at+2 : end-2]
		if n := len(splitFor(head)); n != 3 {
			msg := "arithmetic expression required"
			if n > 3 {
				msg = "`;' unexpected"
			}
			panic(&offence{at: g.at, msg: [2]string{"syntax error: " + msg, "syntax error: `((" + head + "))'"}})
		}
		g.i = end
		if g.next(); g.op(";") {
			g.next()
		}
		g.newlines()
	default:
		if g.word(); g.op(";") {
			g.next()
			g.newlines()
			break
		}
		g.newlines()
		if !g.is("in") {
			break
		}
		for g.next(); g.kind == wordToken; {
			g.next()
		}
		if !g.op(";", "\n") {
			g.fail()
		}
		g.next()
		g.newlines()
	}
	if g.is("{") {
		g.next()
		g.listTo("}")
		return
	}
	g.expect("do")
	g.listTo("done")
}

func (g *grammar) cases() {
	g.next()
	g.word()
	g.newlines()
	g.expect("in")
	for g.newlines(); !g.is("esac"); g.newlines() {
		if g.op("(") {
			g.next()
		}
		for g.word(); g.op("|"); g.word() {
			g.next()
		}
		g.expect(")")
		if g.newlines(); g.startsCommand() {
			g.list()
		}
		if !g.op(";;", ";&", ";;&") {
			break
		}
		g.next()
	}
	g.expect("esac")
}

// next reads a token.
func (g *grammar) next() {
	if g.step != nil {
		g.step()
	}
	for g.i < len(g.src) {
		if c := g.src[g.i]; c == ' ' || c == '\t' {
			g.i++
		} else if strings.HasPrefix(g.src[g.i:], "\\\n") {
			g.i += 2
		} else {
			break
		}
	}
	if g.i < len(g.src) && g.src[g.i] == '#' {
		g.i += strings.IndexByte(g.src[g.i:], '\n')
	}
	g.at = g.i
	rest := g.src[g.at:]
	switch {
	case rest == "":
		g.kind, g.tok = endToken, ""
		return
	case rest[0] == '\n':
		g.i++
		g.kind, g.tok, g.arrays = opToken, "\n", true
		g.i, g.docs = skipDocs(g.src, g.i, g.docs), nil
		return
	case !strings.HasPrefix(rest, "<(") && !strings.HasPrefix(rest, ">("):
		for _, o := range operators {
			if strings.HasPrefix(rest, o) {
				g.i += len(o)
				g.kind, g.tok, g.arrays = opToken, o, true
				return
			}
		}
	}
	at := g.at
	g.scanWord()
	g.kind, g.at, g.tok = wordToken, at, g.src[at:g.i]
	if g.i < len(g.src) && (g.src[g.i] == '<' || g.src[g.i] == '>') {
		name, braced := strings.CutPrefix(g.tok, "{")
		if strings.Trim(g.tok, "0123456789") == "" || braced && isName(strings.TrimSuffix(name, "}")) &&
			strings.HasSuffix(name, "}") {
			g.kind = numberToken
		}
	}
}

// scanWord steps over a word.
func (g *grammar) scanWord() {
	start := g.i
	for g.i < len(g.src) {
		switch c := g.src[g.i]; c {
		case ' ', '\t', '\n', ';', '&', '|', ')':
			return
		case '<', '>':
			if g.src[g.i+1] != '(' { // there is a newline at the end
				return
			}
			g.substitution(g.i + 2)
		case '(':
			before := g.src[start:g.i]
			switch {
			case before != "" && strings.IndexByte("?*+@!", before[len(before)-1]) >= 0 && g.patterns:
				g.i = g.past(g.i, ')')
			case g.arrays && strings.HasSuffix(before, "=") && isAssignment(before):
				g.array()
			default:
				return
			}
		case '\\':
			g.i = min(g.i+2, len(g.src))
		case '\'', '"', '`', '$':
			g.quoted()
		case '[':
			if !g.arrays || !isName(g.src[start:g.i]) {
				g.i++
				break
			}
			if g.i = closing(g.src, g.i) + 1; g.i > len(g.src) {
				panic(&offence{at: start, close: "]"})
			}
		default:
			g.i++
		}
	}
}

// quoted steps over a quoted string or an expansion.
func (g *grammar) quoted() {
	rest := g.src[g.i:]
	switch {
	case rest[0] == '\'':
		g.i = g.until(g.i+1, '\'', false)
	case rest[0] == '`':
		g.i = g.until(g.i+1, '`', true)
	case strings.HasPrefix(rest, "$'"):
		g.i = g.until(g.i+2, '\'', true)
	case rest[0] == '"':
		g.doubleQuoted(g.i + 1)
	case strings.HasPrefix(rest, "$\""):
		g.doubleQuoted(g.i + 2)
	case strings.HasPrefix(rest, "$(("):
		if end, ok := g.arithmetic(g.i + 3); ok {
			g.i = end
			return
		}
		if skipNest(g.src, g.i+1) >= len(g.src) {
			panic(&offence{at: g.i, close: ")"})
		}
		g.substitution(g.i + 2)
	case strings.HasPrefix(rest, "$("):
		g.substitution(g.i + 2)
	case strings.HasPrefix(rest, "${"):
		g.i = g.past(g.i+1, '}')
	case strings.HasPrefix(rest, "$["):
		g.i = g.past(g.i+1, ']')
	default:
		g.i++
	}
}

// until is the offset behind the next quote q.
func (g *grammar) until(i int, q byte, escapes bool) int {
	at := i
	for ; i < len(g.src); i++ {
		switch {
		case g.src[i] == q:
			return i + 1
		case g.src[i] == '\\' && escapes:
			i++
		}
	}
	panic(&offence{at: at, close: string(q)})
}

func (g *grammar) doubleQuoted(i int) {
	for g.i = i; g.i < len(g.src); {
		switch g.src[g.i] {
		case '"':
			g.i++
			return
		case '\\':
			g.i += 2
		case '$', '`':
			if next := g.src[g.i+1]; g.src[g.i] == '$' && next != '(' && next != '{' {
				g.i++
				break
			}
			g.quoted()
		default:
			g.i++
		}
	}
	panic(&offence{at: i, close: `"`})
}

// past is the offset behind the bracket that closes the one at i.
func (g *grammar) past(i int, closer byte) int {
	open := g.src[i]
	depth := 0
	for g.i = i; g.i < len(g.src); {
		switch c := g.src[g.i]; c {
		case open:
			depth++
			g.i++
		case closer:
			g.i++
			if depth--; depth == 0 {
				return g.i
			}
		case '\\':
			g.i += 2
		case '\'', '"', '`', '$':
			g.quoted()
		default:
			g.i++
		}
	}
	panic(&offence{at: i, close: string(closer)})
}

// arithmetic is the offset behind the "))" that ends the expression at i; false when the inner parenthesis is closed
// without the outer.
func (g *grammar) arithmetic(i int) (int, bool) {
	at := g.i
	end := g.past(i-1, ')')
	g.i = at
	return end + 1, g.src[end] == ')'
}

// arithmeticCommand is arithmetic for the "((" that the token begins.
func (g *grammar) arithmeticCommand() (int, bool) {
	if skipNest(g.src, g.at+1) >= len(g.src) {
		panic(&offence{at: g.at, close: ")"})
	}
	return g.arithmetic(g.at + 2)
}

// substitution reads the commands that begin at i up to their parenthesis, in the midst of a word.
func (g *grammar) substitution(i int) {
	kind, tok, at, arrays, docs := g.kind, g.tok, g.at, g.arrays, g.docs
	g.i, g.docs, g.arrays = i, nil, true
	g.substs++
	g.next()
	if g.newlines(); !g.op(")") {
		if g.list(); g.kind == endToken {
			panic(&offence{at: len(g.src), close: ")"})
		}
		if !g.op(")") {
			g.fail()
		}
	}
	g.substs--
	g.kind, g.tok, g.at, g.arrays, g.docs = kind, tok, at, arrays, docs
}

// array steps over the words in the parentheses of an assignment.
func (g *grammar) array() {
	kind, tok, at, docs, begin := g.kind, g.tok, g.at, g.docs, g.i
	g.i, g.docs = g.i+1, nil
	for g.next(); !g.op(")"); g.next() {
		if g.kind == endToken {
			panic(&offence{at: begin, close: ")", array: true})
		}
		if g.kind != wordToken && !g.op("\n") {
			panic(&offence{tok: g.tok, at: g.at, subst: g.substs > 0, array: true})
		}
	}
	g.kind, g.tok, g.at, g.arrays, g.docs = kind, tok, at, true, docs
}

// isAssignment reports whether a word begins with name= or name[…]=, or the same with +=.
func isAssignment(word string) bool {
	i := 0
	for i < len(word) && isNameByte(word[i]) {
		i++
	}
	if i == 0 || '0' <= word[0] && word[0] <= '9' {
		return false
	}
	if word[i:] != "" && word[i] == '[' {
		i = closing(word, i) + 1
	}
	return strings.HasPrefix(strings.TrimPrefix(word[min(i, len(word)):], "+"), "=")
}
