package shell

import (
	"github.com/pgbox/pgbox/gateway/shell/text/arith"
	"mvdan.cc/sh/v3/syntax"
)

// program is a parsed script: lines of statements, and the syntax error that ends it, if any.
// Like everything in this file it is immutable once made, so that subshells share it.
type program struct {
	groups   [][]*stmt // statements that are parsed before any of them runs (bash reads whole lines)
	src      string    // as it came
	warnings []string  // said before anything runs
	starts   []int     // first line of each group
	ends     []int     // last line of each group
	lines    int       // before the text
	gen      int       // of what decides how texts are read
	err      *syntaxError
}

type stmt struct {
	line       int
	negated    bool
	background bool
	newline    bool    // ends the statement
	cmd        command // nil: redirections only
	redirs     []*redirect
	src        string
}

type command interface{}

type simpleCmd struct {
	assigns []*assign
	args    []*word
	decl    []*assign // operands of declare, export, local, readonly, typeset
	isDecl  bool
	line    int
}

type pipeline struct {
	stmts []*stmt
	all   []bool // stage i also pipes its stderr
}

type andOr struct {
	stmts []*stmt
	or    []bool // operator after stmts[i]
}

type block struct{ stmts []*stmt }

type subshell struct{ stmts []*stmt }

type ifCmd struct {
	cond, then []*stmt
	other      *ifCmd // elif, or else when cond is nil
}

type whileCmd struct {
	until    bool
	cond, do []*stmt
}

type forCmd struct {
	name    string
	in      bool
	words   []*word
	do      []*stmt
	selects bool
	line    int
}

type forArith struct {
	init, cond, post *arithText
	do               []*stmt
	line             int
}

type caseCmd struct {
	word  *word
	items []caseItem
	line  int
}

type caseItem struct {
	patterns []*word
	stmts    []*stmt
	op       syntax.CaseOperator
}

type funcDecl struct {
	name string
	body *stmt
	src  string
	line int
}

type arithCmd struct {
	x    *arithText
	line int
}

type testCmd struct {
	x    testExpr
	line int
}

type timeCmd struct {
	posix bool
	st    *stmt
}

type coprocCmd struct {
	name string
	st   *stmt
	line int
}

type testExpr interface{}

type testBinary struct {
	op   string
	x, y *word
}

type testUnary struct {
	op string
	x  *word
}

type testLogic struct {
	op   string // "&&", "||", "!"
	x, y testExpr
}

type testParen struct{ x testExpr }

type redirect struct {
	fd      int    // -1: the operator's own
	varName string // {name}>
	varSub  string
	op      syntax.RedirOperator
	word    *word
	heredoc *word
	quoted  bool // here-document without expansion
	strip   bool // <<-
	line    int
}

type assign struct {
	name  string
	sub   *subscript
	add   bool
	naked bool  // operand of declare without '='
	val   *word // may be nil
	arr   *arrayLit
	line  int
}

type arrayLit struct{ elems []arrayElem }

type arrayElem struct {
	sub *subscript
	add bool // [sub]+=
	val *word
}

// subscript is the text between the brackets of an array reference.
type subscript struct {
	text  string
	all   byte   // '@' or '*'
	parts []part // nil when there is nothing to expand
	lit   string // the text without quotes, when parts is nil
	expr  *arith.Expr
	err   error
	index *arithText // as an index, in which such quotes stay; nil when that makes no difference
}

// arithText is an arithmetic expression as written.
type arithText struct {
	text  string
	parts []part // nil when there is nothing to expand
	expr  *arith.Expr
	err   error
}

type word struct {
	src   string
	parts []part
	lit   string
	isLit bool // no expansion applies: the value is lit
	brace bool // holds an unquoted brace expansion
}

type part interface{}

// litPart is unquoted text; its pattern characters are active.
type litPart struct{ s string }

// quotedPart is text whose every character is literal.
type quotedPart struct{ s string }

type dqPart struct{ parts []part }

type tildePart struct {
	user  string
	loose bool // in a word that only looks like an assignment: POSIX mode leaves it
}

type paramPart struct {
	name   string
	sub    *subscript
	excl   bool
	length bool
	names  byte // ${!prefix*} or ${!prefix@}
	op     syntax.ParExpOperator
	hasOp  bool
	arg    *word
	toggle int // 1 for ${x~}, 2 for ${x~~}
	slice  bool
	off    *arithText
	len    *arithText
	repl   bool
	all    bool // ${x//…}
	anchor byte // '#' or '%'
	orig   *word
	with   *word
	src    string
	line   int
}

type cmdPart struct {
	stmts  []*stmt
	prog   *program // backquotes: parsed on their own
	line   int
	placed bool // lines of the commands begin with 1
	height int  // lines that bash's print of it has more than one
}

type arithPart struct{ x *arithText }

type procPart struct {
	in     bool // <( )
	stmts  []*stmt
	placed bool // as of cmdPart
	height int
}

// badPart is a ${…} that bash reports only when it is expanded.
type badPart struct{ src string }

// funcDef is a defined function.
type funcDef struct {
	name     string
	body     *stmt
	source   string // BASH_SOURCE of its definition
	line     int
	shift    int // of the lines of the body
	exported bool
	traced   bool // inherits the traps on DEBUG and RETURN
	src      string
}

// ---- conversion helpers shared by the compiler and the printer ----

func isName(s string) bool {
	if s == "" {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' || i > 0 && '0' <= c && c <= '9') {
			return false
		}
	}
	return true
}
