// The bounds of these tests are wall-clock times, and the race detector makes everything ten times slower: they run
// without it.

//go:build !race

package shell_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell"
	"github.com/pgbox/pgbox/gateway/shell/casetest"
	"github.com/pgbox/pgbox/gateway/shell/command"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

var errStop = errors.New("stopped by the test")

// prompt is how soon the end of a script has to take effect.
const prompt = 50 * time.Millisecond

// attempts is how often what took too long is tried again: a machine that does something else makes anything late, a
// script that cannot be ended is late each time.
const attempts = 8

// Whatever a script is busy with, its end takes effect soon.
func TestCancelTakesEffect(t *testing.T) {
	base, err := casetest.NewBase(command.All())
	if err != nil {
		t.Fatal(err)
	}
	big := `x=$(printf 'some words of a line, and 12345 numbers\n%.0s' {1..1000}); for i in {1..200}; do echo "$x"; done > big; : `
	tall := "seq 2000000 > n"
	long := `x=$(printf '%3000000s'); x=${x// /ab}`
	for _, c := range []struct{ name, setup, busy string }{
		{"loop", "", "while :; do :; done"},
		{"arithmetic", "", "for ((;;)); do ((x=x*3+1)); done"},
		{"arithmetic of many terms", "x=1; for i in {1..15}; do x=$x+$x; done", "while :; do : $((x)); done"},
		{"brace expansion", "", "while :; do : {1..9}{1..9}{1..9}{1..9}{1..9}; done"},
		{"glob", "mkdir -p {a..j}/{a..j}/{a..j}", "while :; do : */*/*/../../*/*/*; done"},
		{"globstar", "mkdir -p {a..j}/{a..j}/{a..j}; shopt -s globstar", "while :; do : **/**/x; done"},
		{"wide printf", "", "while :; do printf %100000000s > /dev/null; done"},
		{"printf of an array", "x=({1..200000})", `while :; do printf '%s %q\n' "${x[@]}" > /dev/null; done`},
		{"here-document", "x=$(printf %1000000s)", "while :; do : <<< \"$x$x$x$x$x$x$x$x\"; done"},
		{"substitution in a long text", long, "while :; do y=${x//b/xyz}; done"},
		{"substitution of a pattern in a long text", long, "while :; do y=${x//a*c/xyz}; done"},
		{"removal of a pattern from a long text", long, "while :; do y=${x##*c}; y=${x%%c*}; done"},
		{"upper case of a long text", long, "while :; do y=${x^^}; y=${x@Q}; done"},
		{"slices of a long text", long, "while :; do y=${x:1234567:100}; y=${#x}; done"},
		{"word splitting of a long text", long + "; IFS=a", "while :; do y=($x); done"},
		{"[[ == ]] on a long text", long, "while :; do [[ $x == *a*a*a*c ]]; done"},
		{"[[ =~ ]] on a long text", long, "while :; do [[ $x =~ (a|ab)*c$ ]]; done"},
		{"[[ =~ ]] with a back-reference", long, `while :; do [[ $x =~ (a.*)c\1 ]]; done`},
		{"declare -p of a long array", "x=({1..300000})", "while :; do declare -p x > /dev/null; done"},
		{"sleep", "", "sleep 1000"},
		{"wait", "", "sleep 1000 & wait"},
		{"read", "", "read x < <(sleep 1000)"},
		{"read of a long line", "", "read -r x < <(tr '\\0' a < /dev/zero)"},
		{"mapfile", "", "mapfile x < <(yes)"},
		{"command substitution", "", "x=$(seq inf)"}, // yes has filled all there is by then
		{"timeout", "", "timeout 1000 sleep 1000"},
		{"watch", "", "watch -n 1000 true"},
		{"pipeline", "", "yes | cat | cat > /dev/null"},
		{"many jobs", "", "for i in {1..100}; do while :; do :; done & done; wait"},
		{"regular expression", big, "while :; do grep -cE '(a|b|c)*x.*[0-9]{3}.*y$' big; done"},
		{"regular expression with back-references", big, "while :; do grep -c '\\(.\\).*\\1.*\\(..\\).*\\2.*z$' big; done"},
		{"regular expression with back-references on a long line", long + "; echo \"${x:0:40000}\" > f",
			"while :; do grep -c '\\(a.*\\)c\\1' f; done"},
		{"regular expression of perl", big, "while :; do grep -cP '(\\w+ )+\\d+(?=x)' big; done"},
		{"regular expression of perl on a long line", long + "; printf %s \"$x\" > f",
			"while :; do grep -cP '(a|b|ab)*c' f; grep -oP '(?<=a)b(?!a)$' f; done"},
		{"regular expression on a long line", long + "; printf %s \"$x\" > f",
			"while :; do grep -cE '(a|b|ab)*c' f; grep -oE 'ab' f > /dev/null; done"},
		{"regular expression over 2 million lines", tall, "while :; do grep -cE '[13579]+.*(24|68)[0-9]*0$' n; done"},
		{"regular expression of sed on a long line", long + "; echo \"$x\" > f",
			"while :; do sed -E 's/(a|b)(a|b)/\\2\\1/g; s/(.*)c/\\1/' f > /dev/null; done"},
		{"regular expression of awk on a long line", long + "; echo \"$x\" > f",
			"while :; do awk '{ gsub(/(a|b)b*/, \"<&>\"); n = split($0, p, /b/); print match($0, /(a|b)*c/) }' f > /dev/null; done"},
		{"regular expression of jq on a long text", long + "; echo \"\\\"$x\\\"\" > f",
			"while :; do jq '[match(\"(a|b)\"; \"g\").offset] | length' f > /dev/null; done"},
		{"regular expression of rg", big, "while :; do rg -c '(a|b|c)*x.*[0-9]{3}.*y$' big; rg -c '' .; done"},
		{"regular expression of expr", long, "while :; do expr \"$x\" : '\\(a*b*\\)*c'; done"},
		{"words of fgrep", "seq 200000 > w", "while :; do grep -F -f w n w; done"},
		{"sort", big, "while :; do sort -k3 -r big > /dev/null; done"},
		{"sort of 5 million lines", "seq 5000000 > n", "sort n > /dev/null; while :; do sort -n n > /dev/null; done"},
		{"sort of 2 million lines by a key", tall, "while :; do sort -t5 -k2,2nr -k1 n > /dev/null; done"},
		{"shuf of 2 million lines", tall, "while :; do shuf n > /dev/null; done"},
		{"tac of 2 million lines", tall, "while :; do tac n > /dev/null; tac -r -s '[05]' n > /dev/null; done"},
		{"tsort", "seq 400000 > n; ", "while :; do tsort n > /dev/null 2>&1; done"},
		{"join and comm", tall, "while :; do join n n > /dev/null; comm n n > /dev/null; done"},
		{"ptx, column, pr, fmt", big, "while :; do column -t big; pr -3 big; fmt big; column big; done > /dev/null"},
		{"sed", big, "sed ':a;s/^/x/;ba' big"},
		{"sed that collects", tall, "while :; do sed -n 'H;${x;s/\\n/,/g;p}' n > /dev/null; done"},
		{"awk", "", "awk 'BEGIN{while(1)x=x+1}'"},
		{"awk over lines", big, "while :; do awk '{n+=length($0); gsub(/[aeiou]/,\"<&>\")} END{print n}' big; done"},
		{"awk with a large array", tall,
			"while :; do awk '{a[$1 % 100000]=$0} END{n=asort(a,b); for(i in b)m+=b[i]; print m}' n; done"},
		{"awk with wide formats", "", "awk 'BEGIN{while(1)x=sprintf(\"%10000000d%s\", 1, substr(x, 1, 10))}'"},
		{"awk with strings", "",
			"awk 'BEGIN{x=sprintf(\"%5000000s\",\"\"); while(1){y=toupper(x); z=index(x,\"a\"); w=x y}}'"},
		{"jq", "", "jq -n 'reduce range(1e12) as $i (0; .+$i)'"},
		{"jq over a large document", "seq 1000000 > n", "while :; do jq -s 'map(.+1)|add' n; done"},
		{"jq reading 40 MB", tall, "while :; do jq -c -s 'sort|length' n; done"},
		{"jq with strings", "",
			"jq -n '\"ab\" * 1000000 | until(false; ascii_upcase | ascii_downcase | split(\"b\") | join(\"b\"))'"},
		{"jq that sorts", "",
			"jq -n '[range(300000) | . * 7919 % 300007] | until(false; sort_by(-.) | group_by(. % 10) | flatten | unique)'"},
		{"jq that prints", "", "jq -n 'repeat([range(10000)] | tojson | fromjson | @csv)' > /dev/null"},
		{"jq that assigns slices", "",
			"jq -n '[range(50000)] | until(false; .[range(length) | {start: ., end: (. + 1)}] = [1, 2])'"},
		{"jq that updates", "", "jq -n '[range(200000)] | until(false; .[] |= . + 1 | del(.[0]) | [., .[0]] | .[0])'"},
		{"jq with deep values", "",
			"jq -n 'reduce range(50000) as $i (0; [.]) | until(false; tojson | fromjson? // (reduce range(50000) as $i (0; [.])) | [., .] | unique | .[0])'"},
		{"jq with old versions", "",
			"jq -n '[range(100000)] as $a | repeat($a | .[5] = 1 | [$a, .] | map(length))' > /dev/null"},
		{"jq with a regular expression", "", "jq -n '\"a\" * 200000 | until(false; gsub(\"(a|aa)b?\"; \"a\"))'"},
		{"jq reading a stream", tall, "while :; do jq -cn --stream '[inputs] | length' n; jq -R . n; done > /dev/null"},
		{"jq printing a large value", "", "while :; do jq -n '[range(1000000)]'; done > /dev/null"},
		{"make that expands",
			`printf 'x=$(foreach i,$(1),$(subst a,b,$(i))$(call f,$(i)))\nf=$(filter-out a%%,$(1) $(sort $(1)))\nl:=$(shell seq 2000)\na:;@: $(call x,$(l))\n' > m`, "while :; do make -f m; done"},
		{"make of many targets", "seq -f 'a: %.0f' 200000 > m; seq -f '%.0f:;@:' 200000 >> m",
			"while :; do make -rf m a; done"},
		{"make of many rules", "seq -f '%%.%.0f: %%.y ; cp $< $@' 20000 > m; seq -f 'a: %.0f.c' 20000 >> m",
			"while :; do make -kf m a; done 2> /dev/null"},
		{"make that evaluates",
			`printf 'f=$(eval v$(1):=$(1) $(1))$(if $(1),$(call f,$(wordlist 2,9999,$(1))),)\n$(foreach i,1 2 3,$(call f,$(shell seq 1000)))\na:;\n' > m`, "while :; do make -f m; done"},
		{"make with the output of commands",
			`printf 'x=$(shell echo a)\ninclude m\n' > m; printf '$(foreach i,$(shell seq 1000),$(shell echo $i))\na:;\n' > n`,
			"while :; do make -f m; make -f n; done"},
		{"parallel", "", "parallel -j8 sleep ::: {1..20}00"},
		{"parallel of quick jobs", "",
			"while :; do parallel -j4 --pipe -N100 'sort | tail -n 1' < <(seq 5000); done > /dev/null"},
		{"make with jobs", `printf '%%:;@sleep 100\n' > m`, "make -j8 -f m 1 2 3 4 5 6 7 8 9"},
		{"yq", "for i in {1..50000}; do echo \"k$i: [a, {b: c}, 'd']\"; done > y", "while :; do yq . y > /dev/null; done"},
		{"yq that changes", "for i in {1..20000}; do echo \"k$i: [a, {b: c}, 'd']\"; done > y",
			"while :; do yq '(.. | select(tag == \"!!str\")) |= . + \"x\" | sort_keys(..) | explode(.) | ... comments=\"c\"' y > /dev/null; done"},
		{"yq that expands", "",
			"yq -n '[\"aaa\" * 100000 | match(\"(a|aa)*\"; \"g\")] | .[] as $x ireduce ([1,2,3]; . * 1 + . + .)'; while :; do yq -n '[\"ab\" * 50000 | split(\"b\") | .[]] | unique | join(\"-\") | sub(\"a\", \"bb\") | test(\"(a|b|ab)*c\")'; done"},
		{"diff", "for i in {1..20000}; do echo $RANDOM; done > a; for i in {1..20000}; do echo $RANDOM; done > b",
			"while :; do diff -d a b > /dev/null; done"},
		{"diff of few different lines",
			"for i in {1..100000}; do echo $((RANDOM%3)); done > a; for i in {1..100000}; do echo $((RANDOM%3)); done > b",
			"while :; do diff a b; diff -u a b; diff -y a b; done > /dev/null"},
		{"diff3", "for i in {1..30000}; do echo $((RANDOM%3)); done > a; for i in {1..30000}; do echo $((RANDOM%3)); done > b", "while :; do diff3 a b a > /dev/null; done"},
		{"sdiff", "for i in {1..30000}; do echo $((RANDOM%3)); done > a; for i in {1..30000}; do echo $((RANDOM%3)); done > b", "while :; do sdiff a b > /dev/null; done"},
		{"diff of directories", "mkdir -p a/{a..z}/{a..z}; cp -r a b", "while :; do diff -r a b > /dev/null; done"},
		{"patch", "seq 100000 > a; sed '1~2s/$/x/' a > b; diff -u a b > p", "while :; do cp a c; patch -s c p; done"},
		{"patch that looks for its place",
			"yes a | head -n 200000 > a; printf -- '--- a\\n+++ a\\n@@ -100000,3 +100000,3 @@\\n a\\n-b\\n+c\\n a\\n' > p",
			"while :; do patch -f -F3 a p > /dev/null; done"},
		{"cmp", tall, "while :; do cmp -l n <(tr 1 2 < n); cmp n n; done > /dev/null"},
		{"gzip", "", "yes | gzip > /dev/null"},
		{"gunzip of a bomb", "head -c 50M /dev/zero | gzip > z", "while :; do gunzip -c z > /dev/null; done"},
		{"bzip2", "", "base64 /dev/zero | bzip2 > /dev/null"},
		{"bunzip2", "seq 500000 | bzip2 > z", "while :; do bunzip2 -c z > /dev/null; done"},
		{"xz", "", "base64 /dev/urandom | xz > /dev/null"},
		{"unxz", "seq 300000 | xz > z", "while :; do unxz -c z > /dev/null; done"},
		{"zstd", "", "base64 /dev/urandom | zstd -19 > /dev/null"},
		{"unzstd", "seq 2000000 | zstd > z", "while :; do unzstd -c z > /dev/null; done"},
		{"zip", tall, "while :; do zip -q z.zip n; rm z.zip; done"},
		{"unzip", tall + "; zip -q z.zip n", "while :; do unzip -p z.zip > /dev/null; unzip -t z.zip > /dev/null; done"},
		{"checksum", "", "sha256sum /dev/zero"},
		{"checksums of a large file", tall,
			"while :; do for c in md5sum sha1sum sha512sum b2sum cksum sum 'cksum -a sm3' base64 base32 xxd 'od -c' 'hexdump -C' strings; do $c n > /dev/null; done; done"},
		{"find", "mkdir -p {a..z}/{a..z}", "while :; do find . -name '*x*' > /dev/null; done"},
		{"find with commands", "mkdir -p {a..z}/{a..z}",
			"while :; do find . -regex '.*\\(a\\|b\\)*c' -o -exec true {} \\; ; done"},
		{"walks of a tree", "mkdir -p {a..z}/{a..z}; touch {a..z}/{a..z}/f",
			"while :; do ls -lR; du -a; tree; rg --files; chmod -R u+w .; cp -r a x; rm -r x; done > /dev/null"},
		{"tar", big, "while :; do tar cf - big | tar tf - ; done"},
		{"tar of many files", "mkdir -p {a..z}/{a..z}; touch {a..z}/{a..z}/f",
			"while :; do tar czf - {a..z} | tar xzf - -C /tmp; done"},
		{"factor", "", "factor 1000000000000000000000000000057000000000000000000000000000099"},
		{"factor of a product of large primes", "",
			"while :; do factor 340282366920938463463374607431768211507 170141183460469231731687303715884105703 1267650600228229401496703205653; done"},
		{"seq", "", "seq 1 0.0000001 1e9 > /dev/null"},
		{"numfmt", "", "yes 123456789 | numfmt --to=iec-i --suffix=B > /dev/null"},
		{"bc", "", "echo 'scale=20000; while(1) x=sqrt(2)' | bc"},
		{"bc with a large power", "", "while :; do echo 'x=7^3000000; x' | bc > /dev/null; done"},
		{"bc with functions", "", "echo 'scale=3000; while(1) x=e(1)+a(1)' | bc -l"},
		{"dc", "", "dc -e '[lxx]sx lxx'"},
		{"dc with a large number", "", "while :; do dc -e '3 2000000^ 2o p' > /dev/null; done"},
		{"xan", "seq -f '%.0f,a%.0f' 300000 > n.csv",
			"while :; do xan sort -s 0 n.csv; xan stats n.csv; xan frequency n.csv; done > /dev/null"},
		{"csvkit", "seq -f '%.0f,a%.0f' 30000 > n.csv",
			"while :; do csvsort n.csv; csvstat n.csv; csvjson n.csv; done > /dev/null"},
		{"csvkit that guesses the dialect", `printf 'a,"b" %.0s' {1..100000} > n.csv`,
			"while :; do csvcut -c 1 n.csv; done > /dev/null 2>&1"},
		{"html-to-markdown", "printf '[*_%.0s' {1..400000} > f.html",
			"while :; do html-to-markdown f.html; done > /dev/null"},
		{"html-to-markdown of many elements", "printf '<p>a <b>b</b> [c](d)%.0s' {1..30000} > f.html",
			"while :; do html-to-markdown f.html; done > /dev/null"},
		{"xpath", "{ echo '<r>'; printf '<a b=\"c\"><d/></a>%.0s' {1..30000}; echo '</r>'; } > x",
			`while :; do xmllint --xpath 'count(//*[preceding::d[@b] or following::a])' x; done`},
		{"date", "", `x=$(printf '1 day %.0s' {1..8000}); while :; do date -d "$x"; date "+${x//day/%c}"; done > /dev/null`},
		{"printf %q", long, `while :; do printf %q "$x"; y=${x@Q}; done > /dev/null`},
		{"jo", "", "while :; do seq 200000 | jo -a; seq -f 'a%.0f=b' 100000 | jo; done > /dev/null"},
		{"touch of many files", "", "touch {1..300000}"},
		{"cpio", "mkdir -p {a..z}/{a..z}", "while :; do find . | cpio -o 2>/dev/null | cpio -t; done > /dev/null 2>&1"},
		{"jq that compiles", `{ printf '1 as $a%.0f|' {1..20000}; printf 'not|%.0s' {1..100000}; echo 1; } > p`,
			"while :; do jq -n -f p; done"},
		{"ed", "seq 200000 > n", "while :; do printf '%s\n' 'g/./s/1/22/' ',s/2/x/g' 1,9999j Q | ed -s n; done > /dev/null"},
		{"sqlite3 recursion", "",
			"sqlite3 :memory: 'with recursive c(x) as (select 1 union all select x+1 from c) select count(*) from c'"},
		{"sqlite3 join", "",
			"sqlite3 :memory: 'create table t(a); with recursive c(x) as (select 1 union all select x+1 from c limit 100000) insert into t select x from c; select count(*) from t a, t b, t c where a.a+b.a=c.a'"},
		{"sqlite3 sort", "",
			"sqlite3 :memory: 'with recursive c(x) as (select 1 union all select x+1 from c limit 3000000) select x from c order by hex(x) desc, x' > /dev/null"},
		{"sqlite3 strings", "",
			`sqlite3 :memory: "with recursive c(x) as (select 1 union all select x+1 from c) select count(replace(hex(zeroblob(1000000)), '0', 'ab') like '%a%b%c%') from c"`},
		{"sqlite3 printing", "",
			"sqlite3 -box :memory: 'with recursive c(x) as (select 1 union all select x+1 from c limit 2000000) select x, hex(x) from c' > /dev/null"},
		{"sqlite3 file", "",
			"sqlite3 a.db 'create table t(a,b); create index i on t(b); with recursive c(x) as (select 1 union all select x+1 from c) insert into t select x, hex(randomblob(20)) from c'"},
		{"reading a long script", "x=$(printf 'echo a b c;%.0s' {1..100000})",
			"while :; do eval \"if false; then $x fi\"; done"},
		{"reading a script of nested words", "x=$(printf '${a:-%.0s' {1..500})$(printf '}%.0s' {1..500})",
			"while :; do eval \"if false; then : $x; fi\"; done"},
	} {
		t.Run(c.name, func(t *testing.T) {
			end(t, base, 150*time.Millisecond, c.setup, c.busy, true)
		})
	}
}

