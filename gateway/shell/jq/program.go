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
	vars  []binding
	src   string
}

type binding struct {
	name string
	val  any
}

// A CompileError is why a program cannot run.
type CompileError struct{ Msg string }

func (e *CompileError) Error() string { return e.Msg }

const (
	maxSource  = 1 << 20
	maxBracket = 1000
)

// Compile parses src; vars are the global variables, with their $.
func Compile(src string, names []string, vals []any) (*Program, error) {
	if len(src) > maxSource {
		return nil, &CompileError{"program too long"}
	}
	if nesting(src) > maxBracket {
		return nil, &CompileError{"program nested too deeply"}
	}
	p := &Program{src: src}
	if strings.TrimSpace(stripComments(src)) == "" {
		src = "."
	}
	q, err := gojq.Parse(src)
	if err != nil {
		what := "unexpected INVALID_CHARACTER"
		var pe *gojq.ParseError
		if errors.As(err, &pe) {
			switch c := pe.Token; {
			case c == "" && pe.Offset >= len(src):
				what = "unexpected $end"
			case c == "":
			case c[0] == '$' || c[0] >= 'a' && c[0] <= 'z' || c[0] >= 'A' && c[0] <= 'Z' || c[0] == '_':
				what = "unexpected IDENT"
			default:
				what = "unexpected '" + c + "'"
			}
		}
		return nil, &CompileError{fmt.Sprintf("syntax error, %s (Unix shell quoting issues?) at <top-level>, line 1:\n%s", what, p.src)}
	}
	p.query = q
	for i, n := range names {
		p.vars = append(p.vars, binding{n, vals[i]})
	}
	c := &checker{src: p.src}
	var e *env
	for _, b := range p.vars {
		e = e.bind(b.name, nil)
	}
	if len(q.Imports) > 0 {
		return nil, &CompileError{"modules are not supported"}
	}
	c.query(e, q)
	if c.err != nil {
		return nil, c.err
	}
	return p, nil
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

func (p *Program) env(_ *Machine) *env {
	var e *env
	for _, b := range p.vars {
		e = e.bind(b.name, b.val)
	}
	return e
}

// checker finds names that nothing defines.
type checker struct {
	src string
	err error
}

func (c *checker) undefined(what string) {
	if c.err == nil {
		c.err = &CompileError{fmt.Sprintf("%s is not defined at <top-level>, line 1:\n%s", what, c.src)}
	}
}

func (c *checker) query(e *env, q *gojq.Query) {
	if q == nil {
		return
	}
	for _, fd := range q.FuncDefs {
		e = c.define(e, fd)
	}
	c.term(e, q.Term)
	if q.Op == gojq.OpDiv && isNumber(q.Left) && isNumber(q.Right) && c.err == nil {
		if f, _ := parseNumber(q.Right.Term.Number); f == 0 {
			c.err = &CompileError{"Division by zero? at <top-level>, line 1:\n" + c.src}
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
			c.undefined(name)
		}
		return
	}
	k := key{name, args}
	if _, ok := natives[k]; ok {
		return
	}
	if _, ok := library()[k]; !ok {
		c.undefined(fmt.Sprintf("%s/%d", name, args))
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
	if t.Format != "" {
		if _, err := format(t.Format, ""); err != nil && c.err == nil && !knownFormat(t.Format) {
			c.err = &CompileError{fmt.Sprintf("%s is not a valid format at <top-level>, line 1:\n%s", strings.TrimPrefix(t.Format, "@"), c.src)}
		}
	}
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
			c.undefined("$*label-" + t.Break)
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
def finites: select(isinfinite or isnan | not);
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
def repeat(f): def _repeat: ., (f | _repeat); _repeat;
def inputs: def r: (try input catch (if . == "break" then {__none: true} else error end)) | if type == "object" and has("__none") then empty else (., r) end; r;
def tostream: path(def r: (.[]?|r), .; r) as $p | getpath($p) | reduce path(.[]?) as $q ([$p, .]; [$p + $q]);
def fromstream(f): {x: null, e: false} as $init | foreach f as $i ($init; if .e then $init else . end | if $i | length == 2 then setpath(["e"]; $i[0] | length == 0) | setpath(["x"] + $i[0]; $i[1]) else setpath(["e"]; $i[0] | length == 1) end; if .e then .x else empty end);
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
def sub($re; str; $flags): . as $in | (reduce (match($re; $flags) | . as $edit | ($edit.captures | map(select(.name != null) | {key: .name, value: .string}) | from_entries)  as $c | {e: $edit, s: [$c | str]}) as $m ({r: [""], p: 0}; .p as $p | {r: [.r[] as $a | $m.s[] as $s | $a + $in[$p:$m.e.offset] + $s], p: ($m.e.offset + $m.e.length)}) | .p as $p | .r[] + $in[$p:]) // $in;
def IN(s): any(s == .; .);
def IN(src; s): any(src == s; .);
def INDEX(stream; idx_expr): reduce stream as $row ({}; .[$row | idx_expr | tostring] |= $row);
def INDEX(idx_expr): INDEX(.[]; idx_expr);
def halt_error: halt_error(5);
def debug(f): (f | debug | empty), .;
def have_literal_numbers: true;
def have_decnum: false;
def abs: if type == "number" and . < 0 then -. else . end;
def toarray: if type == "array" then . else [.] end;
def error(f): f as $x | $x | error;
`
