package shell

import "strings"

// maxAliased bounds what the aliases of a text may make of it.
const maxAliased = 1 << 20

// aliasReader finds the words of a text that are in the place of a command, and puts aliases there, before the parser
// sees them. So an alias may hold half a compound command.
type aliasReader struct {
	s       string
	i       int
	aliases map[string]string
	step    func()
	grown   int

	stack  []aliasContext
	c      aliasContext
	active []activeAlias
	also   int  // the word that begins at or after this offset is looked up too, -1 for none
	begun  bool // an alias took the place of such a word: its first word is looked up too
	docs   []hereDoc
	timed  bool // the word before was time
}

// aliasContext is what the reader knows about where it is: the text, a ( ), backquotes or double quotes.
type aliasContext struct {
	kind    byte // 0, '(', '`', '"'
	command bool // a word here is a command
	inWord  bool
	target  bool // a word here belongs to a redirection
	cond    bool // inside [[ ]]
	skip    int  // words that are names: after for, case, function
	cases   []bool
	subject bool // after case WORD: "in" is awaited
}

type activeAlias struct {
	name string
	end  int // offset where its text ends
}

// hereDoc is a here-document whose text begins with the next line.
type hereDoc struct {
	delim string
	strip bool // tabs at the beginning of lines do not count
}

// withAliases returns the text with its aliases expanded.
func withAliases(src string, aliases map[string]string, step func()) string {
	r := aliasReader{s: src, aliases: aliases, step: step, also: -1}
	r.c.command = true
	r.run()
	return r.s
}

func (r *aliasReader) push(kind byte) {
	r.stack = append(r.stack, r.c)
	r.c = aliasContext{kind: kind, command: true}
}

func (r *aliasReader) pop() {
	if n := len(r.stack); n > 0 {
		r.c = r.stack[n-1]
		r.stack = r.stack[:n-1]
	}
}

// pattern reports whether the reader is before the ) of a case item.
func (c *aliasContext) pattern() bool { n := len(c.cases); return n > 0 && c.cases[n-1] }

func (r *aliasReader) has(prefix string) bool { return strings.HasPrefix(r.s[r.i:], prefix) }

func (r *aliasReader) run() {
	for r.i < len(r.s) {
		if r.i&1023 == 0 && r.step != nil {
			r.step()
		}
		if r.c.kind == '"' {
			r.quoted()
			continue
		}
		switch ch := r.s[r.i]; ch {
		case ' ', '\t':
			r.endWord()
			r.i++
		case '\n':
			r.endWord()
			r.separator()
			r.i++
			r.i, r.docs = skipDocs(r.s, r.i, r.docs), nil
		case '#':
			if r.c.inWord {
				r.i++
				break
			}
			if k := strings.IndexByte(r.s[r.i:], '\n'); k >= 0 {
				r.i += k
			} else {
				r.i = len(r.s)
			}
		case ';', '&', '|':
			r.operator()
		case '<', '>':
			r.redirection()
		case '(':
			r.open()
		case ')':
			r.endWord()
			switch {
			case r.c.cond:
			case r.c.pattern():
				r.c.cases[len(r.c.cases)-1] = false
				r.c.command = true
			case r.c.kind == '(':
				r.pop()
			default:
				r.c.command = true // of f()
			}
			r.i++
		default:
			if !r.c.inWord && r.word() {
				continue
			}
			r.char(ch)
		}
	}
}

// quoted reads on inside double quotes.
func (r *aliasReader) quoted() {
	switch {
	case r.s[r.i] == '\\':
		r.i += 2
	case r.s[r.i] == '"':
		r.pop()
		r.i++
	case r.s[r.i] == '`' || r.has("$("):
		r.char(r.s[r.i])
	case r.has("${"):
		r.i = skipNest(r.s, r.i+1) + 1
	default:
		r.i++
	}
}

