package shell

import (
	"strings"
)

// scanner walks over a text as bash reads it, quote by quote, and rewrites what the parser reads in another way:
// continued line ends within expansions and operators, here-document delimiters that are not plain names, and single
// quotes in "${x-'…'}", which quote nothing there and come in pairs but in POSIX mode.
// Every line keeps its number. What it does not understand to the end stays as it is, from the command on that it is
// in.
type scanner struct {
	s     string
	i     int
	out   []byte
	code  []byte   // out with the text of quotes, comments and here-documents blanked; nil where that is not asked for
	block encoding // has the runes that stand for characters without a meaning
	posix bool     // they need no partner
	step  func()
	ticks int // bytes until the next step
	ahead int // bytes that may still be looked at ahead

	stack    []scanLevel
	substs   int // substitutions among them
	limit    int // where the innermost here-document ends, 0 for none
	docs     []scanDoc
	moved    int // continued line ends that wait for a place
	changed  bool
	lost     bool
	more     bool // a here-document has no end
	joined   int  // where the last continued line ends
	warnings []docWarning
	safe     scanPoint
	pair     [2]int // the last backquotes
}

// scanPoint is between two commands: what comes before can be used even if what follows is not understood.
type scanPoint struct{ in, out, warnings int }

// scanLevel is one construct around the scanner: commands 'c', double quotes '"', ${…} '{', arithmetic 'a' and '[', a
// here-document 'h'.
type scanLevel struct {
	kind    byte
	quoted  bool // a ${…} in double quotes or a here-document
	plain   bool // in which single quotes quote nothing
	single  bool // between two of them
	double  bool // between two double quotes, which go before the text is expanded
	command bool // a word here is a command
	subst   bool // they are those of a substitution
	word    int  // where the word in out begins, -1 outside of words
	cases   int  // case commands that are open
	depth   int  // of brackets in arithmetic
	end     int  // of a here-document's text
	doc     scanDoc
	outer   int // the end of the here-document around that one
	moved   int // continued line ends that wait for the end of the here-document
}

type scanDoc struct {
	delim  string
	name   string // what takes its place
	strip  bool
	quoted bool
	at     int // where its operator is

	next   int  // where reading goes on behind it
	joined int  // continued line ends in the line that ends it
	rest   bool // what follows in that line is code
}

// docWarning is about a here-document that ends with the substitution around it.
type docWarning struct {
	delim    string
	line, at int
}

// maxDocWarnings bounds the warnings about one text.
const maxDocWarnings = 100

// scan prepares a text; code asks for the text without what is quoted.
func scan(s string, block encoding, posix, code bool, step func()) *scanner {
	r := &scanner{s: s, block: block, posix: posix, step: step, ahead: 16<<20 + 4*len(s)}
	r.out = make([]byte, 0, len(s)+16)
	if code {
		r.code = make([]byte, 0, len(s)+16)
	}
	r.push(scanLevel{kind: 'c', command: true})
	for r.i < len(r.s) && !r.lost {
		r.tick(1)
		r.next()
	}
	if top := r.top(); top.kind == 'h' && r.i >= top.end {
		r.endDoc()
	}
	r.lost = r.lost || len(r.stack) != 1
	return r
}

// expansionEnd is the length of the $(…) or ${…} that a text begins with.
func expansionEnd(s string, step func()) int {
	r := &scanner{s: s, step: step, ahead: 64 << 10}
	r.push(scanLevel{kind: 'c'})
	for r.dollar(false); len(r.stack) > 1 && r.i < len(r.s) && !r.lost; {
		r.tick(1)
		r.next()
	}
	if r.lost || len(r.stack) > 1 {
		return skipNest(s, 1) + 1
	}
	return r.i
}

