package jq

import "sync"

// library is the part of the built-in functions that is written in jq itself.
type library struct{ defs map[key]*libDef }

type libDef struct {
	def    *funcDef
	fn     *fn
	inline bool // its body is compiled into the caller
	order  int
}

const librarySource = "<builtin>"

var builtins = sync.OnceValue(func() *library {
	s, err := parse(libraryText, librarySource, false, free)
	if err != nil {
		panic(err)
	}
	lib := &library{defs: map[key]*libDef{}}
	for i, def := range s.defs {
		lib.defs[key{def.name, len(def.params)}] = &libDef{def: def, fn: &fn{name: def.name, nregs: 1},
			inline: inlinable(def), order: i}
	}
	for i, def := range s.defs {
		d := lib.defs[key{def.name, len(def.params)}]
		c := &compiler{src: s, meter: free, lib: lib, limit: i}
		c.function(c.context(nil, d.fn), nil, def)
		if len(c.problems) > 0 {
			panic(c.problems[0])
		}
	}
	return lib
})

// inlinable reports whether to compile the body in place makes it neither longer nor endless: no functions inside, no
// argument used twice.
func inlinable(def *funcDef) bool {
	uses := map[string]int{}
	ok := true
	var visit func(n *node)
	visit = func(n *node) {
		if n == nil {
			return
		}
		if n.op == nCall {
			uses[n.s]++
			ok = ok && (n.s != def.name || len(n.list) != len(def.params))
		}
		ok = ok && n.op != nDef
		for _, x := range []*node{n.a, n.b, n.c, n.d} {
			visit(x)
		}
		for _, x := range n.list {
			visit(x)
		}
	}
	visit(def.body)
	for _, p := range def.params {
		ok = ok && uses[p] <= 1 && (p[0] != '$' || uses[p[1:]] == 0)
	}
	return ok
}

