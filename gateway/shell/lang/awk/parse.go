package awk

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	re "github.com/pgbox/pgbox/gateway/shell/text/regex"
)

const (
	maxDepth = 1500  // nesting of what the parser recurses into
	maxTree  = 12000 // height of an expression: 1+1+1+… counts one per term
)

// Program is a parsed, resolved and compiled awk program.
type Program struct {
	begin, end         []block
	beginFile, endFile []block
	rules              []compiledRule
	readsMain          bool // there are rules besides BEGIN
	globals            map[string]*symbol
	nScalars, nArrays  int
	scalarNames        []string
	arrayNames         []string
	funcs              map[string]*function
	nRanges            int
	nRegexes           int
	dialect            Dialect
	identifiers        bool     // PROCINFO["identifiers"] is asked for
	names              []string // of the user's variables, as they first appeared
}

// Dialect is what the command line asks of the language.
type Dialect uint8

// The dialects: gawk's own, and what --posix and --traditional leave of it.
const (
	Gawk Dialect = iota
	Posix
	Traditional
)

type symbol struct {
	name   string
	array  bool
	scalar bool
	slot   int
	pos    int
}

// edge says that the variable v is passed as argument i of fn.
type edge struct {
	v  *varRef
	fn *function
	i  int
}

type parser struct {
	lexer
	rules       []rule
	globals     map[string]*symbol
	funcs       map[string]*function
	fnOrder     []*function
	calls       []*call
	refs        []*varRef
	edges       []edge
	fn          *function // being parsed
	level       int
	inLoop      int
	inSwtch     int
	ruleKind    ruleKind // of the rule being parsed
	noGt        bool     // inside print's unparenthesised list: > redirects
	places      map[any]position
	posix       bool
	identifiers bool   // the program speaks of them
	ns          string // of the @namespace that holds here, "" for awk
	reads       bool   // the program asks for types: a variable that is read is no longer untyped
	load        func(name string) (Source, error)
	included    []string
	names       []string // the global variables, as they appear
}

// position is where a statement or a pattern stands; the zero position is the first line of the command line's program.
type position struct {
	name string
	line int // counted from 0
}

func (p position) String() string {
	if p.name == "" {
		p.name = "cmd. line"
	}
	return fmt.Sprintf("%s:%d", p.name, p.line+1)
}

func (p *parser) here() position { return position{p.name, p.line - 1} }

// placed remembers where a statement or a pattern begins, if that is not the zero position.
func (p *parser) placed(node any, at position) {
	if at != (position{}) {
		p.places[node] = at
	}
}

// Parse reads and compiles a program; the sources are joined as if they were one file each ending in a newline.
// The error is a *SyntaxError; warn is told of harmless mistakes, load reads what @include asks for.
func Parse(
	sources []Source, dialect Dialect, warn func(string), load func(name string) (Source, error),
) (prog *Program, err error) {
	p := &parser{globals: map[string]*symbol{}, funcs: map[string]*function{}, places: map[any]position{}, load: load,
		posix: dialect == Posix}
	warned := map[string]bool{}
	p.warn = func(s string) {
		if !warned[s] {
			warned[s] = true
			warn(p.here().String() + ": " + s)
		}
	}
	defer func() {
		if r := recover(); r != nil {
			var se *SyntaxError
			if e, ok := r.(error); ok && errors.As(e, &se) {
				prog, err = nil, se
				return
			}
			panic(r)
		}
	}()
	for _, s := range sources {
		p.included = append(p.included, s.Name)
	}
	for _, s := range sources {
		p.src, p.name, p.pos, p.line = s.Text, s.Name, 0, 1
		p.source()
	}
	p.resolve()
	prog = p.compile()
	prog.dialect = dialect
	return prog, nil
}

func (p *parser) fail(format string, args ...any) {
	panic(p.errorAt(p.start, format, args...))
}

func (p *parser) syntaxError() {
	switch p.tok {
	case tEOF, tNewline:
		p.fail("unexpected newline or end of string")
	default:
		p.fail("syntax error")
	}
}

func (p *parser) expect(t token) {
	if p.tok != t {
		p.syntaxError()
	}
	p.next()
}

func (p *parser) skipNewlines() {
	for p.tok == tNewline {
		p.next()
	}
}

func (p *parser) skipTerminators() {
	for p.tok == tNewline || p.tok == tSemi {
		p.next()
	}
}

func (p *parser) enter() {
	if p.level++; p.level > maxDepth {
		p.fail("program nested too deeply")
	}
}

// check bounds the height of a finished tree.
func (p *parser) check(e expr) expr {
	if e.depth() > maxTree {
		p.fail("expression too long")
	}
	return e
}

// source parses one source, which begins in the namespace awk.
func (p *parser) source() {
	p.ns = ""
	if i := strings.IndexByte(p.src, 0); i >= 0 {
		panic(p.errorAt(i, "fatal: error: invalid character '\\000' in source code"))
	}
	p.identifiers = p.identifiers || strings.Contains(p.src, "identifiers")
	p.reads = p.reads || strings.Contains(p.src, "typeof")
	p.program()
}

func (p *parser) program() {
	p.next()
	p.skipNewlines()
	for p.tok != tEOF {
		if p.tok == tSemi {
			panic(&SyntaxError{Source: p.name, Line: p.line, Msg: "each rule must have a pattern or an action part"})
		}
		p.item()
		if p.tok == tSemi {
			p.next()
		}
		p.skipNewlines()
	}
}