// char reads one character of a word, or the quotes or expansion that begin with it.
func (r *aliasReader) char(ch byte) {
	r.c.inWord = true
	switch {
	case ch == '\\':
		r.i += 2
	case ch == '\'':
		k := strings.IndexByte(r.s[r.i+1:], '\'')
		if k < 0 {
			r.i = len(r.s)
			return
		}
		r.i += k + 2
	case r.has("$'"):
		r.i = quoteEnd(r.s, r.i+1) + 1
	case ch == '"':
		r.push('"')
		r.i++
	case ch == '`':
		r.i++
		if r.c.kind == '`' {
			r.pop()
		} else {
			r.push('`')
		}
	case r.has("$(("), r.has("${"):
		r.i = skipNest(r.s, r.i+1) + 1
	case r.has("$("):
		r.push('(')
		r.i += 2
	default:
		r.i++
	}
}

func (r *aliasReader) endWord() {
	if !r.c.inWord {
		return
	}
	r.c.inWord = false
	switch {
	case r.c.target:
		r.c.target = false
	case r.c.skip > 0:
		r.c.skip--
	}
}

func (r *aliasReader) separator() {
	r.c.target = false
	if !r.c.cond && !r.c.pattern() && !r.c.subject {
		r.c.command = true
		r.c.skip = 0
	}
}

func (r *aliasReader) operator() {
	r.endWord()
	switch {
	case r.has("&>"):
		r.i += 2
		r.c.target = true
	case len(r.c.cases) > 0 && (r.has(";;") || r.has(";&")):
		r.c.cases[len(r.c.cases)-1] = true
		r.i += 2
		if r.i < len(r.s) && r.s[r.i] == '&' {
			r.i++
		}
	default:
		r.separator()
		r.i++
	}
}

func (r *aliasReader) redirection() {
	r.endWord()
	switch {
	case r.c.cond:
		r.i++
	case r.has("<("), r.has(">("):
		r.push('(')
		r.i += 2
	case r.has("<<<"):
		r.i += 3
		r.c.target = true
	case r.has("<<"):
		r.i += 2
		r.heredoc()
	default:
		r.i++
		for r.i < len(r.s) && strings.IndexByte("<>&|", r.s[r.i]) >= 0 {
			r.i++
		}
		r.c.target = true
	}
}

func (r *aliasReader) heredoc() {
	d := hereDoc{strip: r.has("-")}
	if d.strip {
		r.i++
	}
	for r.i < len(r.s) && (r.s[r.i] == ' ' || r.s[r.i] == '\t') {
		r.i++
	}
	start := r.i
	for r.i < len(r.s) && strings.IndexByte(" \t\n;&|<>()", r.s[r.i]) < 0 {
		switch r.s[r.i] {
		case '\'', '"':
			r.i = quoteEnd(r.s, r.i)
		case '\\':
			r.i++
		}
		r.i++
	}
	r.i = min(r.i, len(r.s))
	d.delim = unquoteDelim(r.s[start:r.i])
	r.docs = append(r.docs, d)
}

// skipDocs is the offset behind the bodies of here-documents that begin at i.
func skipDocs(s string, i int, docs []hereDoc) int {
	for _, d := range docs {
		for i < len(s) {
			l, _, _ := strings.Cut(s[i:], "\n")
			i = min(i+len(l)+1, len(s))
			if d.strip {
				l = strings.TrimLeft(l, "\t")
			}
			if l == d.delim {
				break
			}
		}
	}
	return i
}

func (r *aliasReader) open() {
	switch {
	case r.c.cond:
		r.i++
	case r.c.inWord && r.i+1 < len(r.s) && r.s[r.i+1] == ')': // f()
		r.endWord()
		r.i += 2
		r.c.command = true
	case r.c.inWord:
		r.i = skipNest(r.s, r.i) + 1 // an array or an extended pattern
	case r.c.pattern():
		r.i++
	case r.has("((") && strings.HasPrefix(r.s[min(skipNest(r.s, r.i+1)+1, len(r.s)):], ")"):
		r.i = skipNest(r.s, r.i) + 1
		r.c.command = true // after for ((;;)) comes do
	case r.has("()"):
		r.i += 2
		r.c.command = true
	default:
		r.c.command = false
		r.push('(')
		r.i++
	}
}

