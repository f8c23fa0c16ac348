package jq

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/itchyny/gojq"
)

// Program is a parsed and checked query.
type Program struct {
	query *gojq.Query
	env   *env // of the global variables and imports
}

// A CompileError is why a program cannot run.
type CompileError struct{ Problems []string }

func (e *CompileError) Error() string { return strings.Join(e.Problems, "\n") }

func failCompile(problem string) error { return &CompileError{[]string{problem}} }

// topLevelSource is the source that is no module, in messages.
const topLevelSource = "<top-level>"

// located adds to a problem the line of src that it is on, and jq's blanks up to where it begins.
func located(problem, file, src string, at int) string {
	line := strings.LastIndexByte(src[:at], '\n') + 1
	text, _, _ := strings.Cut(src[line:], "\n")
	return fmt.Sprintf("%s at %s, line %d:\n%s%s", problem, file, 1+strings.Count(src[:at], "\n"), text, strings.Repeat(" ", at-line))
}

const (
	maxSource  = 1 << 20
	maxBracket = 1000
)

// Compile parses src. names and vals are the global variables, with their $; modules, which may be nil, is where imports are found.
func Compile(src string, names []string, vals []any, modules *Modules) (*Program, error) {
	q, err := parse(src, topLevelSource)
	if err != nil {
		return nil, err
	}
	var e *env
	for i, n := range names {
		e = e.bind(n, vals[i])
	}
	if e, err = modules.startup(e); err != nil {
		return nil, err
	}
	dir := ""
	if modules != nil {
		dir = modules.Dir
	}
	if e, err = modules.load(e, q, dir); err != nil {
		return nil, err
	}
	c := &checker{src: src}
	c.query(e, q)
	if len(c.problems) > 0 {
		return nil, &CompileError{c.problems}
	}
	return &Program{q, e}, nil
}

// parse parses the text of a program, or of the module in a file.
func parse(src, file string) (*gojq.Query, error) {
	if len(src) > maxSource {
		return nil, failCompile("program too long")
	}
	if nesting(src) > maxBracket {
		return nil, failCompile("program nested too deeply")
	}
	if strings.TrimSpace(stripComments(src)) == "" {
		if file != topLevelSource {
			return &gojq.Query{}, nil
		}
		src = "."
	}
	q, err := gojq.Parse(src)
	if err != nil {
		return nil, failCompile(syntaxError(file, src, err))
	}
	return q, nil
}

// stripComments is only good enough to see whether anything else is there.
func stripComments(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(strings.TrimSpace(l), "#") {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

// nesting bounds how deep the parser can recurse: brackets, and operators that nest to the right.
func nesting(src string) int {
	depth, most, run := 0, 0, 0
	for i := range len(src) {
		switch src[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '-':
			run++
			most = max(most, run)
			continue
		}
		if src[i] != ' ' {
			run = 0
		}
		most = max(most, depth)
	}
	for _, w := range []string{"if", "try", "reduce", "foreach", "label", "def", "as"} {
		if n := strings.Count(src, w); n > 50*maxBracket {
			most = max(most, n)
		}
	}
	return most
}

// syntaxError words an error of the parser.
func syntaxError(file, src string, err error) string {
	what, at := "unexpected INVALID_CHARACTER", len(src)
	var pe *gojq.ParseError
	if errors.As(err, &pe) {
		at = min(max(pe.Offset-len(pe.Token), 0), len(src))
		switch c := pe.Token; {
		case c == "" && pe.Offset >= len(src):
			what, at = "unexpected $end", lastLexeme(src)
		case c == "" || strings.ContainsAny(c, ")]}@") && topLevel(src[:at]):
		case c[0] == '"':
			what = "unexpected QQSTRING_START"
		case c[0] >= '0' && c[0] <= '9':
			what = "unexpected LITERAL"
		case c[0] == '.' && len(c) > 1:
			what = "unexpected FIELD"
		case keywords[c]:
			what = "unexpected " + c
		case c[0] == '$' || c[0] == '_' || c[0]|0x20 >= 'a' && c[0]|0x20 <= 'z':
			what = "unexpected IDENT"
		default:
			what = "unexpected '" + c + "'"
		}
	}
	if !strings.HasSuffix(what, "$end") && topLevel(src[:at]) {
		what += ", expecting $end"
	}
	return located("syntax error, "+what+" (Unix shell quoting issues?)", file, src, at)
}

var keywords = map[string]bool{"and": true, "as": true, "catch": true, "def": true, "elif": true, "else": true, "end": true, "foreach": true,
	"if": true, "import": true, "include": true, "label": true, "or": true, "reduce": true, "then": true, "try": true}

// topLevel reports whether nothing is open at the end of src.
func topLevel(src string) bool {
	depth := 0
	eachWord(src, func(word string, _ int) {
		switch word {
		case "(", "[", "{", "if", "reduce", "foreach", "def":
			depth++
		case ")", "]", "}", "end":
			depth--
		}
	})
	return depth <= 0
}

// lastLexeme is where the last token of src, or the white space after it, begins.
func lastLexeme(src string) int {
	if t := strings.TrimRight(src, " \t\n"); len(t) < len(src) {
		return len(t)
	}
	last := 0
	eachWord(src, func(_ string, at int) { last = at })
	return last
}

// eachWord calls f for the names and single characters of a program; strings and comments are left out, what is interpolated is not.
func eachWord(src string, f func(word string, at int)) {
	var interpolated []int // parentheses open in each interpolation
	text := func(i int) int {
		for ; i < len(src) && src[i] != '"'; i++ {
			if src[i] == '\\' {
				if i++; i < len(src) && src[i] == '(' {
					interpolated = append(interpolated, 1)
					return i
				}
			}
		}
		return i
	}
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case c == '#':
			for i < len(src) && src[i] != '\n' {
				i++
			}
		case c == '"':
			f("\"", i)
			i = text(i + 1)
		case c == '_' || c == '$' || c == '@' || c|0x20 >= 'a' && c|0x20 <= 'z':
			from := i
			for i+1 < len(src) {
				if strings.HasPrefix(src[i+1:], "::") {
					i++
				} else if src[i+1] != '_' && !isNameByte(src[i+1]) {
					break
				}
				i++
			}
			f(src[from:i+1], from)
		case c == ' ' || c == '\n' || c == '\t':
		default:
			f(src[i:i+1], i)
			if n := len(interpolated) - 1; n >= 0 {
				if c == '(' {
					interpolated[n]++
				} else if c == ')' {
					if interpolated[n]--; interpolated[n] == 0 {
						interpolated = interpolated[:n]
						i = text(i + 1)
					}
				}
			}
		}
	}
}

