// The stack of the race detector's build is larger.

//go:build !race

package shell_test

import (
	"strconv"
	"strings"
)

// recursion is something nested that the functions of one section of testdata/recursions.txt descend into.
type recursion struct {
	section string
	bound   int // how deep it may be; the test makes it ten times as deep
	in      func(n int) string
	script  string // "" runs the input itself
}

// nest is n beginnings and as many ends.
func nest(before, open, mid, end, after string) func(int) string {
	return func(n int) string {
		return before + strings.Repeat(open, n) + mid + strings.Repeat(end, n) + after
	}
}

// chain is a text n times.
func chain(before, s, after string) func(int) string { return nest(before, s, after, "", "") }

// lines is numberedLines, but with n lines.
func lines(s string) func(int) string {
	return func(n int) string { return numberedLines(s)(n * (len(s) + 5)) }
}

const (
	eachLine = `i=0; while IFS= read -r l; do printf '%s\n' "$l" > f$((i++)); done < in; `
	// descend makes directories, each in the one before.
	descend = "n=$(<in); for ((i = 0; i < n; i++)); do mkdir d; cd d || break; done 2> /dev/null; cd /tmp; "
)

func count(n int) string { return strconv.Itoa(n) }

var recursions = []recursion{
	{"script", 10_000, nest("", "( ", ":", " )", ""), ""},
	{"script", 10_000, nest("", "{ ", ":", "; }", ""), ""},
	{"script", 10_000, nest("echo ", "$(echo ", "1", ")", ""), ""},
	{"script", 10_000, nest("echo ", `"${x:-`, "1", `}"`, ""), ""},
	{"script", 10_000, nest("", "if ", ":", "; then :; fi", ""), ""},
	{"script", 10_000, nest("", "case x in x) ", ":", ";; esac", ""), ""},
	{"script", 10_000, nest("", "while ", ":", "; do break; done", ""), ""},
	{"script", 10_000, nest("", "f() { ", ":", "; }", ""), ""},
	{"script", 100_000, chain("", "f() ", ":"), ""},
	{"script", 100_000, chain("", "! ", ":"), ""},
	{"script", 100_000, chain(":", " && :", ""), ""},
	{"script", 100_000, chain(":", " | :", ""), ""},
	{"script", 100_000, chain("if :; then :", "; elif :; then :", "; fi"), ""},
	{"script", 100_000, chain("", "`echo ", ""), ""},
	{"script", 10_000, nest("[[ ", "( ", "a", " )", " ]]"), ""},
	{"script", 100_000, chain("[[ ", "! ", "a ]]"), ""},
	{"script", 100_000, chain("[[ a", " && a", " ]]"), ""},
	{"script", 10_000, nest("(( ", "(", "1", ")", " ))"), ""},
	{"script", 100_000, chain("x=$((1", "+1", "))"), ""},
	{"script", 100_000, chain("cat", " <<< a", ""), ""},
	{"script", 10_000, nest("shopt -s extglob\n: ", "@(", "a", ")", ""), ""},
	{"printed script", 10_000, nest("f() { ", "{ ", ":", "; }", "; }"), ". ./in; declare -f"},
	{"printed script", 10_000, nest("f() { ", "if :; then ", ":", "; fi", "; }"), ". ./in; declare -f; type f"},
	{"printed script", 100_000, chain("f() { :", " && :", "; }"), ". ./in; declare -f"},
	{"printed script", 100_000, chain("f() { :", " | :", "; }"), ". ./in; declare -f; export -f f"},
	{"printed script", 100_000, chain("f() { if :; then :", "; elif :; then :", "; fi; }"), ". ./in; declare -f"},
	{"printed script", 10_000, nest("f() { [[ ", "( ", "a", " )", " ]]; }"), ". ./in; declare -f"},
	{"running script", 1000, count, "f() { f; }; f"},
	{"running script", 1000, count, "f() { x=$(f); }; f"},
	{"running script", 1000, count, `e='eval "$e"'; eval "$e"`},
	{"running script", 1000, count, "echo '. ./s' > s; . ./s"},
	{"running script", 1000, count, "trap 'false' ERR; set -E; f() { false; f; }; f"},
	{"running script", 900, nest("f() { ", "{ ", "f", "; }", "; }; f"), ""},
	{"running script", 900, nest("f() { ", "if :; then ", "f", "; fi", "; }; f"), ""},
	{"running script", 900, nest("f() { ", "( ", "f", " )", "; }; f"), ""},
	{"running script", 900, nest("f() { x=", `"$(echo `, "$(f)", `)"`, "; }; f"), ""},
	{"running script", 900, nest("f() { x=", `"${u:-`, "$(f)", `}"`, "; }; f"), ""},
	{"running script", 900, nest("f() { : ", "$((1+", "$(f)", "))", "; }; f"), ""},
	{"running script", 900, nest("f() { : ", "${u#", "$(f)", "}", "; }; f"), ""},
	{"running script", 900, nest("f() { : ", "${a[", "$(f)", "]}", "; }; f"), ""},
	{"running script", 900, nest("f() { : ", "${u/a/", "$(f)", "}", "; }; f"), ""},
	{"running script", 900, nest("f() { : ", "${u:", "$(f)", "}", "; }; f"), ""},
	{"running script", 900, nest("f() { ", "! ", "f", "", "; }; f"), ""},
	{"running script", 90, nest("f() { : $((", "-(", "$(f)", ")", ")); }; f"), ""},
	{"test", 100_000, chain("", "! ", "a"), `[ $(<in) ]`},
	{"test", 1000, nest("", "( ", "a", " )", ""), `test $(<in)`},
	{"test", 100_000, chain("a", " -a a", ""), `[ $(<in) ]`},
	{"arithmetic", 1024, nest("", "(", "1", ")", ""), load + "echo $((s))"},
	{"arithmetic", 1024, chain("", "-", "1"), load + "echo $((s))"},
	{"arithmetic", 1024, chain("", "a=", "1"), load + "echo $((s))"},
	{"arithmetic", 1024, chain("1", "**1", ""), load + "echo $((s))"},
	{"arithmetic", 1024, chain("", "1?1:", "1"), load + "echo $((s))"},
	{"arithmetic", 1024, nest("", "a[", "1", "]", ""), load + "echo $((s))"},
	{"arithmetic", 1 << 17, chain("a", "||a", ""), load + "echo $((s))"},
	{"arithmetic", 1024, lines("a#=a%"), ". ./in; echo $((a0))"},
	{"pattern", 200, nest("", "@(", "a", ")", ""), load + "[[ a == $s ]]; x=${s#$s}"},
	{"pattern", 200, nest("", "!(", "a", ")", ""), load + "[[ a == $s ]]"},
	{"pattern", 1 << 17, chain("@(a", "|a", ")"), load + "[[ a == $s ]]"},
	{"pattern", 1 << 14, chain("", "+(a)", ""), load + "[[ a == $s ]]"},
	{"pattern", 1 << 17, chain("", "a", ""), load + "[[ $s == +(a) ]]; x=${s%%+(a)}"},
	{"regular expression", 1000, nest("", "(", "a", ")", ""),
		"grep -E -f in in; sed -E \"/$(<in)/p\" in; awk \"/$(<in)/\" in; rg -f in in; expr a : \"$(<in)\"; jq -n --rawfile p in '\"a\" | test($p)'"},
	{"regular expression", 1000, nest("", `\(`, "a", `\)`, ""), "grep -f in in"},
	{"regular expression", 1000, nest("", "(", "a", ")*", ""), "grep -E -f in in; grep -P -f in in"},
	{"regular expression", 100_000, chain("a", "*", ""), "grep -E -f in in; grep -P -f in in; sed -E \"/$(<in)/p\" in"},
	{"regular expression", 100_000, chain("a", "{2}", ""), "grep -E -f in in; grep -P -f in in; awk \"/$(<in)/\" in"},
	{"regular expression", 100_000, chain("a", "|a", ""), "grep -E -f in in; grep -P -f in in; awk \"/$(<in)/\" in"},
	{"regular expression", 100_000, chain("", "(?:)", "a"), "grep -P -f in in"},
	{"regular expression", 100_000, chain("", "(?:)", "a"), "rg -f in in"},
	{"regular expression", 900, nest("", "(?:a", "(?R)?", ")", ""),
		"yes a | head -n 100000 | tr -d '\\n' > t; grep -P -f in t"},
	{"regular expression", 250, nest("", "(?=", "a", ")", ""), "grep -P -f in in"},
	{"regular expression", 250, nest("", "(?<=", "a", ")", ""), "grep -P -f in in"},
	{"regular expression", 250, nest("", "(?(?=a)", "a", "|b)", ""), "grep -P -f in in"},
	{"regular expression", 250, nest("", "(?>", "a", ")", ""), "grep -P -f in in"},
	{"regular expression", 100_000, chain("", "a", ""),
		"grep -P '^(a(?1)?)$' in; grep -P '^(?:a(?R)?)*$' in; grep -P '^(a|(?=a)a)*b' in"},
	{"awk program", 1500, nest("BEGIN { x = ", "(", "1", ")", " }"), "awk -f in; awk -o- -f in"},
	{"awk program", 100_000, chain("BEGIN { x = ", "!", "1 }"), "awk -f in"},
	{"awk program", 100_000, chain("BEGIN { x = ", "x = ", "1 }"), "awk -f in"},
	{"awk program", 100_000, chain("BEGIN { x = 1", " 1", " }"), "awk -f in; awk -o- -f in"},
	{"awk program", 100_000, chain("BEGIN { x = 1", "+1", " }"), "awk -f in; awk -o- -f in"},
	{"awk program", 100_000, chain("BEGIN { x = 1", "&&1", " }"), "awk -f in"},
	{"awk program", 100_000, chain("BEGIN { x = ", "1?1:", "1 }"), "awk -f in"},
	{"awk program", 100_000, chain("BEGIN { x = 2", "^1", " }"), "awk -f in"},
	{"awk program", 100_000, chain("BEGIN { x = ", "$", "1 }"), "awk -f in < in"},
	{"awk program", 100_000, chain("BEGIN { ", `"a" | getline < `, "a }"), "awk -f in"},
	{"awk program", 1500, nest("BEGIN { x = ", "length(", "1", ")", " }"), "awk -f in"},
	{"awk program", 1500, nest("BEGIN { x = ", "a[", "1", "]", " }"), "awk -f in"},
	{"awk program", 1500, nest("BEGIN ", "{", "x = 1", "}", ""), "awk -f in"},
	{"awk program", 1500, nest("BEGIN { ", "if (1) { ", "x = 1", "}", " }"), "awk -f in"},
	{"awk program", 100_000, chain("BEGIN { ", "while (0) ", "x = 1 }"), "awk -f in"},
	{"awk program", 100_000, chain("BEGIN { if (0) x = 1", "; else if (0) x = 1", " }"), "awk -f in"},
	{"awk program", 1500, nest("BEGIN {", "switch (1) { case 1: ", "x = 1", "}", "}"), "awk -f in"},
	{"awk program", 1500, lines("@include \"f%\""), eachLine + "awk '@include \"f0\"'"},
	{"awk calls", 140, nest("function f(x) { return ", "(", "f(x + 1)", ")", " }\nBEGIN { f(1) }\n"), "awk -f in"},
	{"awk calls", 140, nest("function f(x) ", "{", "f(x + 1)", "}", "\nBEGIN { f(1) }\n"), "awk -f in"},
	{"awk calls", 1000, chain("function f(x) { return f(x + 1)", " + 1", " }\nBEGIN { f(1) }\n"), "awk -f in"},
	{"awk calls", 10_000, count, "awk 'function f(x) { return f(x + 1) + 1 } BEGIN { f(1) }'"},
	{"awk calls", 10_000, count, "awk 'function f(a, n) { a[1][1] = 1; f(a[1], n + 1) } BEGIN { f(q, 0) }'"},
	{"bc program", 2000, nest("", "(", "1", ")", "\n"), "bc < in"},
	{"bc program", 100_000, chain("", "-", "1\n"), "bc < in"},
	{"bc program", 100_000, chain("1", "+1", "\n"), "bc < in"},
	{"bc program", 100_000, chain("2", "^1", "\n"), "bc < in"},
	{"bc program", 100_000, chain("1", "&&1", "\n"), "bc < in"},
	{"bc program", 100_000, chain("", "a=", "1\n"), "bc < in"},
	{"bc program", 2000, nest("", "a[", "1", "]", "\n"), "bc < in"},
	{"bc program", 2000, nest("", "{", "1", "}", "\n"), "bc < in"},
	{"bc program", 100_000, chain("", "if (1) ", "1\n"), "bc < in"},
	{"bc calls", 190, nest("define f(x) { return ", "(", "f(x+1)", ")", " }\nf(1)\n"), "bc < in"},
	{"bc calls", 190, nest("define f(x) { ", "{", "f(x+1)", "}", " }\nf(1)\n"), "bc < in"},
	{"bc calls", 9000, chain("define f(x) { return f(x+1)", "+1", " }\nf(1)\n"), "bc < in"},
	{"bc calls", 2000, count,
		"printf 'define f(x) { return f(x+1)+1 }\nf(1)\n' | bc; printf 'define f(a[]) { a[0]=1; return f(a[]) }\nf(b[])\n' | bc; printf '3^300000 * 7^300000\n' | bc > /dev/null"},
	{"jq program", 3000, nest("", "[", "1", "]", ""), "jq -n -f in"},
	{"jq program", 3000, nest("", `{"a":`, "1", "}", ""), "jq -n -f in"},
	{"jq program", 3000, nest("", "(", "1", ")", ""), "jq -n -f in"},
	{"jq program", 3000, nest("", `"\(`, "1", `)"`, ""), "jq -n -f in"},
	{"jq program", 3000, nest("", "if ", "1", " then 1 else 2 end", ""), "jq -n -f in"},
	{"jq program", 3000, nest("", "reduce ", "1", " as $x (0; 1)", ""), "jq -n -f in"},
	{"jq program", 3000, nest("", "def f: ", "1", "; f", ""), "jq -n -f in"},
	{"jq program", 100_000, chain("", "try ", "1"), "jq -n -f in"},
	{"jq program", 100_000, chain("", "- ", "1"), "jq -n -f in"},
	{"jq program", 100_000, chain("1", "|1", ""), "jq -n -f in"},
	{"jq program", 100_000, chain("1", "+1", ""), "jq -n -f in"},
	{"jq program", 100_000, chain("1", ",1", ""), "jq -n -f in"},
	{"jq program", 100_000, chain("1", "//1", ""), "jq -n -f in"},
	{"jq program", 100_000, chain(".", ".a", ""), "jq -n -f in"},
	{"jq program", 100_000, chain(".", "[0]?", ""), "jq -n -f in"},
	{"jq program", 100_000, chain("", "1 as $x|", "1"), "jq -n -f in"},
	{"jq program", 3000, nest(". as ", "[", "$x", "]", " | 1"), "jq -n -f in"},
	{"jq program", 100_000, chain("", "label $x|", "1"), "jq -n -f in"},
	{"jq modules", 1000, lines(`import "f%" as a; def f: 1;`), eachLine +
		`for i in f*; do mv $i $i.jq; done; jq -n -L . 'import "f0" as a; 1'`},
	{"jq values", 10_000, nest("", "[", "1", "]", ""),
		"jq . in; jq -c --stream . in; jq --seq . in; jq '[paths]|length' in; jq --stream-errors . in; jq -s . in; jq --rawfile x in -n '$x | fromjson'"},
	{"jq values", 10_000, nest("", `{"a":`, "1", "}", ""), "jq -S . in; jq -c tojson in"},
	{"jq values", 100_000, count,
		`jq -n 'reduce range(1000000) as $i (0; [.])'; jq -n 'reduce range(99000) as $i (0; [.]) | (., [.] == ., (tojson | length), flatten, (. + .), contains([[]]), ([.] | unique), walk(.), tostream) | 1' > /dev/null; jq -n 'reduce range(99000) as $i (0; {a: .}) | . * . | setpath(["a", "a"]; 1) | 1'`},
	{"yq expression", 500, nest("", "(", "1", ")", ""), `yq -n "$(<in)"`},
	{"yq expression", 500, nest("", "[", "1", "]", ""), `yq -n "$(<in)"`},
	{"yq expression", 500, nest("", `{"a": `, "1", "}", ""), `yq -n "$(<in)"`},
	{"yq expression", 100_000, chain("1", " + 1", ""), `yq -n "$(<in)"`},
	{"yq expression", 100_000, chain(".a", " | .a", ""), `yq -n "$(<in)"`},
	{"yq expression", 100_000, chain(".", "a.", "a"), `yq -n "$(<in)"; yq -n "$(<in) = 1"`},
	{"yq expression", 100_000, chain("", "1 as $x | ", "1"), `yq -n "$(<in)"`},
	{"yq expression", 500, nest("", "select(", "1", ")", ""), `yq -n "$(<in)"`},
	{"yq expression", 100_000, chain("", "-", "1"), `yq -n "$(<in)"`},
	{"yq values", 1000, nest("a: ", "[", "1", "]", "\n"),
		"for o in yaml json props xml toml lua shell csv; do yq -o $o . in; done; yq '[..] | length' in; yq '. * .' in; yq '. == .' in; yq 'explode(.) | flatten | sort_keys(..) | to_entries' in; yq -P . in"},
	{"yq values", 1000, nest("a: ", "{a: ", "1", "}", "\n"),
		"for o in yaml json props xml toml lua shell csv; do yq -o $o . in; done; yq '. * .' in"},
	{"yq values", 1000, func(n int) string {
		var b strings.Builder
		for i := range min(n, 3000) {
			b.WriteString(strings.Repeat(" ", i) + "a:\n")
		}
		return b.String()
	}, "yq . in; yq -o json . in"},
	{"yq values", 1000, chain("", "- ", "a"), "yq . in"},
	{"yq values", 1000, nest("", "[", "1", "]", ""),
		"yq -p json . in; gron in; json_pp < in; in2csv -f json in; jo a=:in; jo -f in a=1; xan from -f json in"},
	{"yq values", 1000, nest("", `{"a":`, "1", "}", ""), "yq -p json . in; gron in; gron in | gron -u; json_pp < in"},
	{"yq values", 1000, nest("a = ", "[", "1", "]", "\n"), "yq -p toml . in"},
	{"yq values", 1000, nest("a = ", "{a = ", "1", "}", "\n"), "yq -p toml . in"},
	{"yq values", 1000, nest("return ", "{", "1", "}", ""), "yq -p lua . in"},
	{"yq values", 1000, chain("a", ".a", " = 1\n"), "yq -p toml . in; yq -p props . in"},
	{"yq values", 1000, chain("json", "[a]", " = 1;\n"),
		"gron -u in; jo -d . a$(tr -d '\n' < in); jo $(tr -d ' ;\n' < in)"},
	{"yq values", 1000, chain("json", ".a", " = 1;\n"), "gron -u in; jo -d . $(tr -d ' ;\n' < in)"},
	{"xml", 512, nest("", "<a>", "", "</a>", ""),
		"xmllint --format in; xmllint --html in; xmllint --c14n in; xmllint --xpath '//a[a]' in; xmlstarlet el in; yq -p xml . in; xq . in; html-to-markdown in"},
	{"xml", 512, chain("", "<div>", "x"), "xmllint --html in; html-to-markdown in; html2text in"},
	{"xml", 512, chain("", "<b><p>", "x"), "html-to-markdown in"},
	{"xml", 512, lines("<!ENTITY e# \"&e%;\">"),
		`{ echo '<!DOCTYPE a ['; cat in; echo ']><a>&e0;</a>'; } > x; xmllint --noent x; yq -p xml . x`},
	{"xpath", 200, nest("", "(", "1", ")", ""), `echo '<a/>' > x; xmllint --xpath "$(<in)" x`},
	{"xpath", 200, nest("a", "[a", "", "]", ""), `echo '<a/>' > x; xmllint --xpath "$(<in)" x`},
	{"xpath", 100_000, chain("1", "+1", ""), `echo '<a/>' > x; xmllint --xpath "$(<in)" x`},
	{"xpath", 100_000, chain("a", "/a", ""), `echo '<a/>' > x; xmllint --xpath "$(<in)" x`},
	{"xpath", 100_000, chain("a", "|a", ""), `echo '<a/>' > x; xmllint --xpath "$(<in)" x`},
	{"xpath", 200, nest("", "not(", "1", ")", ""), `echo '<a/>' > x; xmllint --xpath "$(<in)" x`},
	{"xan expression", 200, nest("", "(", "1", ")", ""), `printf 'a\n1\n' > t; xan map "$(<in) as b" t`},
	{"xan expression", 100_000, chain("1", " + 1", ""), `printf 'a\n1\n' > t; xan map "$(<in) as b" t`},
	{"xan expression", 100_000, chain("a", " | upper(_)", ""), `printf 'a\n1\n' > t; xan map "$(<in) as b" t`},
	{"xan expression", 100_000, chain("", "-", "1"), `printf 'a\n1\n' > t; xan map "$(<in) as b" t`},
	{"xan expression", 100_000, chain("2", " ** 1", ""), `printf 'a\n1\n' > t; xan map "$(<in) as b" t`},
	{"xan expression", 200, nest("", "upper(", "a", ")", ""), `printf 'a\n1\n' > t; xan map "$(<in) as b" t`},
	{"expr", 10_000, nest("", "( ", "1", " )", ""), `expr $(<in)`},
	{"expr", 100_000, chain("1", " + 1", ""), `expr $(<in)`},
	{"find expression", 100_000, chain("", "! ", "-true"), `find /etc $(<in)`},
	{"find expression", 2000, nest("", "( ", "-true", " )", ""), `find /etc $(<in)`},
	{"find expression", 100_000, chain("-true", " -a -true", ""), `find /etc $(<in)`},
	{"find expression", 100_000, chain("-true", " -true", ""), `find /etc $(<in)`},
	{"find expression", 100_000, chain("-false", " -o -false", ""), `find /etc $(<in)`},
	{"find expression", 100_000, chain("-false", " , -false", ""), `find /etc $(<in)`},
	{"makefile", 1000, nest("x=", "$(call x,", "a", ")", "\na:;@echo $(x)\n"), "make -f in"},
	{"makefile", 1000, nest("x:=", "$(if a,", "a", ")", "\na:;@echo $(x)\n"), "make -f in"},
	{"makefile", 1000, nest("x:=", "$(", "x", ")", "\na:;@echo $(x)\n"), "make -f in"},
	{"makefile", 1000, lines("x#=$(x%)"), "{ cat in; echo 'a:;@echo $(x0)'; } > m; make -f m"},
	{"makefile", 90, nest("f=", "$(if a,", "$(call f)", ")", "\na:;@echo $(f)\n"), "make -f in"},
	{"makefile", 1000, lines("a#: a%"), "make -f in; make -n -k -f in a0"},
	{"makefile", 1000, lines("%.#: %.%"), "make -f in a.0"},
	{"makefile", 1000, lines("include f%"), eachLine + "make -f f0"},
	{"makefile", 1000, chain("", "ifdef a\n", ""), "make -f in"},
	{"makefile", 1000, chain("a:;@echo $(eval ", "$(eval ", "x)"), "make -f in"},
	{"makefile", 1000, count,
		`printf 'f=$(eval x:=$(call f))\n$(call f)\na:;\n' > m; make -f m; printf 'all: m\ninclude m\nm: FORCE ; @touch $@\nFORCE:\n' > m; make -f m`},
	{"sqlite", 1000, nest("select ", "(", "1", ")", ";\n"), "sqlite3 :memory: < in; sqlite3 :memory: '.read in'"},
	{"sqlite", 1000, nest("explain query plan ", "select * from (", "select 1", ")", ";\n"), "sqlite3 :memory: < in"},
	{"sqlite", 25, lines(".read f%"), eachLine + "sqlite3 :memory: '.read f0'"},
	{"directories", 4096, count, descend + "ls -R d; du -a d; tree d; tree -J d; tree -X d; find d; fd . d"},
	{"directories", 4096, count,
		descend + "grep -r x d; rg x d; rg --files d; chmod -R u+w d; chown -R 1000 d; gzip -r d; bzip2 -r d"},
	{"directories", 4096, count,
		descend + "cp -r d e; diff -r d e; tar cf t d; tar cf - -C d . | tar xf - -C e; zip -qr z d; rm -r d"},
	{"rows", 4096, lines("# %"),
		"column --tree-id 1 --tree-parent 2 --tree 1 in; column -r 1 -i 2 -p 1 in; tsort in > /dev/null"},
	{"rows", 4096, lines("--files-from=f%"), eachLine + "tar cf t -T f0; tar cf t -T in"},
	{"rows", 100_000, lines("x#%"),
		"tr 0-4 a-e < in > b; diff in b; diff -d in b; diff3 in b in; sdiff in b; diff -D x in b"},
	{"rows", 1000, chain("", "%c", ""), `date +"$(<in)"; printf "%($(<in))T" 1`},
	{"rows", 1000, chain("", "g/a/", "p"), "printf 'a\n' > t; ed -s t < in; printf '%s\n' 'g/a/g/a/p' | ed -s t"},
	{"rows", 1000, nest("", "[", "lxx", "]", "sxlxx"), "dc -f in; dc -e '[lxx]sxlxx'"},
	{"rows", 1000, nest("", "{", "p", ";}", ""), "sed -f in in"},
	{"rows", 1000, chain("", "é", ""), "iconv -f utf-8 -t latin1//TRANSLIT in; iconv -f utf-8 -t ascii -c in"},
	{"rows", 1000, chain("", "a/", ""),
		`mkdir -p "$(<in)"; realpath -m "$(<in)"; namei "$(<in)"; readlink -f "$(<in)"; for ((i=0;i<1000;i++)); do ln -s l$((i+1)) l$i; done; cat l0; readlink -m l0; namei l0; realpath l0`},
	{"rows", 1000, count,
		`for ((i=0;i<300;i++)); do sleep 9 & done; ps f; pstree; f() { ((n++ < 300)) && ( f ); }; f; kill $(jobs -p)`},
	{"rows", 1000, chain("", "9", ""),
		`factor $(<in); factor 600851475143; printf 'a,b\n"x' > c; csvclean c; xan parse c`},
	{"running script", 1000, nest("", "cat <(", ":", ")", ""), ""},
}

// recursionAttacks are the recursions, ten times as deep as they may be.
var recursionAttacks = func() []attack {
	var out []attack
	for i, r := range recursions {
		out = append(out, attack{name: "recursion " + strconv.Itoa(i) + " " + r.section + ": " + r.script, in: r.in,
			script: r.script, max: 10 * r.bound})
	}
	return out
}()
