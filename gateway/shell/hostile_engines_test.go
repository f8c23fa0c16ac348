//go:build !race

package shell_test

// hostileEngines are what interpreters did not stop for, or did not count; they are in every run.
var hostileEngines = []attack{
	{"yq: minus of minus", repeated("", "- ", "1"), "yq -n --from-file in", 0, true},
	{"yq: operators of merging", repeated("[foo", "*+ .", "]"), "yq -n --from-file in", 1 << 16, true},
	{"jq: names that nobody defines", repeated("a", "|a", ""), "jq -n -f in", 0, true},
	{"jq: a value that is short only with its parts shared", nil,
		`v='reduce range(60) as $i (0; [., .]) | '; for f in debug stderr error halt_error 'try error catch .a' @csv .a; do jq -n "$v$f"; done`, 0, true},
	{"yq: a file name that is a shared value", nil, `yq -n -s 'reduce range(60) as $i (0; [., .])' 1`, 0, true},
	{"html-to-markdown: brackets", repeated("", "[*_", ""), "html-to-markdown in", 0, true},
	{"column: a line of many columns", repeated("", "a ", ""), "column -t in; column -t -O $(printf 0,%.0s {1..2000})0 in",
		0, true},
	{"sed: a script of many lines", repeated("", "p\n", ""), "sed -f in in", 0, true},
	{"date: a format of wide fields", repeated("", "%9999999Y", ""), `date "+$(<in)"`, 0, true},
	{"awk: a format of wide fields", repeated("", "%9999999Y", ""), `awk -v f="$(<in)" 'BEGIN { x = strftime(f) }'`, 0,
		true},
	{"ls: a long format", repeated("", "%c %s %N%+9Y", ""), `ls -l --time-style="+$(<in)" / > f`, 0, true},
	{"printf: a time of wide fields", repeated("", "%9999999Y", ""), `x=$(<in); printf "%($x)T" 1`, 0, true},
	{"jq: a time of wide fields", repeated("", "%9999999Y", ""), `jq -n --arg f "$(<in)" 'now | strftime($f)'`, 0, true},
	{"find: a name of classes that do not end", repeated("", "[[:", ""),
		`find . -name "$(<in)"; find . -name "[[$(<in)*:]"`, 0, true},
	{"GLOBIGNORE of many patterns", repeated("", "[[:", ""), `touch {1..100}; GLOBIGNORE=$(<in); echo * > f`, 0, true},
	{"jo: digits, and many keys", repeated("", "a", "="),
		`x=$(<in); jo a="$x" -- "$x=1" > f; jo -D $(seq -f k%g=1 200000) > f`, 0, true},
	{"date of one character", repeated("", "+", ""), `date -d "$(<in)"; touch -d "$(<in)" f; find . -newermt "$(<in)"`, 0,
		true},
	{"grep -P: a long line that is tried again and again", repeated("", "a", ""),
		`grep -cP '(a+)+b' in; grep -cP '[ab]*x?c' in; grep -cP '(?=a*c)a' in; grep -cP 'a*?c' in`, 0, true},
	{"grep -P: long patterns", repeated("", "[[:alpha:]é](x|y)?", ""),
		`grep -Pi -f in in; grep -P "$(<in)(?<=a|b)" in; rg -e "$(<in)" in`, 0, true},
	{"grep -P: what only Go's matcher knows", repeated("", "a", ""),
		`grep -cP '(?U)(a|aa)*b' in; rg -c '(?U)(a|aa)*[b&&b]' in`, 0, true},
	{"jq: events of a deep stream", repeated("["+nestedBrackets, "1,", "1"), `jq -cn --stream '[inputs] | length' in`, 0,
		true},
}

const nestedBrackets = "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