// backquotesAround finds the pair of backquotes that offset at is between, or open is -1.
func backquotesAround(s string, at int) (open, end int) {
	r := &scanner{s: s, ahead: 16<<20 + 4*len(s), pair: [2]int{-1, -1}}
	r.push(scanLevel{kind: 'c', command: true})
	for r.i <= at && r.i < len(s) && !r.lost {
		r.next()
	}
	if open, end = r.pair[0], r.pair[1]; end < at {
		return -1, -1
	}
	return open, end
}

// unfinished reports whether a text that parses goes on: in a here-document or on a continued line.
func unfinished(src string, step func()) bool {
	if !strings.Contains(src, "<<") && !strings.Contains(src, "\\\n") {
		return false
	}
	text, _ := encode(src)
	r := scan(text, 0, false, false, step)
	return r.lost || r.more || len(r.docs) > 0 || r.joined == len(text)
}

func (r *scanner) tick(n int) {
	for r.ticks -= n; r.ticks <= 0; r.ticks += 1024 {
		if r.step != nil {
			r.step()
		}
	}
}

func (r *scanner) top() *scanLevel { return &r.stack[len(r.stack)-1] }

func (r *scanner) push(l scanLevel) {
	l.word = -1
	if l.subst {
		r.substs++
	}
	r.stack = append(r.stack, l)
}

func (r *scanner) pop() {
	if r.top().subst {
		r.substs--
	}
	r.stack = r.stack[:len(r.stack)-1]
	if len(r.stack) == 0 {
		r.lost = true
		r.push(scanLevel{kind: 'c'})
	}
}

// put writes a text; lit says that it is not code.
func (r *scanner) put(s string, lit bool) {
	r.out = append(r.out, s...)
	if r.code == nil {
		return
	}
	if !lit {
		r.code = append(r.code, s...)
		return
	}
	for k := range len(s) {
		if s[k] == '\n' {
			r.code = append(r.code, '\n')
		} else {
			r.code = append(r.code, '_')
		}
	}
}

// take copies the next n bytes.
func (r *scanner) take(n int, lit bool) {
	n = min(n, len(r.s)-r.i)
	r.tick(n)
	r.put(r.s[r.i:r.i+n], lit)
	r.i += n
}

func (r *scanner) has(prefix string) bool { return strings.HasPrefix(r.s[r.i:], prefix) }

// join leaves out the continued line ends that come next; they are put in later.
func (r *scanner) join() {
	for r.has("\\\n") {
		r.moved++
		r.i += 2
		r.changed, r.joined = true, r.i
	}
}

// settle puts the continued line ends in that were left out.
func (r *scanner) settle(blank string) {
	if r.moved > 0 {
		r.put(blank+strings.Repeat("\\\n", r.moved), false)
		r.moved = 0
	}
}

func (r *scanner) next() {
	l := r.top()
	switch l.kind {
	case 'c':
		r.commands(l)
	case '"':
		r.settle("")
		if r.s[r.i] == '"' {
			r.take(1, true)
			r.pop()
			return
		}
		r.text()
	case 'h':
		if r.i >= l.end {
			r.endDoc()
			return
		}
		r.settle("")
		r.text()
	case '{':
		r.parameter(l)
	default:
		r.arithmetic(l)
	}
}

// text reads on in double quotes or a here-document.
func (r *scanner) text() {
	switch r.s[r.i] {
	case '\\':
		r.take(2, true)
	case '$':
		r.dollar(true)
	case '`':
		r.backquotes()
	default:
		r.take(1, true)
	}
}

func (r *scanner) backquotes() {
	k := r.i + 1
	for k < len(r.s) && r.s[k] != '`' {
		if r.s[k] == '\\' {
			k++
		}
		k++
	}
	if k >= len(r.s) {
		r.lost = true
		return
	}
	r.pair = [2]int{r.i, k}
	r.take(k+1-r.i, false)
}

// single copies a quoted text that ends with the next unescaped single quote.
func (r *scanner) single(from int, escapes bool) {
	k := from
	for k < len(r.s) && r.s[k] != '\'' {
		if escapes && r.s[k] == '\\' {
			k++
		}
		k++
	}
	if k >= len(r.s) {
		r.lost = true
		return
	}
	r.take(k+1-r.i, true)
}