// libraryText is sorted such that functions come after the ones that are compiled into them.
const libraryText = `
def halt_error: halt_error(5);
def map(f): [.[] | f];
def select(f): if f then . else empty end;
def recurse(f): def r: ., (f | r); r;
def recurse(f; cond): def r: ., (f | select(cond) | r); r;
def recurse_down: recurse;
def values: select(. != null);
def nulls: select(. == null);
def booleans: select(type == "boolean");
def numbers: select(type == "number");
def strings: select(type == "string");
def arrays: select(type == "array");
def objects: select(type == "object");
def iterables: select(type|. == "array" or . == "object");
def scalars: select(type|. != "array" and . != "object");
def isfinite: type == "number" and (isinfinite | not);
def finites: select(isfinite);
def normals: select(isnormal);
def sort_by(f): _sort_by(map([f]));
def group_by(f): _group_by(map([f]));
def unique_by(f): _unique_by(map([f]));
def min_by(f): _min_by(map([f]));
def max_by(f): _max_by(map([f]));
def add(f): reduce f as $x (null; . + $x);
def del(f): delpaths([path(f)]);
def _assign(paths; $value): reduce path(paths) as $p (.; setpath($p; $value));
def _modify(paths; update):
  reduce path(paths) as $p ([., []];
    . as $state
    | label $found
    | (($state[0] | getpath($p) | update) as $new | $state | setpath([0] + $p; $new) | ., break $found),
      ($state | setpath([1, (.[1] | length)]; $p)))
  | . as $state | $state[0] | delpaths($state[1]);
def map_values(f): .[] |= f;
def first: .[0];
def last: .[-1];
def nth($n): .[$n];
def first(f): label $done | (f | ., break $done);
def limit($n; f):
  if $n > 0 then label $done | foreach f as $x (0; . + 1; $x, if . >= $n then break $done else empty end)
  elif $n == 0 then empty
  else error("limit doesn't support negative count") end;
def skip($n; f):
  if $n > 0 then foreach f as $x ($n + 1; if . > 0 then . - 1 else . end; if . == 0 then $x else empty end)
  elif $n == 0 then f
  else error("skip doesn't support negative count") end;
def last(f): reduce f as $x ([]; [$x]) | .[];
def nth($n; f):
  if $n < 0 then error("nth doesn't support negative indices") else first(skip($n; f)) end;
def isempty(f): label $done | ((f | false, break $done), true);
def any(g; cond): isempty(first(g | cond | select(.))) | not;
def all(g; cond): isempty(first(g | cond | select(. | not)));
def any(cond): any(.[]; cond);
def all(cond): all(.[]; cond);
def until(cond; update): def u: if cond then . else update | u end; u;
def while(cond; update): def w: if cond then ., (update | w) else empty end; w;
def repeat(f): def r: f, r; r;
def inputs: def r: (try input catch if . == "break" then empty else error end) | (., r); r;
def from_entries: reduce .[] as $x ({};
  . + { ($x | .key // .Key // .name // .Name // .k // .K):
    ($x | if has("value") then .value elif has("v") then .v else .Value end) });
def with_entries(f): to_entries | map(f) | from_entries;
def paths: path(..) | select(length > 0);
def paths(node_filter): path(.. | select(node_filter)) | select(length > 0);
def leaf_paths: paths(scalars);
def pick(pathexps): . as $top | reduce path(pathexps) as $p (null; setpath($p; $top | getpath($p)));
def in(xs): . as $x | xs | has($x);
def inside(xs): . as $x | xs | contains($x);
def combinations: if length == 0 then [] else .[0][] as $x | (.[1:] | combinations) as $rest | [$x] + $rest end;
def combinations(n): . as $dot | [range(n) | $dot] | combinations;
def walk(f): def w: if type == "object" then map_values(w) elif type == "array" then map(w) else . end | f; w;
def env: $ENV;
def todate: strftime("%Y-%m-%dT%H:%M:%SZ");
def fromdateiso8601: strptime("%Y-%m-%dT%H:%M:%SZ") | mktime;
def todateiso8601: strftime("%Y-%m-%dT%H:%M:%SZ");
def fromdate: fromdateiso8601;
def date: todate;
def dateadd(u; n): . + n;
def datesub(u; n): . - n;
def match($re; $flags): _match($re; $flags; false) | .[];
def match($re): _match($re; null; false) | .[];
def test($re; $flags): _match($re; $flags; true);
def test($re): _match($re; null; true);
def _captured: reduce (.captures[] | select(.name != null)) as $c ({}; . + {($c.name): $c.string});
def capture($re; $flags): match($re; $flags) | _captured;
def capture($re): match($re) | _captured;
def _found: if .captures | length > 0 then [.captures[].string] else .string end;
def scan($re; $flags): match($re; "g" + $flags) | _found;
def scan($re): match($re; "g") | _found;
def splits($re; $flags): split($re; $flags) | .[];
def splits($re): split($re; null) | .[];
def sub($re; str; $flags): . as $in
  | [match($re; $flags) | . as $m | [$m.offset, $m.length, [$m | _captured | str]]] | _splice($in) | .[];
def sub($re; str): sub($re; str; "");
def gsub($re; str; $flags): sub($re; str; $flags + "g");
def gsub($re; str): sub($re; str; "g");
def debug(msgs): (msgs | debug | empty), .;
def tostream: path(def r: (.[]?|r), .; r) as $p | getpath($p) | reduce path(.[]?) as $q ([$p, .]; [$p + $q]);
def fromstream(f): {x: null, e: false} as $init
  | foreach f as $i ($init;
      if .e then $init else . end
      | if $i | length == 2
        then setpath(["e"]; $i[0] | length == 0) | setpath(["x"] + $i[0]; $i[1])
        else setpath(["e"]; $i[0] | length == 1) end;
      if .e then .x else empty end);
def truncate_stream(stream): . as $n | null | stream | . as $input
  | if (.[0] | length) > $n then setpath([0]; $input[0][$n:]) else empty end;
def INDEX(stream; idx_expr): reduce stream as $row ({}; .[$row | idx_expr | tostring] = $row);
def INDEX(idx_expr): INDEX(.[]; idx_expr);
def IN(s): any(s == .; .);
def IN(src; s): any(src == s; .);
def JOIN($idx; idx_expr): [.[] | [., $idx[idx_expr]]];
def JOIN($idx; stream; idx_expr): stream | [., $idx[idx_expr]];
def JOIN($idx; stream; idx_expr; join_expr): stream | [., $idx[idx_expr]] | join_expr;
`