// stdin is what a command gets that has its own idea of endless input, and how it is called.
var stdin = map[string]string{
	"awk": `awk '{n+=NF} END{print n}'`, "base32": "base32 -w0", "basenc": "basenc --base64", "bc": "bc",
	"bunzip2": "bunzip2", "comm": "comm - <(yes)", "cmp": "cmp - <(yes 'k1,v2 word 345')",
	"csplit": "csplit - /x/ '{*}'", "cut": "cut -d, -f2", "dd": "dd", "diff": "diff - <(yes)",
	"diff3": "diff3 - <(yes) <(yes)", "egrep": "egrep x", "fgrep": "fgrep x", "grep": "grep -v x", "gunzip": "gunzip",
	"join": "join - <(yes)", "jq": "jq -R .", "patch": "patch f", "rg": "rg -v x", "sdiff": "sdiff - <(yes)",
	"sed": "sed s/word/x/", "sqlite3": "sqlite3", "tail": "tail -n 3", "tr": "tr a-z A-Z", "xargs": "xargs echo",
	"yq": "yq -p csv .", "zip": "zip - -", "tee": "tee f", "split": "split -n r/3", "numfmt": "numfmt --field=3",
	"column": "column -t", "env": "env cat", "nice": "nice cat", "nohup": "nohup cat", "stdbuf": "stdbuf -o0 cat",
	"timeout": "timeout 1000 cat", "watch": "watch cat", "sleep": "sleep 1000", "seq": "seq inf", "head": "head -n -3",
	"shuf": "shuf -n 2", "uniq": "uniq -c", "gawk": "gawk 1", "mawk": "mawk 1",
	"zgrep": "zgrep -v x", "bash": "bash -c 'while read x; do :; done'", "sh": "sh -c 'while read x; do :; done'",
	"tar": "tar xf -", "od": "od -v", "hexdump": "hexdump -v", "hd": "hd -v", "xz": "xz -0",
}