// dollar reads an expansion, or the beginning of one.
func (r *scanner) dollar(quoted bool) {
	if !quoted && r.has("$'") {
		r.single(r.i+2, true)
		return
	}
	if !quoted && r.has(`$"`) {
		r.take(1, true)
		return
	}
	r.take(1, false)
	r.join()
	if r.i >= len(r.s) {
		return
	}
	switch ch := r.s[r.i]; {
	case ch == '{':
		r.take(1, false)
		r.parameterHead(quoted)
	case ch == '(':
		r.take(1, false)
		r.join()
		if r.has("(") && r.isArithmetic(r.i) {
			r.take(1, false)
			r.push(scanLevel{kind: 'a', quoted: quoted, depth: 2})
			return
		}
		r.push(scanLevel{kind: 'c', command: true, subst: true})
	case ch == '[' && !quoted:
		r.take(1, false)
		r.push(scanLevel{kind: '[', depth: 1})
	case isNameByte(ch):
		for r.i < len(r.s) && isNameByte(r.s[r.i]) {
			r.take(1, false)
			r.join()
		}
	case strings.IndexByte("@*#?$!-", ch) >= 0:
		r.take(1, false)
	}
}

// window is what may be looked at ahead from an offset on.
func (r *scanner) window(at int) string {
	w := r.s[at:min(len(r.s), at+max(min(64<<10, r.ahead), 0))]
	r.ahead -= len(w)
	r.tick(len(w))
	return w
}

// isArithmetic reports whether the parenthesis at offset at, the second of two, closes together with the first.
func (r *scanner) isArithmetic(at int) bool {
	window := r.window(at)
	if window == "" {
		return false
	}
	end := skipNest(window, 0)
	rest := window[min(end+1, len(window)):]
	for strings.HasPrefix(rest, "\\\n") {
		rest = rest[2:]
	}
	return strings.HasPrefix(rest, ")")
}

// parameterHead reads the beginning of ${…} up to its operator.
func (r *scanner) parameterHead(quoted bool) {
	l := scanLevel{kind: '{', quoted: quoted}
	r.join()
	start := len(r.out)
	if r.has("!") || r.has("#") {
		r.take(1, false)
		r.join()
	}
	for r.i < len(r.s) && isNameByte(r.s[r.i]) {
		r.take(1, false)
		r.join()
	}
	if name := r.out[start:]; (len(name) == 0 || len(name) == 1 && !isNameByte(name[0])) && r.i < len(r.s) &&
		strings.IndexByte("@*#?$!-", r.s[r.i]) >= 0 {
		r.take(1, false)
		r.join()
	}
	if r.has("[") && len(r.out) > start {
		window := r.window(r.i)
		if end := closing(window, 0); end < len(window) {
			r.take(end+1, false)
			r.join()
		}
	}
	if r.has(":") {
		r.take(1, false)
		r.join()
	}
	if r.i < len(r.s) && strings.IndexByte("-+=", r.s[r.i]) >= 0 {
		l.plain = quoted
	}
	r.push(l)
}

func (r *scanner) parameter(l *scanLevel) {
	switch r.s[r.i] {
	case '}':
		if l.single || l.double {
			r.literal('}')
			return
		}
		r.take(1, false)
		r.pop()
	case '\'':
		if l.plain {
			l.single = !l.single && !r.posix && !l.double
			r.literal('\'')
			return
		}
		r.single(r.i+1, false)
	case '"':
		if l.plain {
			l.double = !l.double && !l.single
			r.i++
			r.changed = true
			return
		}
		r.take(1, true)
		r.push(scanLevel{kind: '"'})
	case '\\':
		if r.has("\\\n") {
			r.join()
			return
		}
		r.take(2, true)
	case '$':
		if l.plain && !l.single && !l.double && r.has("$'") {
			r.single(r.i+2, true)
			return
		}
		if l.plain && r.has(`$"`) {
			r.i++
			r.changed = true
			return
		}
		r.dollar(l.quoted)
	case '`':
		r.backquotes()
	default:
		r.take(1, false)
	}
}

