package awk

// expr is a node of the syntax tree that has a value.
type expr interface{ depth() int }

// node carries the height of the tree below it: the parser bounds it, and user
// functions are charged by it, so that no program overflows the Go stack.
type node struct{ h int }

func (n node) depth() int { return n.h }

func over(es ...expr) node {
	h := 0
	for _, e := range es {
		if e != nil {
			h = max(h, e.depth())
		}
	}
	return node{h + 1}
}

type (
	numLit struct {
		node
		v float64
	}
	strLit struct {
		node
		s     string
		regex bool // @/s/, a strongly typed regexp
	}
	// regexLit is /re/; as an expression of its own it means $0 ~ /re/.
	regexLit struct {
		node
		src string
	}
	// varRef is a name: scope and slot are filled in by the resolver.
	varRef struct {
		node
		name  string
		pos   int
		scope scope
		slot  int
		fn    *function // the function whose parameter it is
	}
	fieldRef struct {
		node
		idx expr
	}
	// indexRef is name[subs] or, nested, base[subs].
	indexRef struct {
		node
		arr  *varRef
		base *indexRef // for arrays of arrays; then arr is nil
		subs []expr
	}
	assign struct {
		node
		op   token // tAssign, tAddAssign …
		to   expr
		from expr
	}
	incdec struct {
		node
		to     expr
		delta  float64
		prefix bool
	}
	unary struct {
		node
		op token
		x  expr
	}
	binary struct {
		node
		op   token
		l, r expr
	}
	concat struct {
		node
		parts []expr
	}
	ternary struct {
		node
		c, t, f expr
	}
	inExpr struct {
		node
		subs []expr
		arr  expr // *varRef or *indexRef
	}
	group struct { // ( … ): hides > from print, keeps (a, b) lists
		node
		list []expr
	}
	call struct {
		node
		name  string
		pos   int
		fn    *function
		args  []expr
		dyn   *varRef // @name(…): the variable that holds the function's name
		param bool    // name is that of a parameter, too
	}
	builtinCall struct {
		node
		fn   builtin
		args []expr
		pos  int
	}
	getline struct {
		node
		kind getlineKind
		src  expr // file or command
		to   expr // nil: $0
	}
)

type getlineKind uint8

const (
	getMain getlineKind = iota
	getFile
	getCmd
	getCoproc
)

type scope uint8

const (
	scopeUnknown scope = iota
	scopeGlobal
	scopeLocal
	scopeSpecial
	scopeGlobalArray
	scopeLocalArray
)

type stmt interface{}

type (
	exprStmt  struct{ x expr }
	printStmt struct {
		printf bool
		args   []expr
		redir  token // 0, tGt, tAppend, tPipe, tPipeAmp
		dest   expr
	}
	ifStmt struct {
		cond      expr
		then, alt []stmt
		hasElse   bool
	}
	whileStmt struct {
		cond expr
		body []stmt
	}
	doStmt struct {
		body []stmt
		cond expr
	}
	forStmt struct {
		init stmt
		cond expr
		post stmt
		body []stmt
	}
	forInStmt struct {
		v    expr
		arr  expr
		body []stmt
	}
	switchStmt struct {
		x     expr
		cases []switchCase
	}
	blockStmt    struct{ body []stmt }
	breakStmt    struct{}
	continueStmt struct{}
	nextStmt     struct{}
	nextFileStmt struct{}
	exitStmt     struct{ status expr }
	returnStmt   struct{ x expr }
	deleteStmt   struct {
		arr  expr // *varRef (all) or *indexRef
		subs []expr
	}
)

type switchCase struct {
	x         expr // numLit, strLit, regexLit; nil for default
	isDefault bool
	body      []stmt
}

type ruleKind uint8

const (
	ruleMain ruleKind = iota
	ruleBegin
	ruleEnd
	ruleBeginFile
	ruleEndFile
)

type rule struct {
	kind    ruleKind
	pattern expr // nil: every record
	to      expr // the end of a range
	body    []stmt
	noBody  bool // print $0
}

type function struct {
	name    string
	params  []string
	isArray []bool // by parameter
	used    []bool // whether the kind of the parameter is known
	body    []stmt
	pos     int
	defined bool
	weight  int // what a call costs of the stack
	code    block
}