// endless are the commands that read until there is no more, and so have to be ended when there is always more.
var endless = []string{
	"awk", "b2sum", "base32", "base64", "basenc", "cat", "cksum", "cmp", "column", "cut", "dd", "egrep", "expand", "fgrep",
	"fmt", "fold", "grep", "gzip", "head", "hexdump", "jq", "less", "md5sum", "more", "nl", "od", "paste", "pr", "rev",
	"rg",
	"sed", "sha1sum", "sha256sum", "sha512sum", "shuf", "sort", "strings", "sum", "tac", "tail", "tee", "tr", "tsort",
	"unexpand", "uniq", "wc", "xargs", "xxd", "xz", "zip", "zstd", "bzip2", "bash", "env", "nice", "timeout", "yes",
	"sleep", "seq",
}

// Every command there is ends soon after it is told to, with input that never ends and with a large file as its
// operand. Some have nothing to do with either and have ended before.
func TestEveryCommandIsCancelled(t *testing.T) {
	base, err := casetest.NewBase(command.All())
	if err != nil {
		t.Fatal(err)
	}
	all := command.All()
	names := slices.Sorted(maps.Keys(all))
	for _, name := range append(shell.Programs(), endless...) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	same := map[uintptr]bool{}
	for _, name := range names {
		if f, ok := all[name]; ok && !slices.Contains(endless, name) {
			// One of several names of a command is enough.
			p := reflect.ValueOf(f).Pointer()
			if same[p] {
				continue
			}
			same[p] = true
		}
		call := stdin[name]
		if call == "" {
			call = strings.NewReplacer("[", "'['").Replace(name)
		}
		t.Run(name, func(t *testing.T) {
			end(t, base, 20*time.Millisecond, "", "{ yes 'k1,v2 word 345' | "+call+"; } > /dev/null 2>&1",
				slices.Contains(endless, name))
			end(t, base, 20*time.Millisecond, "yes 'k1,v2 word 345' | head -n 50000 > big; cp big a",
				"for i in {1..20}; do "+call+" big; "+call+" a big < /dev/null; "+call+" -r a b; done > /dev/null 2>&1", false)
		})
	}
}