// literal puts what stands for a character that has no meaning here.
func (r *scanner) literal(c byte) {
	r.i++
	r.put(string(rune(r.block)+rune(c)), true)
	r.changed = true
}

func (r *scanner) arithmetic(l *scanLevel) {
	open, shut := byte('('), byte(')')
	if l.kind == '[' {
		open, shut = '[', ']'
	}
	switch ch := r.s[r.i]; {
	case ch == open:
		l.depth++
		r.take(1, false)
	case ch == shut:
		r.take(1, false)
		if l.depth--; l.depth == 0 {
			r.pop()
		}
	case ch == '"':
		r.take(1, true)
		r.push(scanLevel{kind: '"'})
	case r.has("\\\n"):
		r.join()
	case ch == '\\':
		r.take(2, true)
	case ch == '\'' && !l.quoted:
		r.single(r.i+1, false)
	case ch == '$':
		r.dollar(l.quoted)
	case ch == '`':
		r.backquotes()
	default:
		r.take(1, false)
	}
}

// endWord is told that a word of a command is over.
func (r *scanner) endWord(l *scanLevel) {
	if l.word < 0 {
		return
	}
	word := string(r.out[l.word:min(len(r.out), l.word+16)])
	l.word = -1
	was := l.command
	l.command = false
	if !was {
		return
	}
	switch word {
	case "case":
		l.cases++
	case "esac":
		l.cases = max(l.cases-1, 0)
	case "if", "then", "else", "elif", "while", "until", "do", "time", "!", "{":
		l.command = true
	}
}

const scanOperators = "&|<>;("

// commands reads on among commands.
func (r *scanner) commands(l *scanLevel) {
	ch := r.s[r.i]
	switch {
	case ch == ' ' || ch == '\t':
		r.endWord(l)
		r.settle(" ")
		r.take(1, false)
		return
	case ch == '\n':
		r.endWord(l)
		r.settle(" ")
		r.take(1, false)
		l.command = true
		if r.startDoc(); len(r.stack) == 1 && len(r.docs) == 0 && r.moved == 0 {
			r.safe = scanPoint{r.i, len(r.out), len(r.warnings)}
		}
		return
	case ch == '#' && l.word < 0:
		n := strings.IndexByte(r.s[r.i:], '\n')
		if n < 0 {
			n = len(r.s) - r.i
		}
		r.take(n, true)
		if k := len(r.out) - 1; r.out[k] == '\\' { // the parser goes on with the next line
			r.out[k] = '_'
			r.changed = true
		}
		return
	case r.has("\\\n"):
		r.continued(l)
		return
	case ch == ')':
		r.endWord(l)
		r.take(1, false)
		if l.cases > 0 {
			l.command = true
		} else {
			r.pop()
		}
		return
	case ch == '<' && strings.HasPrefix(strings.TrimLeft(r.s[r.i+1:min(len(r.s), r.i+64)], "\\\n"), "<"):
		r.endWord(l)
		r.delimiter()
		return
	case strings.IndexByte(scanOperators, ch) >= 0:
		r.operator(l, ch)
		return
	}
	if l.word < 0 {
		l.word = len(r.out)
	}
	switch ch {
	case '\\':
		r.take(2, true)
	case '\'':
		r.single(r.i+1, false)
	case '"':
		r.take(1, true)
		r.push(scanLevel{kind: '"'})
	case '$':
		r.dollar(false)
	case '`':
		r.backquotes()
	default:
		r.take(1, false)
	}
}