func isNameByte(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// checker finds names that nothing defines.
type checker struct {
	src      string
	problems []string
	seen     map[string]int // how many of a name have been complained about
}

// undefined says that nothing defines word; what is its name with its arguments.
func (c *checker) undefined(what, word string) {
	if c.seen == nil {
		c.seen = map[string]int{}
	}
	c.seen[what]++
	n, found := c.seen[what], 0
	eachWord(c.src, func(w string, at int) {
		if w == word && n > 0 {
			n--
			found = at
		}
	})
	c.problems = append(c.problems, located(what+" is not defined", topLevelSource, c.src, found))
}

func (c *checker) query(e *env, q *gojq.Query) {
	if q == nil {
		return
	}
	for _, fd := range q.FuncDefs {
		e = c.define(e, fd)
	}
	c.term(e, q.Term)
	if q.Op == gojq.OpDiv && isNumber(q.Left) && isNumber(q.Right) {
		if f, _ := parseNumber(q.Right.Term.Number); f == 0 {
			c.problems = append(c.problems, located("Division by zero?", topLevelSource, c.src, 0))
		}
	}
	c.query(e, q.Left)
	for _, n := range patternVars(q.Patterns, nil) {
		e = e.bind(n, nil)
	}
	c.patterns(e, q.Patterns)
	c.query(e, q.Right)
}

func isNumber(q *gojq.Query) bool {
	return q.Term != nil && q.Term.Type == gojq.TermTypeNumber && len(q.Term.SuffixList) == 0
}

func (c *checker) define(e *env, fd *gojq.FuncDef) *env {
	e = &env{up: e, name: fd.Name, kind: bindFunc, args: len(fd.Args)}
	in := e
	for _, a := range fd.Args {
		if a[0] == '$' {
			in = in.bind(a, nil)
			a = a[1:]
		}
		in = &env{up: in, name: a, kind: bindClosure}
	}
	c.query(in, fd.Body)
	return e
}

func (c *checker) patterns(e *env, ps []*gojq.Pattern) {
	for _, p := range ps {
		c.patterns(e, p.Array)
		for _, o := range p.Object {
			c.str(e, o.KeyString)
			c.query(e, o.KeyQuery)
			if o.Val != nil {
				c.patterns(e, []*gojq.Pattern{o.Val})
			}
		}
	}
}

func (c *checker) str(e *env, s *gojq.String) {
	if s != nil {
		for _, q := range s.Queries {
			c.query(e, q)
		}
	}
}

func (c *checker) indexes(e *env, ix *gojq.Index) {
	if ix != nil {
		c.str(e, ix.Str)
		c.query(e, ix.Start)
		c.query(e, ix.End)
	}
}

func (c *checker) name(e *env, name string, args int) {
	for s := e; s != nil; s = s.up {
		if s.name == name && (s.kind == bindVar || s.args == args) {
			return
		}
	}
	if name[0] == '$' {
		if name != "$ENV" && name != "$__loc__" {
			c.undefined(name, name)
		}
		return
	}
	k := key{name, args}
	if _, ok := natives[k]; ok {
		return
	}
	if _, ok := library()[k]; !ok {
		c.undefined(fmt.Sprintf("%s/%d", name, args), name)
	}
}

func (c *checker) term(e *env, t *gojq.Term) {
	if t == nil {
		return
	}
	c.indexes(e, t.Index)
	if t.Func != nil {
		c.name(e, t.Func.Name, len(t.Func.Args))
		for _, a := range t.Func.Args {
			c.query(e, a)
		}
	}
	if t.Object != nil {
		for _, kv := range t.Object.KeyVals {
			if kv.Key != "" && kv.Key[0] == '$' {
				c.name(e, kv.Key, 0)
			}
			c.str(e, kv.KeyString)
			c.query(e, kv.KeyQuery)
			c.query(e, kv.Val)
		}
	}
	if t.Array != nil {
		c.query(e, t.Array.Query)
	}
	if t.Unary != nil {
		c.term(e, t.Unary.Term)
	}
	c.str(e, t.Str)
	if t.If != nil {
		c.query(e, t.If.Cond)
		c.query(e, t.If.Then)
		for _, x := range t.If.Elif {
			c.query(e, x.Cond)
			c.query(e, x.Then)
		}
		c.query(e, t.If.Else)
	}
	if t.Try != nil {
		c.query(e, t.Try.Body)
		c.query(e, t.Try.Catch)
	}
	if r := t.Reduce; r != nil {
		c.query(e, r.Query)
		c.query(e, r.Start)
		c.patterns(e, r.Patterns)
		in := e
		for _, n := range patternVars(r.Patterns, nil) {
			in = in.bind(n, nil)
		}
		c.query(in, r.Update)
	}
	if f := t.Foreach; f != nil {
		c.query(e, f.Query)
		c.query(e, f.Start)
		c.patterns(e, f.Patterns)
		in := e
		for _, n := range patternVars(f.Patterns, nil) {
			in = in.bind(n, nil)
		}
		c.query(in, f.Update)
		c.query(in, f.Extract)
	}
	if t.Label != nil {
		c.query(&env{up: e, name: "*" + t.Label.Ident, kind: bindLabel}, t.Label.Body)
	}
	if t.Break != "" {
		found := false
		for s := e; s != nil; s = s.up {
			found = found || s.kind == bindLabel && s.name == "*"+t.Break
		}
		if !found {
			c.undefined("$*label-"+strings.TrimPrefix(t.Break, "$"), "break")
		}
	}
	c.query(e, t.Query)
	for _, s := range t.SuffixList {
		c.indexes(e, s.Index)
	}
}

type key struct {
	name string
	args int
}

// library is the part of the built-in functions that is written in jq itself.
var library = sync.OnceValue(func() map[key]*gojq.FuncDef {
	q, err := gojq.Parse(librarySource + " .")
	if err != nil {
		panic(err)
	}
	m := map[key]*gojq.FuncDef{}
	for _, fd := range q.FuncDefs {
		m[key{fd.Name, len(fd.Args)}] = fd
	}
	return m
})

const librarySource = `
def map(f): [.[] | f];
def select(f): if f then . else empty end;
def values: select(. != null);
def nulls: select(. == null);
def booleans: select(type == "boolean");
def numbers: select(type == "number");
def strings: select(type == "string");
def arrays: select(type == "array");
def objects: select(type == "object");
def iterables: select(type|. == "array" or . == "object");
def scalars: select(type|. != "array" and . != "object");
def finites: select(type == "number" and (isinfinite or isnan | not));
def _nwise(a): def n: if length <= a then . else .[0:a], (.[a:] | n) end; n;
def normals: select(isnormal);
def map_values(f): .[] |= f;
def recurse(f): def r: ., (f | r); r;
def recurse(f; cond): def r: ., (f | select(cond) | r); r;
def recurse_down: recurse;
def to_entries: [keys_unsorted[] as $k | {key: $k, value: .[$k]}];
def from_entries: reduce .[] as $x ({}; . + (($x | .key // .k // .name // .Name // .K // .Key) as $k
  | if ($k | type) == "string" then {($k): ($x | if has("value") then .value elif has("v") then .v else .Value end)}
    else error("Cannot use \($k | type) (\($k | tojson)) as object key") end));
def with_entries(f): to_entries | map(f) | from_entries;
def add(f): reduce f as $x (null; . + $x);
def del(f): delpaths([path(f)]);
def paths: path(..) | select(length > 0);
def paths(node_filter): . as $dot | paths | select(. as $p | $dot | getpath($p) | node_filter);
def leaf_paths: paths(scalars);
def pick(pathexps): . as $top | reduce path(pathexps) as $p (null; setpath($p; $top | getpath($p)));
def any(f): any(.[]; f);
def all(f): all(.[]; f);
def in(xs): . as $x | xs | has($x);
def inside(xs): . as $x | xs | contains($x);
def todate: strftime("%Y-%m-%dT%H:%M:%SZ");
def fromdateiso8601: strptime("%Y-%m-%dT%H:%M:%SZ") | mktime;
def todateiso8601: strftime("%Y-%m-%dT%H:%M:%SZ");
def fromdate: fromdateiso8601;
def date: todate;
def dateadd(u; n): . + n;
def datesub(u; n): . - n;
def combinations: if length == 0 then [] else .[0][] as $x | (.[1:] | combinations) as $w | [$x] + $w end;
def combinations(n): . as $dot | [range(n)] | map($dot) | combinations;
def walk(f): . as $in | if type == "object" then reduce keys_unsorted[] as $key ({}; . + {($key): ($in[$key] | walk(f))}) | f elif type == "array" then map(walk(f)) | f else f end;
def env: $ENV;
def while(cond; update): def _while: if cond then ., (update | _while) else empty end; _while;
def repeat(f): def _repeat: f, _repeat; _repeat;
def isfinite: type == "number" and (isinfinite | not);
def scalars_or_empty: select(type | . != "array" and . != "object"), select((type | . == "array" or . == "object") and length == 0);
def JOIN($idx; idx_expr): [.[] | [., $idx[idx_expr]]];
def JOIN($idx; stream; idx_expr): stream | [., $idx[idx_expr]];
def JOIN($idx; stream; idx_expr; join_expr): stream | [., $idx[idx_expr]] | join_expr;
def pow10: exp10;
def ascii: [.] | implode;
def inputs: def r: (try input catch (if . == "break" then {__none: true} else error end)) | if type == "object" and has("__none") then empty else (., r) end; r;
def tostream: path(def r: (.[]?|r), .; r) as $p | getpath($p) | reduce path(.[]?) as $q ([$p, .]; [$p + $q]);
def fromstream(f): {x: null, e: false, s: false} as $init | foreach f as $i ($init; if .e then $init else . end | if $i | length == 2 then .s = true | .e = ($i[0] | length == 0) | setpath(["x"] + $i[0]; $i[1]) else .e = (.s and ($i[0] | length == 1)) end; if .e then .x else empty end);
def truncate_stream(stream): . as $n | null | stream | . as $input | if (.[0] | length) > $n then setpath([0]; .[0][$n:]) else empty end;
def match(re): match(re; null);
def test(re): test(re; null);
def capture(re): capture(re; null);
def capture(re; flags): match(re; flags) | [.captures | .[] | select(.name != null) | {key: .name, value: .string}] | from_entries;
def scan(re): scan(re; null);
def scan(re; flags): match(re; (flags // "") + "g") | if (.captures | length) > 0 then [.captures | .[] | .string] else .string end;
def splits($re): splits($re; null);
def splits($re; flags): split($re; flags) | .[];
def sub(re; str): sub(re; str; "");
def gsub(re; str): sub(re; str; "g");
def gsub(re; str; flags): sub(re; str; flags + "g");
def sub($re; str; $flags): . as $in | (reduce (_edits($re; $flags)[] | . as $edit | ($edit.captures | map(select(.name != null) | {key: .name, value: .string}) | from_entries)  as $c | {e: $edit, s: [$c | str]}) as $m ({r: [""], p: 0}; .p as $p | {r: [$m.s[] as $s | .r[] as $a | $a + $in[$p:$m.e.offset] + $s], p: ($m.e.offset + $m.e.length)}) | .p as $p | .r[] + $in[$p:]) // $in;
def IN(s): any(s == .; .);
def IN(src; s): any(src == s; .);
def INDEX(stream; idx_expr): reduce stream as $row ({}; .[$row | idx_expr | tostring] |= $row);
def INDEX(idx_expr): INDEX(.[]; idx_expr);
def halt_error: halt_error(5);
def debug(f): (f | debug | empty), .;
def have_literal_numbers: true;
def have_decnum: false;
def abs: if type == "number" and . < 0 then -. else . end;
def skip($n; f): if $n > 0 then foreach f as $x ($n; . - 1; if . < 0 then $x else empty end) else f end;
def trimstr($s): ltrimstr($s) | rtrimstr($s);
def toarray: if type == "array" then . else [.] end;
def error(f): f as $x | $x | error;
`