// word looks at the word that begins here. It reports whether an alias took its place.
func (r *aliasReader) word() bool {
	j := r.i
	for j < len(r.s) && strings.IndexByte(" \t\n;&|()<>\"'`$\\", r.s[j]) < 0 {
		j++
	}
	w := r.s[r.i:j]
	plain := j == len(r.s) || strings.IndexByte(" \t\n;&|()<>", r.s[j]) >= 0
	also := r.also >= 0 && r.i >= r.also
	if also {
		r.also = -1
	}
	also = also || r.begun && w != ""
	r.begun = false
	c := &r.c
	switch {
	case c.target:
		return false
	case c.cond:
		if w == "]]" {
			c.cond = false
		}
		return false
	case c.subject && c.skip == 0:
		if w == "in" {
			c.subject = false
			c.cases = append(c.cases, true)
		}
		return false
	case c.pattern():
		if w == "esac" && plain {
			c.cases = c.cases[:len(c.cases)-1]
		}
		return false
	case c.skip > 0:
		return false
	}
	if plain && w != "" && (c.command || also) && r.replace(w, j) {
		r.begun = also
		return true
	}
	if !c.command {
		if w == "do" && plain { // for x do
			c.command = true
		}
		return false
	}
	if w == "-p" && r.timed {
		r.timed = false
		return false
	}
	r.timed = w == "time" && plain
	if eq := strings.IndexByte(w, '='); eq > 0 {
		name, _, _ := strings.Cut(strings.TrimSuffix(w[:eq], "+"), "[")
		if isName(name) {
			return false
		}
	}
	c.command = false
	if !plain {
		return false
	}
	if j < len(r.s) && (r.s[j] == '<' || r.s[j] == '>') && strings.Trim(w, "0123456789") == "" {
		c.command = true // the descriptor of a redirection
		return false
	}
	switch w {
	case "if", "then", "else", "elif", "while", "until", "do", "{", "!", "time", "coproc":
		c.command = true
	case "case":
		c.subject, c.skip = true, 2
	case "for", "select", "function":
		c.skip = 2
		c.command = w == "function"
	case "[[":
		c.cond = true
	case "esac":
		if n := len(c.cases); n > 0 {
			c.cases = c.cases[:n-1]
		}
	}
	return false
}

// replace puts an alias in the place of the word that ends at j.
func (r *aliasReader) replace(w string, j int) bool {
	text, ok := r.aliases[w]
	if !ok || r.grown > maxAliased {
		return false
	}
	live := r.active[:0]
	for _, a := range r.active {
		if a.end > r.i {
			live = append(live, a)
		}
	}
	r.active = live
	for _, a := range r.active {
		if a.name == w {
			return false
		}
	}
	if text == "" || text[len(text)-1] != ' ' && text[len(text)-1] != '\t' {
		// A word of its own ends here, whatever comes next; an alias around this one may still look up the word behind it.
		if r.also >= 0 {
			r.also += len(text) - len(w)
		}
		if j < len(r.s) && r.s[j] != ' ' && r.s[j] != '\t' && r.s[j] != '\n' {
			text += " "
		}
	} else {
		r.also = r.i + len(text)
	}
	for k := range r.active {
		r.active[k].end += len(text) - len(w)
	}
	r.active = append(r.active, activeAlias{w, r.i + len(text)})
	if r.step != nil {
		for n := 0; n <= len(r.s); n += 4096 {
			r.step()
		}
	}
	r.grown += len(text)
	r.s = r.s[:r.i] + text + r.s[j:]
	return true
}