func (r *scanner) operator(l *scanLevel, ch byte) {
	begins := l.command && l.word < 0
	inWord := l.word >= 0
	r.endWord(l)
	r.take(1, false)
	switch ch {
	case '&', '|', ';':
		l.command = true
	case '(':
		if begins && r.has("(") && r.isArithmetic(r.i) {
			r.take(1, false)
			r.push(scanLevel{kind: 'a', depth: 2})
			return
		}
		if inWord && r.has(")") { // f()
			l.command = true
		}
		r.push(scanLevel{kind: 'c', command: true})
	}
}

// continued reads a continued line end among commands. Where it divides an operator or a reserved word it goes behind
// it.
func (r *scanner) continued(l *scanLevel) {
	next := r.i
	for strings.HasPrefix(r.s[next:], "\\\n") {
		next += 2
	}
	before, after := byte(' '), byte(' ')
	if n := len(r.out); n > 0 {
		before = r.out[n-1]
	}
	if next < len(r.s) {
		after = r.s[next]
	}
	operator := strings.IndexByte(scanOperators, before) >= 0 && strings.IndexByte(scanOperators+"-", after) >= 0
	keyword := l.command && l.word >= 0 && 'a' <= before && before <= 'z' && 'a' <= after && after <= 'z'
	if operator || keyword {
		r.join()
		return
	}
	r.take(next-r.i, false)
	r.joined = r.i
}

// delimiter reads the operator of a here-document and the word behind it.
func (r *scanner) delimiter() {
	d := scanDoc{at: r.i}
	r.take(1, false)
	r.join()
	if !r.has("<") {
		return
	}
	r.take(1, false)
	r.join()
	if r.has("-") {
		r.take(1, false)
		d.strip = true
	} else if r.has("<") {
		r.take(1, false)
		return
	}
	for r.has(" ") || r.has("\t") || r.has("\\\n") {
		if r.has("\\\n") {
			r.join()
			continue
		}
		r.take(1, false)
	}
	start, moved := r.i, r.moved
	plain := true
	var text []byte
	for r.i < len(r.s) {
		ch := r.s[r.i]
		if strings.IndexByte(" \t\n;&|<>()", ch) >= 0 {
			break
		}
		from := r.i
		switch {
		case r.has("\\\n"):
			r.moved++
			r.i += 2
			plain = false
		case ch == '\\':
			r.i += 2
			text = append(text, r.s[from+1:min(r.i, len(r.s))]...)
			d.quoted = true
		case ch == '\'' || r.has("$'"):
			k := strings.IndexByte(r.s[r.i:], '\'') + 1
			n := strings.IndexByte(r.s[r.i+k:], '\'')
			if n < 0 {
				r.lost = true
				return
			}
			if inner := r.s[r.i+k : r.i+k+n]; ch == '$' {
				text = append(text, ansiC(inner)...)
				plain = false
			} else {
				text = append(text, inner...)
			}
			r.i += k + n + 1
			d.quoted = true
		case r.has(`$"`): // to be translated, which here is nothing
			r.i++
			plain = false
		case ch == '"':
			end := quoteEnd(r.s, r.i)
			text = append(text, unescape(r.s[r.i+1:max(end, r.i+1)], "$`\"\\")...)
			plain = plain && !strings.ContainsAny(r.s[r.i:end], "$`\\")
			r.i = end + 1
			d.quoted = true
		case r.has("$(") || r.has("${"):
			r.i = min(skipNest(r.s, r.i+1)+1, len(r.s))
			text = append(text, r.s[from:r.i]...)
			plain = false
		case ch == '`':
			k := strings.IndexByte(r.s[r.i+1:], '`')
			r.i = min(r.i+k+2, len(r.s))
			if k < 0 {
				r.i = len(r.s)
			}
			text = append(text, r.s[from:r.i]...)
			plain = false
		default:
			plain = plain && ch != '$'
			text = append(text, ch)
			r.i++
		}
	}
	raw := r.s[start:r.i]
	d.delim = string(text)
	d.name = d.delim
	plain = plain && !(d.strip && strings.HasPrefix(d.delim, "\t")) &&
		(!d.quoted || !strings.ContainsAny(d.delim, "\\'\"$`"))
	if plain || strings.Contains(d.delim, "\n") || raw == "" {
		r.moved = moved
		r.put(raw, true)
	} else {
		for d.name = "_" + strings.Repeat("_", len(d.delim)); strings.Contains(r.s, "\n"+d.name+"\n"); {
			d.name += "_"
			r.tick(len(r.s))
		}
		r.tick(len(r.s))
		if d.quoted {
			r.put("'"+d.name+"'", true)
		} else {
			r.put(d.name, true)
		}
		r.changed = true
	}
	r.tick(r.i - start)
	r.docs = append(r.docs, d)
}

