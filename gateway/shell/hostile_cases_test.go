//go:build !race

package shell_test

import (
	"slices"
	"strconv"
	"strings"
)

// repeated is a text again and again, between two others.
func repeated(before, s, after string) func(int) string {
	return func(n int) string { return before + strings.Repeat(s, max(n/len(s), 1)) + after }
}

// nested is a text with as many ends as beginnings.
func nested(before, open, mid, end, after string) func(int) string {
	return func(n int) string {
		k := max(n/(len(open)+len(end)), 1)
		return before + strings.Repeat(open, k) + mid + strings.Repeat(end, k) + after
	}
}

// numberedLines is lines in which # is the number of the line and % that of the next.
func numberedLines(s string) func(int) string {
	return func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			b.WriteString(strings.NewReplacer("#", strconv.Itoa(i), "%", strconv.Itoa(i+1)).Replace(s))
			b.WriteByte('\n')
		}
		return b.String()
	}
}

const load = "shopt -s extglob; s=$(<in); "

// attacks are in the order of their names, so that a sample is the same each time.
var attacks = slices.SortedFunc(slices.Values(slices.Concat(hostileScripts, hostileValues, hostileCommands,
	hostileEngines, hostileArchives, hostileProbes)), func(a, b attack) int {
	return strings.Compare(a.name, b.name)
})