func (p *parser) item() {
	p.noGt = false
	switch p.tok {
	case tFunction:
		p.function()
		return
	case tBegin, tEnd, tBeginFile, tEndFile:
		kind := map[token]ruleKind{tBegin: ruleBegin, tEnd: ruleEnd, tBeginFile: ruleBeginFile, tEndFile: ruleEndFile}[p.tok]
		word := p.src[p.start:p.pos]
		p.next()
		if p.tok == tNewline || p.tok == tEOF {
			panic(&SyntaxError{Source: p.name, Line: p.line, Msg: word + " blocks must have an action part"})
		}
		if p.tok != tLbrace {
			p.syntaxError()
		}
		p.ruleKind = kind
		p.rules = append(p.rules, rule{kind: kind, body: p.block()})
	case tAt:
		p.include()
	default:
		p.ruleKind = ruleMain
		r := rule{}
		at := p.here()
		if p.tok != tLbrace {
			r.pattern = p.expr()
			if p.tok == tComma {
				p.next()
				p.skipNewlines()
				r.to = p.expr()
			}
			p.placed(r.pattern, at)
		}
		if p.tok == tLbrace {
			r.body = p.block()
		} else {
			r.noBody = true
		}
		p.rules = append(p.rules, r)
		if r.noBody && p.tok != tNewline && p.tok != tSemi && p.tok != tEOF {
			p.syntaxError()
		}
	}
}

// setNamespace is @namespace: what names without a namespace of their own mean from here on.
func (p *parser) setNamespace(name string, at int) {
	for i, c := range []byte(name) {
		if !isNameStart(c) && (i == 0 || !isDigit(c)) {
			name = ""
			break
		}
	}
	_, reserved := keywords[name]
	if _, ok := builtins[name]; ok || reserved || name == "" {
		panic(p.errorAt(at, "error: namespace name `%s' must meet identifier naming rules", name))
	}
	if p.ns = name; name == "awk" {
		p.ns = ""
	}
}

// qualify is the full name of an identifier: those of the namespace awk, and those all in capitals, have none.
func (p *parser) qualify(name string) string {
	if strings.Contains(name, "::") {
		return strings.TrimPrefix(name, "awk::")
	}
	if p.ns == "" || strings.ToUpper(name) == name && name[0] != '_' {
		return name
	}
	return p.ns + "::" + name
}

// include parses the file that @include names in its place.
func (p *parser) include() {
	p.next()
	if p.tok != tName {
		p.syntaxError()
	}
	what := p.text
	p.next()
	if p.tok != tString {
		p.syntaxError()
	}
	name := p.text
	at := p.start
	p.next()
	if p.tok != tNewline && p.tok != tSemi && p.tok != tEOF {
		p.syntaxError()
	}
	switch what {
	case "include":
	case "namespace":
		p.setNamespace(name, at)
		return
	case "load":
		panic(p.errorAt(at, "error: cannot open shared library `%s' for reading: No such file or directory", name))
	default:
		panic(p.errorAt(at, "syntax error"))
	}
	src, err := p.load(name)
	if err != nil {
		panic(p.errorAt(at, "error: cannot open source file `%s' for reading: %v", name, err))
	}
	if slices.Contains(p.included, src.Name) {
		return
	}
	p.included = append(p.included, src.Name)
	p.enter()
	outer := p.lexer
	ns := p.ns
	p.src, p.name, p.pos, p.line = src.Text, src.Name, 0, 1
	p.source()
	p.lexer, p.ns = outer, ns
	p.level--
}

func (p *parser) function() {
	p.next()
	shadows := p.tok == tBuiltin && p.ns != "" // in a namespace, a function may have the name of one that only gawk has
	if shadows && slices.Contains(strings.Fields(standard), p.text) {
		p.fail("`%s' is a built-in function, it cannot be redefined", p.text)
	}
	if p.tok != tName && p.tok != tFuncName && !shadows {
		p.syntaxError()
	}
	if _, special := specials[p.text]; special {
		p.fail("error: function name `%s' previously defined", p.text)
	}
	f := p.funcNamed(p.qualify(p.text))
	if f.defined {
		p.fail("error: function name `%s' previously defined", p.text)
	}
	f.defined, f.pos = true, p.start
	p.next()
	p.expect(tLparen)
	p.skipNewlines()
	for p.tok != tRparen {
		if p.tok != tName && (p.tok != tBuiltin || p.posix) {
			p.syntaxError()
		}
		if i := slices.Index(f.params, p.text); i >= 0 {
			p.fail("error: function `%s': parameter #%d, `%s', duplicates parameter #%d", f.name, len(f.params)+1, p.text, i+1)
		}
		if p.qualify(p.text) == f.name {
			p.fail("error: function `%s': cannot use function name as parameter name", f.name)
		}
		if _, special := specials[p.text]; special {
			p.fail("error: function `%s': cannot use special variable `%s' as a function parameter", f.name, p.text)
		}
		f.params = append(f.params, p.text)
		p.next()
		p.skipNewlines()
		if p.tok == tComma {
			p.next()
			p.skipNewlines()
			if p.tok == tRparen {
				p.syntaxError()
			}
		} else if p.tok != tRparen {
			p.syntaxError()
		}
	}
	f.isArray, f.used = make([]bool, len(f.params)), make([]bool, len(f.params))
	p.next()
	p.skipNewlines()
	p.fn = f
	f.body = p.block()
	p.fn = nil
}

func (p *parser) funcNamed(name string) *function {
	f := p.funcs[name]
	if f == nil {
		f = &function{name: name}
		p.funcs[name] = f
		p.fnOrder = append(p.fnOrder, f)
	}
	return f
}

// regexLit checks the regular expression that is the current token.
func (p *parser) regexLit() *regexLit {
	if _, err := re.Compile(p.text, re.Options{Dialect: re.Awk}); err != nil {
		p.fail("error: %v: /%s/", err, p.text)
	}
	return &regexLit{node{1}, p.text}
}