// startDoc reads the here-documents whose texts begin here.
func (r *scanner) startDoc() {
	for len(r.docs) > 0 {
		d := r.docs[0]
		r.docs = r.docs[1:]
		limit := len(r.s)
		if r.limit > 0 {
			limit = r.limit
		}
		at := r.findDelimiter(&d, limit)
		if at < 0 {
			if limit == len(r.s) && len(r.stack) == 1 {
				r.more = true
				r.take(limit-r.i, true)
			} else {
				r.lost = true
			}
			return
		}
		if d.quoted {
			r.take(at-r.i, true)
			r.closeDoc(d)
			continue
		}
		r.push(scanLevel{kind: 'h', end: at, outer: r.limit, moved: r.moved, doc: d})
		r.moved, r.limit = 0, at
		return
	}
}

// findDelimiter finds the line that ends a here-document, -1 when there is none. In a substitution, the delimiter may
// be followed by its parenthesis.
func (r *scanner) findDelimiter(d *scanDoc, limit int) (at int) {
	for at = r.i; at < limit; at = d.next {
		d.joined = 0
		line := r.lineAt(at, limit, d)
		if !d.quoted && strings.HasSuffix(line, "\\") {
			text := []byte(line)
			for oddBackslashes(text) && d.next < limit {
				text = append(text[:len(text)-1], r.lineAt(d.next, limit, d)...)
				d.joined++
			}
			line = string(text)
		}
		if d.strip && line != d.delim {
			line = strings.TrimLeft(line, "\t")
		}
		if line == d.delim {
			return at
		}
		if after, ok := strings.CutPrefix(line, d.delim); ok && d.joined == 0 && r.substs > 0 &&
			strings.Contains(after, ")") {
			if len(r.warnings) < maxDocWarnings {
				r.warnings = append(r.warnings, docWarning{d.delim, strings.Count(r.s[:d.at], "\n") + 1,
					strings.Count(r.s[:at], "\n") + 1})
			}
			if r.s[d.next-1] == '\n' {
				d.next--
			}
			d.next -= len(after)
			d.rest = true
			return at
		}
	}
	return -1
}

// lineAt is the line at an offset; the next one begins at d.next.
func (r *scanner) lineAt(at, limit int, d *scanDoc) string {
	line, _, more := strings.Cut(r.s[at:limit], "\n")
	d.next = at + len(line)
	if more {
		d.next++
	}
	r.tick(len(line) + 1)
	return line
}

func oddBackslashes(b []byte) bool {
	n := 0
	for n < len(b) && b[len(b)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// closeDoc writes the line that ends a here-document.
func (r *scanner) closeDoc(d scanDoc) {
	if d.name == d.delim && d.joined == 0 && !d.rest {
		r.take(d.next-r.i, true)
		return
	}
	r.changed = true
	r.moved += d.joined
	r.put(d.name, true)
	if r.i = d.next; d.rest || r.s[d.next-1] == '\n' {
		r.put("\n", true)
	}
}

func (r *scanner) endDoc() {
	l := *r.top()
	if r.i > l.end {
		r.lost = true
		return
	}
	r.pop()
	r.moved += l.moved
	r.limit = l.outer
	r.closeDoc(l.doc)
	r.startDoc()
}