// hostileScripts are scripts whose text is deep or long.
var hostileScripts = []attack{
	{"parse (", repeated("", "(", ""), "", 0, false},
	{"parse ( )", nested("", "( ", ":", " )", ""), "", 0, false},
	{"parse {", nested("", "{ ", ":", "; }", ""), "", 0, false},
	{"parse ((", nested("", "((", "1", "))", ""), "", 0, false},
	{"parse $((", nested("echo ", "$((", "1", "))", ""), "", 0, false},
	{"parse $(", nested("echo ", "$(echo ", "1", ")", ""), "", 0, false},
	{"parse quoted $(", nested("echo ", "\"$(echo ", "1", ")\"", ""), "", 0, false},
	{"parse <(", nested("cat ", "<(cat ", "", ")", ""), "", 0, false},
	{"parse backquotes", repeated("", "`echo ", ""), "", 0, false},
	{"parse ${", nested("echo ", "${x:-", "1", "}", ""), "", 0, false},
	{"parse ${a[", nested("echo ", "${a[", "1", "]}", ""), "", 0, false},
	{"parse a[", nested("", "a[", "1", "]", "=1"), "", 0, false},
	{"parse if", nested("", "if ", "true", "; then :; fi", ""), "", 0, false},
	{"parse then", nested("", "if :; then ", ":", "; fi", ""), "", 0, false},
	{"parse elif", repeated("if false; then :", "; elif false; then :", "; fi"), "", 0, false},
	{"parse while", nested("", "while ", "false", "; do :; done", ""), "", 0, false},
	{"parse do", nested("", "for i in 1; do ", ":", "; done", ""), "", 0, false},
	{"parse select", nested("", "select i in; do ", ":", "; done", ""), "", 0, false},
	{"parse case", nested("", "case x in x) ", ":", ";; esac", ""), "", 0, false},
	{"parse case items", repeated("case x in ", "y) : ;; ", "esac"), "", 0, false},
	{"parse case patterns", repeated("case x in y", "|y", ") : ;; esac"), "", 0, false},
	{"parse functions", nested("", "f() { ", ":", "; }", ""), "", 0, false},
	{"parse f()f()", repeated("", "f()", ":"), "", 0, false},
	{"parse function f", repeated("", "function f ", "{ :; }"), "", 0, false},
	{"parse !", repeated("", "! ", "true"), "", 0, false},
	{"parse time", repeated("", "time ", "true"), "", 0, false},
	{"parse coproc", repeated("", "coproc ", "true"), "", 0, false},
	{"parse |", repeated(":", "|:", ""), "", 0, false},
	{"parse &&", repeated(":", " && :", ""), "", 0, false},
	{"parse ||", repeated(":", " || :", ""), "", 0, false},
	{"parse ;", repeated("", ":;", ""), "", 0, false},
	{"parse &", repeated("", ":&", ""), "", 0, false},
	{"parse [[ !", repeated("[[ ", "! ", "a ]]"), "", 0, false},
	{"parse [[ (", nested("[[ ", "( ", "a", " )", " ]]"), "", 0, false},
	{"parse [[ &&", repeated("[[ a", " && a", " ]]"), "", 0, false},
	{"parse [[ ||", repeated("[[ a", " || a", " ]]"), "", 0, false},
	{"parse here-documents", repeated("", "cat <<A\n$(", ""), "", 0, false},
	{"parse here-documents of a command", repeated("cat", " <<A", "\n"), "", 0, false},
	{"parse here-strings", repeated("cat", " <<<a", "\n"), "", 0, false},
	{"parse redirections", repeated(":", " <in", "\n"), "", 0, false},
	{"parse words", repeated(":", " a", "\n"), "", 0, false},
	{"parse word parts", repeated(": ", `"a"'b'$c`, "\n"), "", 0, false},
	{"parse assignments", repeated("", "a=1 ", "\n"), "", 0, false},
	{"parse array", repeated("a=(", "1 ", ")\n"), "", 0, false},
	{"parse arrays", repeated("", "a=(", "\n"), "", 0, false},
	{"parse extglob", nested("shopt -s extglob\n: ", "@(", "a", ")", "\n"), "", 0, false},
	{"parse extglob |", repeated("shopt -s extglob\n: @(a", "|a", ")\n"), "", 0, false},
	{"parse braces", nested(": ", "{a,", "b", "}", "\n"), "", 0, false},
	{"parse brace commas", repeated(": {a", ",a", "}\n"), "", 0, false},
	{"parse brace product", repeated(": ", "{a,b}", "\n"), "", 0, false},
	{"parse ranges", repeated(": ", "{1..9}", "\n"), "", 0, false},
	{"parse [", repeated(": ", "[", "\n"), "", 0, false},
	{"parse $'", repeated(": $'", `\x41`, "'\n"), "", 0, false},
	{"parse lines", repeated("", "\n", ""), "", 0, false},
	{"parse comments", repeated("", "#\n", ""), "", 0, false},
	{"parse \\", repeated("", "\\\n", ":"), "", 0, false},
	{"parse let", repeated("let ", "1+", "1"), "", 0, false},
	{"parse for ((", repeated("for ((", "1+", "1;0;)); do :; done"), "", 0, false},
	{"parse errors in arithmetic", repeated("", ": $((a b))\n", ""), "", 0, false},
	{"parse errors in subscripts", repeated("", "a[b c]=1\n", ""), "", 0, false},
	{"parse bad substitutions", repeated("", ": ${a b}\n", ""), "", 0, false},
	{"eval deep", repeated("", "(", ""), `eval "$(<in)"`, 0, false},
	{"eval long", repeated("", ":;", ""), `s=$(<in); while :; do eval "$s"; done`, 0, false},
	{"source deep", repeated("", "{ ", ""), ". ./in", 0, false},
	{"alias of alias", numberedLines("alias a#='a% '"), ". ./in; shopt -s expand_aliases; eval a0 a0 a0", 0, false},
	{"alias that doubles", numberedLines("alias a#='a%; a%'"), ". ./in; shopt -s expand_aliases; eval a0", 1 << 10, false},
	{"declare -f", nested("f() { ", "{ ", ":", "; }", "; }"), ". ./in; declare -f", 0, false},
	{"declare -f of ()", nested("f() { ", "( ", ":", " )", "; }"), ". ./in; declare -f", 0, false},
	{"arrays of wrong words", repeated("", "x=(;)\n", ""), ". ./in 2> /dev/null", 0, false},
	{"text that is read again for each alias", repeated("shopt -s expand_aliases\n", "alias a=b\n", ""), ". ./in", 0,
		false},
	{"subscripts with expansions", repeated("k=']]['; echo $((a[", "[$k", "]))"), ". ./in 2> /dev/null", 0, false},
	{"negations of nothing", repeated("", "! ", ""), ". ./in 2> /dev/null", 0, false},
	{"globstar again and again", nil,
		"shopt -s globstar; mkdir -p {a..e}/{a..e}/{a..e}/{a..e}; echo **/*/**/*/**/*/**/*/**/*/**/*/**/*/** > /dev/null", 0,
		false},
	{"declare -f of &&", repeated("f() { :", " && :", "; }"), ". ./in; declare -f", 0, false},
	{"declare -f of [[", nested("f() { [[ ", "( ", "a", " )", " ]]; }"), ". ./in; declare -f", 0, false},
	{"declare -f of |", repeated("f() { :", "|:", "; }"), ". ./in; declare -f", 0, false},
	{"declare -f of elif", repeated("f() { if :; then :", "; elif :; then :", "; fi; }"), ". ./in; declare -f", 0, false},
	{"function that calls itself", nil, "f() { f; }; f", 0, false},
	{"function that calls itself in $()", nil, "f() { x=$(f); }; f", 0, false},
	{"function that calls itself in a condition", nil, "f() { if f; then :; fi; }; f", 0, false},
	{"eval of eval", nil, `e='eval "$e"'; eval "$e"`, 0, false},
	{"source of source", nil, "echo '. ./s' > s; . ./s", 0, false},
	{"traps", nil, "trap 'trap_; f' ERR DEBUG RETURN; set -ET; f() { false; f; }; f", 0, false},
	{"bash -c of bash -c", nil, `export e='bash -c "$e"'; bash -c "$e"`, 0, false},
	{"command_not_found_handle", nil, "command_not_found_handle() { nosuch; }; nosuch", 0, false},
	{"nameref chain", numberedLines("declare -n r#=r%"), ". ./in; echo $r0; r0=1", 1 << 16, false},
	{"nameref that names itself", nil, "declare -n a=b b=a; echo $a; a=1; unset a; declare -n c='d[c]'; echo $c", 0,
		false},
	{"indirection", numberedLines("r#=r%"), ". ./in; echo ${!r0}", 1 << 16, false},
	{"completion", nil, "_f() { compgen -F _f x; }; compgen -F _f x", 0, false},
	{"PS4", nil, "PS4='$(echo x)$PS4'; set -x; echo ${PS4@P}", 0, false},
	{"prompt", repeated("", `\$(echo `, ""), load + `echo "${s@P}"`, 0, false},
}