// end runs a script, ends it in the midst of being busy, and says so if that takes long. must: it cannot have ended
// before.
func end(t *testing.T, base *casetest.Base, after time.Duration, setup, busy string, must bool) {
	t.Helper()
	var took, cpu time.Duration
	for range attempts { // what the machine does at one moment is no fault of the shell's
		var ended bool
		took, cpu, ended = cancelled(t, base, after, setup, busy, must)
		if ended || took < prompt {
			return
		}
		// The machine may be busy with other things: then what counts is the time in proportion, or the CPU time that was
		// needed.
		if pace := busyness(); took < 4*pace || pace > 15*time.Millisecond && cpu < prompt && took < 40*prompt {
			return
		}
	}
	t.Errorf("%s: ended %v after it was told to, with %v of CPU time; has to be within %v", busy, took, cpu, prompt)
}

// busyness is how long what takes 10 ms of a quiet machine takes now, at worst.
func busyness() time.Duration {
	var took []time.Duration
	for range 5 {
		began := time.Now()
		sha256.Sum256(make([]byte, 8<<20))
		took = append(took, time.Since(began))
	}
	return slices.Max(took)
}

// cpuTime is the CPU time of this process.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// cancelled runs a script, ends it in the midst of being busy and returns how long that takes, and how much CPU time.
func cancelled(
	t *testing.T, base *casetest.Base, after time.Duration, setup, busy string, must bool,
) (took, cpu time.Duration, ended bool) {
	t.Helper()
	ctx, budget := proc.NewBudget(t.Context(), proc.Limits{Steps: 1 << 50, CPU: time.Hour})
	defer budget.Close()
	type moment struct {
		at  time.Time
		cpu time.Duration
	}
	told := make(chan moment, 1)
	var timer *time.Timer
	ready := &marker{mark: func() {
		timer = time.AfterFunc(after, func() {
			told <- moment{time.Now(), cpuTime()}
			budget.Kill(errStop)
		})
	}}
	_, err := shell.Run(ctx, shell.Config{FS: base.Sandbox(context.WithoutCancel(ctx)), Commands: command.All(),
		Budget: budget, Stdout: ready, Stderr: &capped{w: &bytes.Buffer{}}},
		"cd /tmp; "+setup+"\necho ready\n"+busy)
	now := time.Now()
	if err == nil && !must && timer != nil {
		timer.Stop()
		return 0, 0, true
	}
	select {
	case m := <-told:
		if !errors.Is(err, errStop) {
			if l, ok := proc.IsLimit(err); ok && !must {
				t.Logf("ended by %s", l.Name)
				return 0, 0, true
			}
			t.Fatalf("%s: ended with %v", busy, err)
		}
		return now.Sub(m.at), cpuTime() - m.cpu, false
	default:
		t.Fatalf("%s: ended by itself: %v", busy, err)
		return 0, 0, false
	}
}

// marker calls mark at the first write.
type marker struct {
	mark func()
	done bool
}

func (m *marker) Write(b []byte) (int, error) {
	if !m.done {
		m.done = true
		m.mark()
	}
	return len(b), nil
}