// hostileValues are variables, patterns and expressions that are deep or long.
var hostileValues = func() []attack {
	var out []attack
	for name, in := range map[string]func(int) string{
		"||": repeated("a", "||a", ""), "&&": repeated("1", "&&1", ""), "+": repeated("1", "+1", ""),
		"**": repeated("1", "**1", ""), "?:": repeated("", "1?1:", "1"), "? in ?": nested("", "1?", "1", ":1", ""),
		",": repeated("1", ",1", ""), "(": nested("", "(", "1", ")", ""), "-": repeated("", "-", "1"),
		"- -": repeated("", "- ", "1"), "!": repeated("", "!", "1"), "++": repeated("", "++", "a"),
		"a[": nested("", "a[", "1", "]", ""), "a[ open": repeated("", "a[", ""),
		"a=": repeated("", "a=", "1"), "digits": repeated("", "1", ""), "spaces": repeated("", " ", "1"),
		"1 1": repeated("", "1 ", ""), "rising": repeated("", "1|1^1&1==1<1<<1+1*", "1"), "a[1]": repeated("1", "+a[1]", ""),
		"a++": repeated("a", "+a++", ""), "a[i]=": repeated("", "a[1]=", "1"),
	} {
		for _, use := range []struct{ name, script string }{
			{"arith", "echo $((s)) $(($s))"}, {"arith text", `eval "echo \$(($s)); (($s)); x=\${y:$s}"`},
			{"arith -eq", `[[ $s -eq 1 ]]; [ "$s" -eq 1 ]; declare -i x="$s"; let "$s"; printf -v y %d "$s"`},
			{"arith [", `b[s]=1; echo ${b[$s]} "${s:s}"`},
		} {
			out = append(out, attack{use.name + " " + name, in, load + use.script, 0, false})
		}
	}
	for name, in := range map[string]func(int) string{
		"a": repeated("", "a", ""), "space": repeated("", " ", ""), "words": repeated("", "ab ", ""),
		"lines": repeated("", "a\n", ""), "*a": repeated("", "*a", ""), "?": repeated("", "?", ""),
		"[": repeated("", "[", ""), "[a": repeated("", "[a", ""), "[[:": repeated("", "[[:", ""),
		"[[:alpha:]]": repeated("", "[[:alpha:]]", ""),
		"[a-z]":       repeated("", "[a-z]", ""), "one class": repeated("[", "a-bxé", "]"),
		"class of classes": repeated("[", "[:alpha:]", "]"), "[.": repeated("[", "[.", "]"), "\\": repeated("", "\\", ""),
		"\\a": repeated("", "\\a", ""), "+(": repeated("", "+(", ""), "+(a)": repeated("", "+(a)", ""),
		"@(a|b)": repeated("@(", "a|", "b)"),
		"@(@(":   nested("", "@(", "a", ")", ""), "!(": nested("", "!(", "a", ")", ""),
		"*(*(":    nested("", "*(", "a", ")", ""),
		"invalid": repeated("", "\xff", ""), "é": repeated("", "é", ""), "'": repeated("", "'", ""),
		"\\001": repeated("", "\001", ""), "{a,": repeated("", "{a,", ""), "/a": repeated("", "/a", ""),
		"**/": repeated("", "**/", ""), "%d": repeated("", "%d", ""),
		"%9999d": repeated("", "%9999d", ""), "\\x": repeated("", `\x41`, ""), "$": repeated("", "$", ""),
		"()": repeated("", "()", ""), "(": repeated("", "(", ""), "a|": repeated("", "a|", ""), "a*": repeated("", "a*", ""),
		"((a)": nested("", "(", "a", ")", ""), "(a*)*": nested("", "(", "a", ")*", ""), "{1000}": repeated("a", "{1000}", ""),
		"(a{99}": nested("", "(", "a", "{99})", ""), "~": repeated("", "~", ""),
		"a=b:": repeated("", "a=b:", ""), "!!": repeated("", "!!", ""), "1": repeated("", "1", ""),
		"-": repeated("", "-", ""),
	} {
		for _, use := range []struct{ name, script string }{
			{"subject", `[[ $s == +(a) ]]; [[ $s == *(a|b|?) ]]; [[ $s == !(b) ]]; [[ $s == @(a|aa)*(?)b ]]; [[ $s == *a*a*a*b ]]; case $s in +([[:alpha:]])) ;; esac`},
			{"trim", `x=${s%%+([[:space:]])} x=${s##+([[:space:]])} x=${s%+(a)} x=${s#+(a)} x=${s%%*(a)} x=${s##*a} x=${s%a*} x=${s%%*([a-z ])b}`},
			{"replace", `x=${s//a/bb} x=${s//?/x} x=${s//+(a)/b} x=${s/%+(a)/b} x=${s/#+(a)/b} x=${s//[[:alpha:]]/} x=${s^^} x=${s,,a} x=${s//!(a)/b} x=${s~~}`},
			{"pattern", `[[ $s == $s ]]; [[ aaaa == $s ]]; case $s in $s) ;; esac; x=${s#$s} x=${s##$s} x=${s%$s} x=${s%%$s}`},
			{"pattern replace", `x=${s/$s/a} x=${s//$s/b} x=${s//a/$s}`},
			{"pattern nocase", `shopt -s nocasematch; [[ $s == $s ]]; [[ aaaa == $s ]]; x=${s//$s/b}`},
			{"glob", `shopt -s globstar dotglob; echo $s; echo /tmp/$s*; compgen -G "$s"; GLOBIGNORE=$s; echo *`},
			{"=~", `[[ aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab =~ $s ]]; [[ $s =~ $s ]]; [[ $s =~ (a|aa)+$ ]]; [[ $s =~ ^(a*)*b ]]`},
			{"quote", `printf %q "$s"; x=${s@Q}; x=${s@E}; x=${s@A}; declare -p s; set; export s; printf '%b' "$s"; echo -e "$s"; x=${s@K}; printf -v y %q "$s$s"; alias a="$s"; alias; trap "$s" USR1; trap`},
			{"fields", `set -- $s; IFS=a; set -- $s; IFS=$s; set -- $s; x=$*; read -a b <<< "$s"; read -N 1000000000 x < in; mapfile -t c < in; mapfile -d a d < in; for i in $s; do :; done; x="${c[*]}" e=("${c[@]/a/b}")`},
			{"printf", `printf "$s" 1 > /dev/null; printf "%s$s" a; printf '%(%Y)T' "$s"; printf "%($s)T" 1; printf %d "$s"; printf %f "$s"; printf %c "$s"`},
			{"words", `compgen -W "$s"; complete -W "$s" x; getopts "$s" y "$s"; type "$s"; hash "$s"; cd "$s"; [ -f "$s" ]; [ "$s" = "$s" ]; kill "$s"; ulimit "$s"; umask "$s"; . "$s"; command "$s"; test $s; let "$s"; declare "$s"; export "$s=1"; unset "$s"; read "$s" < in; wait "$s"; exec {y}<"$s"; history -s "$s"; fc -l; bind "$s"; shopt "$s"; set -o "$s"; enable "$s"; printf -v "$s" x`},
			{"eval", `eval "echo $s"; eval "echo {$s}"; eval "echo \"$s\""; eval "$s"; x=${s@P}; echo "${!s}" "${!s*}"; declare -n r=s; r=$s$s; echo ${#r}; declare -A m; m[$s]=$s; echo "${!m[@]}" "${m[$s]}"; cat <<< "$s$s" > /dev/null`},
		} {
			out = append(out, attack{"value " + name + " " + use.name, in, load + use.script, 0, false})
		}
	}
	// Those of issue reports, in every run.
	out = append(out, []attack{
		{"+(a) of a long text", repeated("", "a", ""), load + "[[ $s == +(a) ]]; x=${s##+(a)} x=${s%%+(a)}", 0, true},
		{"+([[:space:]]) of a long text", repeated("", " ", ""), load + "x=${s%%+([[:space:]])} x=${s##+([[:space:]])}", 0,
			true},
		{"a||a of millions of terms", repeated("a", "||a", ""), load + "echo $((s))", 0, true},
		{"awk: getline < getline", repeated("BEGIN { x = ", "getline < ", "a }"), "awk -f in", 0, true},
		{"a regular expression of one long literal", repeated("", "a", ""),
			`grep -F -f in in; grep -e "$(<in)" in; sed -n "/$(<in)/p" in`, 0, true},
		{"a script of spaces", repeated("echo $((", " ", "1))"), `eval "$(<in)"`, 0, true},
		{"a pattern of open brackets", repeated("", "[[:", ""), load + "[[ aaaa == $s ]]", 0, true},
		{"an IFS of many characters", repeated("", "\xff", ""), load + "IFS=$s; set -- $s", 0, true},
	}...)
	return append(out, []attack{
		{"arith chain of variables", numberedLines("a#=a%"), ". ./in; echo $((a0))", 1 << 20, false},
		{"arith that names itself", nil,
			"a=a; echo $((a)); b='b[b]'; echo $((b)); c='c+c'; echo $((c)); d='e[$d]'; echo $((d))", 0, false},
		{"arith that doubles", numberedLines("a#=a%+a%"), ". ./in; echo $((a0))", 1 << 10, false},
		{"sparse array", nil,
			"a[9223372036854775807]=1; a+=(1); echo ${a[@]} ${a[@]:1:2} ${#a[@]} ${!a[@]}; a=([1000000000]=1 2 3); for ((i=0;;i+=1000000)); do a[i]=1; done", 0, false},
		{"array slices", nil,
			"mapfile a < <(seq 300000); while :; do b=(${a[@]:100:200000}); c=(${b[@]/1/2}); d=${a[*]}; unset 'a[5]'; done", 0,
			false},
		{"brace ranges", nil,
			"echo {1..1000000000} > /dev/null; echo {a..z}{a..z}{a..z}{a..z}{a..z} > /dev/null; echo {1..9223372036854775807..9223372036854775806} {00000000001..2}", 0, false},
		{"printf widths", nil,
			"printf '%2000000000d' 1 > /dev/null; printf -v x '%*s' 2000000000 a; printf '%.2000000000d' 1 > /dev/null; printf '%.2000000000f' 1 > /dev/null; printf '%-2000000000s|' 1 > /dev/null", 0, false},
		{"printf precision", nil,
			"printf '%.1000000000f' 1.1 > /dev/null; printf '%.1000000000g' 1.1 > /dev/null; printf '%.100000000a' 1.1 > /dev/null; printf '%.*e' 500000000 1 > /dev/null; printf %f 1e4000", 0, false},
		{"read -n", nil, "read -N 1000000000 x < /dev/zero; read -n 1000000000 x < <(yes); read -d x y < <(yes)", 0, false},
		{"mapfile", nil, "mapfile a < <(yes)", 0, false},
		{"mapfile callback", nil, "mapfile -C : -c 1 a < <(yes)", 0, false},
		{"doubling", nil, "s=aaaaaaaa; while :; do s=$s$s; done", 0, false},
		{"doubling by //", nil, "s=aaaaaaaa; while :; do s=${s//a/aa}; done", 0, false},
		{"doubling by ${s@Q}", nil, `s="'"; while :; do s=${s@Q}; done`, 0, false},
		{"doubling of array", nil, `a=(1 2 3); while :; do a+=("${a[@]}"); done`, 0, false},
		{"doubling of lines", nil, `echo a > f; while :; do s=$(<f); echo "$s$s" > f; done`, 0, false},
		{"doubling here-document", nil, "s=aaaaaaaa; while :; do s=$(cat <<A\n$s$s\nA\n); done", 0, false},
		{"doubling by printf", nil, `s=aaaaaaaa; while :; do printf -v s '%s%s' "$s" "$s"; done`, 0, false},
		{"doubling by brace", nil, `s=a,b; while :; do eval "s={$s}{$s}"; eval "echo {$s}{$s}" > /dev/null; s=$s,$s; done`, 0,
			false},
		{"many variables", nil, `for ((i=0;;i++)); do declare "v$i=$i"; done`, 0, false},
		{"many functions", nil, `for ((i=0;;i++)); do eval "f$i() { :; }"; done`, 0, false},
		{"many local scopes", nil,
			`f() { local a$1=1; (($1 < 900)) && f $(($1+1)); compgen -v; }; while :; do f 0; done > /dev/null`, 0, false},
		{"many jobs", nil, `while :; do : & done`, 0, false},
		{"dirstack", nil, `while :; do pushd -n /tmp/aaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done > /dev/null`, 0, false},
	}...)
}()
