//go:build !race

package shell_test

// hostileCommands are programs of the commands' own languages, and their operands.
var hostileCommands = func() []attack {
	var out []attack
	add := func(name string, in func(int) string, script string) {
		out = append(out, attack{name, in, script, 0, false})
	}
	for name, in := range map[string]func(int) string{
		"(": nested("", "(", "1", ")", ""), "( open": repeated("", "(", ""), "-": repeated("", "-", "1"),
		"- -": repeated("", "- ", "1"), "!": repeated("", "!", "1"), "+": repeated("1", "+1", ""),
		"^": repeated("1", "^1", ""), "&&": repeated("1", "&&1", ""), "||": repeated("1", "||1", ""),
		"?:": repeated("", "1?1:", "1"), "? in ?": nested("", "1?", "1", ":1", ""), ",": repeated("1", ",1", ""),
		"$": repeated("", "$", "1"), "a=": repeated("", "a=", "1"), "a a": repeated("a", " a", ""),
		"a[": nested("", "a[", "1", "]", ""), "f(": nested("", "length(", "1", ")", ""), "++": repeated("", "++", "a"),
		"digits": repeated("", "1", ""), "<": repeated("1", "<1", ""), "~": repeated("1", "~1", ""),
		"in": repeated("1", " in a", ""), "getline": repeated("", "getline < ", "a"),
		"| getline": repeated("a", "|getline", ""), "string": repeated("\"", "a", "\""),
		"/regex/": repeated("/", "(a|b)*", "/"), "/((/": nested("/", "(", "a", ")", "/"), "%": repeated("1", "%1", ""),
	} {
		add("awk "+name, in, `{ echo -n 'BEGIN { x = '; cat in; echo '; print x }'; } > p; awk -f p`)
		add("bc "+name, in, `{ echo -n 'x = '; cat in; echo; } > p; bc p < /dev/null; bc -c p < /dev/null`)
		add("expr "+name, in, `expr $(<in); expr $(sed 's/\([^ ]\)/\1 /g' in)`)
		add("test "+name, in, `[ $(sed 's/\([^ ]\)/\1 /g' in) ]; test $(<in)`)
		add("find "+name, in, `find $(sed 's/\([^ ]\)/\1 /g; s/1/-true/g; s/&&/-a/g; s/||/-o/g' in)`)
		add("make "+name, in, `{ echo -n 'x := $(if '; tr 1 x < in; echo ')'; echo 'a:;'; } > m; make -f m`)
		add("dc "+name, in, `dc -f in; dc -e "[$(<in)]xp"`)
		add("date "+name, in, `date -d "$(<in)"; date "+$(<in)"`)
		add("jq "+name, in, `jq -n -f in; jq . in`)
		add("yq "+name, in, `yq -n --from-file in; yq . in`)
		add("sqlite3 "+name, in, `{ echo -n 'select '; cat in; echo ';'; } | sqlite3`)
		add("xpath "+name, in, `echo '<a/>' > x; xmllint --xpath "$(<in)" x`)
	}
	for name, in := range map[string]func(int) string{
		"(": repeated("", "(", ""), "(a)": nested("", "(", "a", ")", ""), `\(a\)`: nested("", `\(`, "a", `\)`, ""),
		"(a)(a)": repeated("", "(a)", ""), "(a*)*": nested("", "(", "a", ")*", ""), "(?:": nested("", "(?:", "a", ")", ""),
		"(?=": nested("", "(?=", "a", ")", ""), "(?<=": nested("", "(?<=", "a", ")", ""),
		"(?>": nested("", "(?>", "a", ")", ""),
		"a|":  repeated("", "a|", ""), `a\|`: repeated("", `a\|`, ""), "abc|": repeated("", "abc|abd|b", ""),
		"a*": repeated("", "a*", ""), ".*": repeated("", ".*", "b"), "a?": repeated("", "a?", "a"),
		"[": repeated("", "[", ""), "[a]": repeated("", "[a]", ""), "one class": repeated("[", "a-z", "]"),
		"[[:alpha:]]": repeated("", "[[:alpha:]]", ""), "[^é]": repeated("", "[^é]", ""),
		"{1000}": repeated("a", "{1000}", ""), `\{99\}`: repeated("a", `\{99\}`, ""),
		"((a{99}){99}": nested("", "(", "a", "{99})", ""), "(a{0,255}": nested("", "(", "a|b", "){0,255}", ""),
		"literal": repeated("", "abcdefgh", ""), "é": repeated("", "é", ""), `\`: repeated("", `\`, ""),
		`\b`: repeated("", `\b`, ""), `\1`: repeated(`\(a*\)`, `\1`, ""), `(a)\1`: repeated("(a*)", `\1`, ""),
		"^": repeated("", "^", ""), "$": repeated("", "$", ""), ".": repeated("", ".", ""), "(?R)": repeated("a", "(?R)", ""),
		"(?i)": repeated("", "(?i)", "a"), `\Q`: repeated("", `\Qa\E`, ""), "invalid": repeated("", "\xff", ""),
		"a+b": repeated("(a+)+", "(a+)+", "b"), "(?1)": repeated("(a|b(?1))", "(?1)", ""), "**": repeated("", "*", ""),
		"++": repeated("a", "+", ""), `\p{L}`: repeated("", `\p{L}`, ""),
	} {
		const load = `head -c 3000 /dev/zero | tr '\0' a > a; seq 2000 > w; `
		add("regex -E "+name, in, load+`grep -E -f in a w; grep -Ei -f in a w; grep -Eo -f in a`)
		add("regex -G "+name, in, load+`grep -f in a w; grep -wf in a; grep -xf in a`)
		add("regex -P "+name, in, load+`grep -P -f in a w; grep -P "$(<in)" a w; grep -Pi "$(<in)" a`)
		add("regex -F "+name, in, load+`grep -F -f in a w; fold -w 20 in > f; grep -F -f f w; grep -Fi -f f w`)
		add("regex sed "+name, in,
			load+`{ echo -n 's/'; tr -d / < in; echo '/x/g'; } > p; sed -f p a; sed -E -f p a; sed -En "/$(<in)/p" a`)
		add("regex awk "+name, in,
			load+`awk -v r="$(<in)" '$0 ~ r { n++ } { gsub(r, "x"); split($0, z, r); match($0, r) }' a w; awk -F "$(<in)" '{ print $2 }' a; awk -v RS="$(<in)" '{ print }' a`)
		add("regex expr "+name, in,
			load+`expr aaaaaaaaaaaaaaaaaaaab : "$(<in)"; find . -regex "$(<in)"; find . -regextype posix-extended -regex "$(<in)"; ed a <<< "g/$(<in)/p"; csplit a "/$(<in)/"; nl -b p"$(<in)" a; tac -r -s "$(<in)" a`)
		add("regex rg "+name, in,
			load+`rg -e "$(<in)" .; rg -P -e "$(<in)" .; rg -f in .; fd "$(<in)"; rg -U "$(<in)" .; rg -i "$(<in)" .`)
		add("regex jq "+name, in,
			load+`jq -Rn --arg r "$(<in)" '"aaaaaaaaaaaaaaaaaaaaaab" | test($r), gsub($r; "x")'; yq -n "\"aaa\" | test(\"$(<in)\")"`)
		add("glob "+name, in,
			load+`find . -name "$(<in)"; find . -path "$(<in)" -o -iname "$(<in)"; rg -g "$(<in)" a .; cp in .gitignore; rg --files; fd -g "$(<in)"; tree -I "$(<in)"; tar cf x.tar --exclude="$(<in)" a; du --exclude="$(<in)"; ls -I "$(<in)"; grep -r --include="$(<in)" a .; diff -r -x "$(<in)" . .; zip -q x.zip a -x "$(<in)"; unzip -l x.zip "$(<in)"; cpio -o < <(ls) | cpio -t "$(<in)"`)
	}
	for name, in := range map[string]func(int) string{
		"a": repeated("", "a", ""), "1": repeated("", "1", ""), "9.9": repeated("9.", "9", ""),
		"words": repeated("", "ab ", ""), "lines": repeated("", "a\n", ""), "empty lines": repeated("", "\n", ""),
		"numbers": numberedLines("#"), "pairs": numberedLines("# %"), "tabs": repeated("", "\t", ""),
		"a,": repeated("", "a,", ""), "1,": repeated("", "1,", "1"), "%": repeated("", "%", ""), "%d": repeated("", "%d", ""),
		"\\n": repeated("", "\\n", ""),
		"[":   repeated("", "[", ""), "{": repeated("", "{", ""), `{"a":`: repeated("", `{"a":`, ""),
		"<a>": nested("", "<a>", "", "</a>", ""), "<a": repeated("", "<a ", ""), "a: ": repeated("", "a:\n ", ""),
		"- ": repeated("", "- ", "a"), "/a": repeated("", "/a", ""), "../": repeated("", "../", ""),
		"a/../": repeated("", "a/../", ""), "NUL": repeated("", "\x00", ""), "é": repeated("", "é", ""),
		"invalid": repeated("", "\xff", ""),
		"\x1b[":   repeated("", "\x1b[1m", ""), "\b": repeated("a", "\b", ""),
		"diff": numberedLines("--- a\n+++ b\n@@ -#,1 +#,1 @@\n-#\n+%"), "+": repeated("", "+", ""),
		"a-z": repeated("", "a-z", ""), "@@": repeated("--- a\n+++ b\n", "@@ -1,99999999 +1,99999999 @@\n", ""),
		"s": repeated("", "s/a/b/;", ""), "{;": repeated("", "{;", ""), "{p}": nested("", "{", "p", ";}", ""),
		"g/a/": repeated("", "g/a/", "p"), "$(": nested("", "$(", "x", ")", ""), "${": nested("", "${", "x", "}", ""),
		"include": repeated("", "include in\n", ""), "ifdef": repeated("", "ifdef a\n", ""),
		"define": repeated("", "define a\n", ""), "targets": numberedLines("a#: a%"),
		"$(call": nested("x=$(call x,", "$(call x,", "a", ")", ")\n$(call x,1)\n"), "rules": numberedLines("%.#: %.%"),
		"[x]": nested("", "[", "d1+", "]", "x"), "1 ": repeated("", "1 ", ""), "m^": repeated("", "9^", "9"),
		"define f": numberedLines("define f#(x) { return f%(x) }"), "if": nested("", "if (1) { ", "1", " }", ""),
		"if if":   repeated("", "if (1) ", "x = 1"),
		"else if": repeated("if (0) x = 1", "; else if (0) x = 1", ""), "while": repeated("", "while (0) ", "x = 1"),
		"function": numberedLines("function f#(x) { return f%(x) }"), "BEGIN": repeated("", "BEGIN { x = 1 }\n", ""),
		"print >": repeated("BEGIN { print 1", " > 2", "}"), "{ }": nested("BEGIN ", "{", "x = 1", "}", ""),
		"switch": nested("BEGIN {", "switch (1) { case 1: ", "x = 1", "}", "}"),
	} {
		for _, use := range []struct{ name, script string }{
			{"awk program", `awk -f in < in; awk -o- -f in`},
			{"awk", `awk '{ x = x $0; n += NF; $1 = ""; a[$0] = NR; y = toupper(x) } END { print length(x), substr(x, 2), n; asort(a); printf "%s %d %c", x, x, x; print x + 0, -x, x * x; split(x, b, ""); for (i in b) s = s b[i] i }' in; awk -v FS=, -v OFS="$(<in)" '{ $3 = 1; print NF, $NF }' in; awk -v RS= '{ print $2 }' in; awk '{ printf $0 }' in; awk '{ gsub(/a/, "&&&&&&&&"); gsub(//, "x"); print gensub(/(.)/, "\\1\\1", "g") }' in`},
			{"sed program", `sed -f in in; sed -E -n -f in in; sed "$(<in)" in`},
			{"sed", `sed ':a;N;$!ba;s/\n/x/g;y/a/b/;l;s/./&&/g;s/a*/x/3;D' in; sed -n 'H;x;G;x;${p;l 3}' in; sed = in; sed '1~2{N;P;D}' in; sed "s/a/$(tr -d '/\n' < in)/g" in`},
			{"bc", `bc in < /dev/null; bc -l in < /dev/null; { echo -n 'x='; tr -dc '0-9.' < in; echo; echo 'x*x;x/3;sqrt(x);x^9;obase=7;x;length(x);scale=1000;1/x'; } | bc`},
			{"dc", `dc -f in; { tr -dc '0-9.' < in; echo ' d*p dd*/p v p 3 10^k 7/p 2o p Z p zp f'; } | dc`},
			{"expr", `x=$(<in); expr "$x" + 1; expr "$x" \* "$x"; expr "$x" / 7; expr 1 % "$x"; expr length "$x"; expr index "$x" z; expr substr "$x" 2 10; expr "$x" : '\(a*\)*'; expr "$x" \< "$x"; test "$x" -eq 1; [ "$x" = "$x" ]`},
			{"numbers", `x=$(<in); factor "$x"; factor < in; numfmt --to=iec "$x"; numfmt < in; numfmt --format="$x" 1; seq "$x" | head -n 3; seq 1 "$x" 3; seq -f "$x" 3; seq -s "$x" 3; seq -w 1 "$x" | head; printf '%d %f %x' "$x" "$x" "$x"; shuf -i 1-"$x" -n 1; sleep 0"$x" & kill $!; head -c "$x" in; tail -n "$x" in; split -l "$x" in; truncate -s "$x" f; dd bs="$x" count=1 < in; timeout "$x" true; cut -c "$x" in; tr "$x" "$x" < in; expand -t "$x" in; fold -w "$x" in; date -d "@$x"; nice -n "$x" true; cal "$x"; base64 -w "$x" in; xxd -l "$x" in; od -j "$x" in; pr -l "$x" in; fmt -w "$x" in`},
			{"sort", `sort in; sort -n in; sort -g in; sort -h in; sort -V in; sort -M in; sort -f -d -i in; sort -R in; sort -u in; sort -k 2,2 -k 1.3 in; sort -t, -k1000 in; uniq -c in; uniq -f 3 -s 2 -i in; comm in in; join in in; join -t, in in; tsort in; shuf in; tac in; tac -s a in; look a in; sort --debug in`},
			{"lines", `cut -c 5- in; cut -d, -f 2,5- --output-delimiter="$(<in)" in; paste in in; paste -s -d "$(<in)" in; fold -s -w 7 in; fmt -w 20 in; fmt -u in; pr -m in in; pr -3 -J in; nl in; column -t in; column -s , -t in; column in; expand in; unexpand -a in; rev in; wc in; wc -L in; head -n -1 in; tail -c +2 in; ptx in; ul in; col in; colrm 3 in; strings in; look in`},
			{"bytes", `od -c in; od -w1000000 -A x in; xxd in; xxd -r in; xxd -p in; hexdump -C in; base64 in; base64 -d in; base32 -d in; basenc --z85 -d in; md5sum -c in; sha256sum in; cksum in; iconv -f latin1 -t utf-16 in; iconv -f utf-8 -t ascii//TRANSLIT in; dos2unix -c mac in; gzip -kc in | gunzip > /dev/null; gunzip < in; bzip2 -dc in; xz -dc in; zstd -dc in; unzip -l in; tar tf in; cpio -t < in; ar t in; file in; split -n l/3 in; csplit -z in 2 '{*}'; tr a-z A-Z < in; tr -cs a-z '\n' < in; tr -d "$(<in)" < in; tr "$(<in)" a < in; tr '[a*100000000]' b < in`},
			{"diff", `seq 1000 > b; diff in b; diff -u b in; diff -y in b; diff -w -B -b in b; diff -d in b; sdiff in b; diff3 in b in; cmp -l in b; comm in b; diff -e b in > e; patch -e b e; diff --color=always -c in b; diff -D x in b; tr a b < in > c; diff in c; diff -i --strip-trailing-cr in c`},
			{"patch", `seq 1000 > a; patch -f a in; patch -p0 -f < in; patch -R -f -p1 --dry-run < in; patch -f -F3 -i in; patch --ed -f a in`},
			{"ed", `seq 100 > a; ed -s a < in; ed -s in <<< $',p\n1,$j\ns/a/b/g\ng/a/s//xx/\nu\nw\nq'; ed -s in <<< $'g/./m0\nv/b/d\n,l\n,n'`},
			{"make", `make -f in; make -n -k -f in a0; { echo -n 'x = '; tr '\n' ' ' < in; echo; echo 'a:; @echo $(subst a,bb,$(x)) $(sort $(x)) $(words $(x)) $(patsubst a%,b%,$(x)) $(filter a%,$(x)) $(wildcard $(x)) $(foreach i,$(x),$(i)) $(realpath $(x)) $(abspath $(x)) $(word 2,$(x))'; } > m; make -f m a; { echo -n 'define x'; echo; cat in; echo; echo endef; echo '$(eval $(x))'; echo 'a:;'; } > m; make -f m a`},
			{"names", `x=$(<in); basename "$x"; dirname "$x"; realpath -m "$x"; realpath -e "$x"; readlink -f "$x"; mkdir -p "$x"; touch $x; ls "$x"; stat "$x"; stat -c "$x" .; stat --printf="$x" .; cat $x; rm -f $x; find . -printf "$x"; find $x; ln -s "$x" l; cat l; cp in "$x"; mv in "$x"; chmod "$x" .; chown "$x" .; test -e "$x"; pathchk "$x"; mktemp "$x"; date +"$x"; rename "$x" b .; namei "$x"; file "$x"; tree "$x"; du $x`},
			{"args", `x=$(<in); xargs echo < in; xargs -n 1 true < in; xargs -I{} echo {}{}{} < in; xargs -d a < in; env -S "$x"; env "$x=1" true; echo "$x" | tee f; printf '%s\n' $x | parallel echo; getopt -o "$x" -- $x; getopt -l "$x" -- -a; watch "$x" & kill $!; bash -c "$x"; timeout 1 $x; yes "$x" | head -c 1000; cowsay "$x"; jo a="$x" "$x=1"; jo "$(tr -d '\n' < in)[a]=1"; envsubst < in; logger "$x"; man "$x"; which $x; bat in; column -N "$x" in; gron in; gron -u in; json_pp < in; uuid -d "$x"; openssl enc -base64 < in; crontab in; bc <<< "$x"; ts "$x" < in; sponge f < in; dircolors in`},
			{"data", `jq . in; jq -R . in; jq -s . in; jq -c --stream . in; yq . in; yq -p xml . in; yq -p toml . in; yq -p csv . in; yq -p props . in; yq -o xml . in; yq -p json -o toml . in; xmllint --format in; xmllint --html in; xan stats in; xan sort -s 0 in; csvstat in; csvlook in; csvsort in; csvjson in; in2csv in; mlr --icsv --ojson cat in; sqlite3 :memory: ".import --csv in t" "select * from t"; sqlite3 in .tables; sqlite3 :memory: < in; tomlq . in; html2text in; xq . in`},
		} {
			add("input "+name+" "+use.name, in, use.script)
		}
	}
	return append(out, hostileLoops...)
}()

// hostileLoops are programs that grow by themselves.
var hostileLoops = func() []attack {
	var out []attack
	for name, script := range map[string]string{
		"awk concatenation":          `awk 'BEGIN { while (1) s = s "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" }'`,
		"awk doubling":               `awk 'BEGIN { s = "a"; while (1) s = s s }'`,
		"awk doubling kept":          `awk 'BEGIN { s = "a"; while (1) { s = s s; a[i++] = s "x" } }'`,
		"awk gsub":                   `awk 'BEGIN { s = "a"; while (1) gsub(/a/, "aa", s) }'`,
		"awk substr":                 `awk 'BEGIN { s = sprintf("%10000000s", ""); while (1) a[i++] = substr(s, i) "x" }'`,
		"awk recursion":              `awk 'function f(x) { return f(x + 1) + 1 } BEGIN { f(1) }'`,
		"awk recursion in arguments": `awk 'function f(x) { return f(f(x)) } BEGIN { f(1) }'`,
		"awk recursion through sort": `awk 'function c(a, b, d, e) { asort(z, y, "c"); return 0 } BEGIN { z[1]; z[2]; asort(z, y, "c") }'`, "awk arrays": `awk 'BEGIN { while (1) a[i++][j++] = 1 }'`, "awk nested arrays": `awk 'function f(a, n) { a[1][1] = 1; f(a[1], n + 1) } BEGIN { f(q, 0) }'`,
		"awk field": `awk '{ $1000000000 = 1; print }' <<< a`, "awk NF": `awk '{ NF = 1000000000; print }' <<< a`,
		"awk field again": `awk '{ while (1) $(++n) = n }' <<< a`,
		"awk width":       `awk 'BEGIN { printf "%2000000000d", 1; printf "%.2000000000f", 1; printf "%*d", 2000000000, 1 }'`,
		"awk sprintf":     `awk 'BEGIN { while (1) s = sprintf("%s%s%s", s, s, "aaa") }'`,
		"awk split":       `awk 'BEGIN { s = sprintf("%50000000s", ""); while (1) split(s, a, "") }'`,
		"awk record":      `yes | tr -d '\n' | awk '{ print }'`,
		"awk getline":     `awk 'BEGIN { while (1) { "yes | head -c 1000000" | getline x[n++]; close("yes | head -c 1000000") } }'`, "awk pipes": `awk 'BEGIN { while (1) print "a" | ("cat > f" n++) }'`, "awk toupper": `awk 'BEGIN { s = sprintf("%50000000s", ""); while (1) t = toupper(s) tolower(s) }'`, "awk multiplication": `awk -M 'BEGIN { x = 3; while (1) x = x * x }'`, "awk printf %c": `awk 'BEGIN { while (1) s = s sprintf("%c", 256 + n++) }'`, "awk strtonum": `awk 'BEGIN { s = sprintf("%050000000d", 1); while (1) { strtonum(s); s + 0; s == 1; index(s, "ab"); length(s); substr(s, 5, 10) } }'`, "awk join": `awk 'BEGIN { while (1) { a[n++] = "x"; if (n % 100000 == 0) for (i in a) s = s a[i] } }'`, "awk OFS": `awk 'BEGIN { OFS = sprintf("%1000000s", ""); $0 = "a b c"; for (i = 0; i < 10000; i++) $(i + 3) = 1; print }'`, "awk printf many": `awk 'BEGIN { f = sprintf("%10000000s", ""); gsub(/ /, "%5d", f); printf f, 1 }'`,
		"sed doubling": `echo a | sed ':a;s/.*/&&/;ba'`, "sed G": `echo a | sed ':a;G;h;ba'`,
		"sed gg": `echo aaaaaaaa | sed ':a;s/a/aa/g;ba'`, "sed N": `yes | sed ':a;N;ba'`,
		"sed lines": `yes | tr -d '\n' | sed s/a/b/`, "sed w": `yes | sed 'w f' > /dev/null`,
		"sed l": `head -c 20000000 /dev/zero | sed -n 'l 1'`, "sed empty loop": `echo a | sed ':a;ba'`,
		"sed debug":        `yes | sed --debug 's/y/&&/g'`,
		"sed debug blocks": `yes '{' | head -n 100000 > s; yes '}' | head -n 100000 >> s; sed --debug -f s s`,
		"sed D":            `printf 'a\nb\n' | sed 'N;s/^/\n/;D'`,
		"bc power":         `bc <<< '9^9^9'`, "bc power of a power": `bc <<< 'x=9^99999999'`, "bc scale": `bc <<< 'scale=10000000; 1/3'`, "bc sqrt": `bc <<< 'scale=1000000; sqrt(2)'`, "bc square": `bc <<< 'x=3; while (1) x=x*x'`, "bc division": `bc <<< 'x=7^2000000; y=3^1000000; while (1) z=x/y'`, "bc printing": `bc <<< 'x=7^2000000; obase=3; x; obase=1000; x; obase=16; x'`, "bc recursion": `bc <<< 'define f(x) { return f(x+1)+1 }
f(1)'`, "bc arrays": `bc <<< 'while (1) a[i++ % 16000000]=1'`, "bc -l": `bc -l <<< 'scale=100000; e(1); a(1); s(1); l(2); j(1,2)'`, "bc modulus": `bc <<< 'scale=1000000; 7^999999 % 3'`, "bc strings": `bc <<< 'while (1) print "a"' > /dev/null`, "bc argument": `bc <<< 'define f(a[]) { a[0]=1; return f(a[]) }
f(b[])'`, "bc e of much": `bc -l <<< 'e(100000000); s(10^100000); l(10^1000000)'`, "bc digits": `bc <<< 'scale=2^31-1; 1/7'`, "bc length": `bc <<< 'length(2^9999999); scale(1/3); x=10^2000000; x==x; x<x'`,
		"dc recursion": `dc -e '[lxx 1+]sx lxx'`, "dc endless": `dc -e '[lxx]sx lxx'`, "dc power": `dc -e '9 9 9^^p'`,
		"dc stack": `dc -e '[1lxx]sx lxx'`, "dc square": `dc -e '3[d*lxx]sxlxx'`, "dc k": `dc -e '999999999k 2vp'`,
		"dc |": `dc -e '7 2000000^ 3 1000000^ 5 800000^ |p'`, "dc P": `dc -e '2 80000000^P'`,
		"dc arrays": `dc -e '0[d1r:a1+lxx]sxlxx'`, "dc registers": `dc -e '[1Salxx]sxlxx'`,
		"dc ~": `dc -e '7 3000000^ 3 1000000^~p'`, "dc a": `dc -e '[[a]lxx]dsxx'`, "dc nested": `dc -e '[[[lxx]x]x]dsxx'`,
		"dc o": `dc -e '7 2000000^ 3o p'`, "dc strings": `dc -e '[aaaaaaaaaaaaaaaaaaaa]sa [la lxx]dsxx'`,
		"factor":         `factor 1000000000000000000000000000057000000000000000000000000000099; factor $(printf '9%.0s' {1..5000})`,
		"expr powers":    `x=$(printf '9%.0s' {1..100000}); while :; do x=$(expr $x \* $x); done`,
		"expr division":  `x=$(printf '9%.0s' {1..120000}); expr $x / 7; expr $x % 12345678901234567890`,
		"seq digits":     `seq 1e100000 | head -n 1; seq 0 1e-100000 1; seq -f %.100000000f 3; seq -w 1 1e18 | head -n 1`,
		"numfmt padding": `numfmt --padding=2000000000 1; numfmt --format=%2000000000f 1; numfmt --format=%.2000000000f 1; numfmt --to-unit=1e100000 1`, "printf in awk and find": `find . -printf '%2000000000p'; stat -c '%2000000000n' .; date +%2000000000Y; date +%999999999N; ls -w 2000000000 .`,
		"touch":            `touch {1..300000}; ls | wc -l; ls -l > /dev/null; echo * > /dev/null; rm -f *`,
		"mkdir":            `mkdir -p {1..600}/{1..600}; find . > /dev/null; rm -r *`,
		"many files":       `for ((i = 0;; i++)); do : > f$i; done`,
		"deep directories": `for ((i = 0; i < 100000; i++)); do mkdir d && cd d || break; done; cd /tmp; find . > /dev/null; ls -R > /dev/null; du -a > /dev/null; tree > /dev/null; rg x; cp -r d e; diff -r d e; chmod -R u+w d; tar cf x.tar d; zip -qr x.zip d; mv d f; rm -r f e; grep -r x .; fd x`, "deep mkdir -p": `mkdir -p $(printf 'd/%.0s' {1..2000}); find . > /dev/null; rm -r d`, "symbolic links": `for ((i = 0; i < 10000; i++)); do ln -s l$((i + 1)) l$i; done; cat l0; ln -s . s; ls -LR . > /dev/null; find -L . > /dev/null; realpath l0; tree -l > /dev/null`, "hard links": `: > a; for ((i = 0;; i++)); do ln a a$i || break; done`,
		"find -exec":   `touch {1..100000}; find . -exec true {} +; find . -exec echo {}{}{}{}{} \; > /dev/null`,
		"find -printf": `touch {1..50000}; while :; do find . -printf '%p %h %f %u %g %m %s %t %k\n' > /dev/null; done`,
		"xargs":        `seq 10000000 | xargs echo > /dev/null`, "xargs -P": `yes | xargs -P 100 -n 1 sleep`,
		"xargs -I": `x=$(printf 'a%.0s' {1..100000}); echo "$x" | xargs -I{} echo {}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{} > /dev/null; yes "$x" | xargs -I{} echo {}{} > /dev/null`, "tee": `yes | tee f f f f > /dev/null`, "split": `yes | split -b 1; yes | split -l 1 -a 9`, "csplit": `seq 100000 | csplit -z - 1 '{*}' > /dev/null`,
		"make recursion":        `printf 'f=$(call f,$1)\n$(call f,1)\na:;\n' > m; make -f m`,
		"make mutual recursion": `printf 'f=$(call g,$1)x\ng=$(call f,$1)y\n$(call f,1)\na:;\n' > m; make -f m`,
		"make eval recursion":   `printf 'define f\n$(eval $(call f))\nendef\n$(eval $(call f))\na:;\n' > m; make -f m`,
		"make includes":         `echo 'include m' > m; make -f m`,
		"make variable":         `printf 'a=$(b)\nb=$(a)\n$(info $(a))\nx:;\n' > m; make -f m; printf 'a=$(a)x\nx:;@echo $(a)\n' > m; make -f m`, "make make": `printf 'a:;@$(MAKE) -f m\n' > m; make -f m`, "make foreach": `printf 'f=$(foreach i,1 2 3 4 5 6 7 8,$(f))\nx:;@echo $(call f)\n' > m; make -f m`, "make eval call": `printf 'f=$(eval $$(call f))$(eval v:=$$(call f))\n$(call f)\na:;\n' > m; make -f m`, "make shell": `printf 'x=$(shell yes)\na:;@echo $(x)\n' > m; make -f m`, "make doubling": `printf 'a=$(b)$(b)\n' > m; for i in {b..y}; do printf '%s=$(%s%s)$(%s%s)\n' $i $i 1 $i 1; printf '%s1=$(z)$(z)\n' $i; done >> m; printf 'a0=x\n' >> m; for i in {1..60}; do printf 'a%s=$(a%s)$(a%s)\n' $i $((i-1)) $((i-1)); done >> m; printf 'x:;@echo $(a60)\n' >> m; make -f m x`, "make pattern rules": `for i in {1..300}; do printf '%%.%s: %%.%s ; touch $@\n' $i $((i+1)); done > m; make -rf m a.1`, "make implicit of itself": `printf '%%: %%.o ; touch $@\n' > m; make -f m a; printf '%%: %%x ; touch $@\n' > m; make -f m a`, "make vpath": `printf 'vpath %% %s\na: b\n' "$(printf 'd%s:' {1..20000})" > m; make -f m`, "make .SECONDEXPANSION": `printf '.SECONDEXPANSION:\na: $$(a) $$(eval a: b) $$@x\n%%x: $$@y ; :\n' > m; make -f m`,
		"jq recursion": `jq -n 'def f: [f]; f'`, "jq -n range": `jq -n '[range(1e9)]'`,
		"jq string": `jq -n '"a" | until(false; . + .)'`, "yq string": `yq -n '"a" * 1000000000'`,
		"yq aliases": `{ echo 'a0: &a0 [x,x,x,x,x,x,x,x,x,x]'; for i in {1..12}; do echo "a$i: &a$i [*a$((i-1)),*a$((i-1)),*a$((i-1)),*a$((i-1)),*a$((i-1)),*a$((i-1)),*a$((i-1)),*a$((i-1))]"; done; } > y; yq 'explode(.)' y; yq -o json . y`, "xml entities": `{ echo '<!DOCTYPE a [<!ENTITY a0 "xxxxxxxxxx">'; for i in {1..12}; do echo "<!ENTITY a$i \"&a$((i-1));&a$((i-1));&a$((i-1));&a$((i-1));&a$((i-1));&a$((i-1));&a$((i-1));&a$((i-1));\">"; done; echo ']><a>&a12;</a>'; } > x; xmllint --noent x; yq -p xml . x`, "sqlite recursion": `sqlite3 :memory: 'with recursive c(x) as (select 1 union all select x+1 from c) select count(*) from c'`, "sqlite blob": `sqlite3 :memory: "select hex(zeroblob(1000000000)); select printf('%1000000000d', 1); select group_concat(x) from (with recursive c(x) as (select 1 union all select x+1 from c) select x from c)"`,
		"gzip bomb":        `head -c 200M /dev/zero | gzip | gzip > z; zcat z | zcat | wc -c; zcat z | zcat > f`,
		"sort of one line": `head -c 100M /dev/zero > f; sort f | wc -c; sort -u f f | wc -c; uniq f | wc; join f f | wc`,
		"long lines":       `head -c 60M /dev/zero | tr '\0' a > f; rev f | wc -c; fold f | wc -l; fmt f | wc; expand f | wc; nl f | wc; cut -c 3- f | wc; cut -f 2 f | wc; tac f | wc; grep b f; grep -o a f | wc; grep -b a f | wc; sed s/a/b/2 f | wc; awk 1 f | wc; tr -s a < f; paste f f | wc; column f | wc; comm f f | wc; diff f f; pr f | wc; rg b f; ptx f | wc; od f | tail -n 1; strings f | wc; while read -r x; do :; done < f; mapfile a < f; wc -L f`,
		"tail":             `yes | tail -n 1000000000; yes | tail -c 100000000000`,
		"head":             `yes | head -n -1000000000; yes | head -c -100000000000`,
		"shuf":             `shuf -i 1-1000000000000 -n 1000000000; yes | shuf; shuf -r -e a b > /dev/null`,
		"tsort":            `seq 1000000 | tsort > /dev/null; yes a b | head -n 1000000 | tsort`,
		"column":           `yes 'a b c d' | column -t`, "paste": `paste $(printf '/dev/zero %.0s' {1..500})`,
		"od": `od -w2000000000 /dev/zero; xxd -c 256 /dev/zero > /dev/null; hexdump -e '2000000000/1 "%d"' /dev/zero`,
		"pr": `yes | pr -l 1000000000; pr -w 2000000000 -m /dev/zero`, "nl": `yes | nl -w 2000000000`,
		"fold": `fold -w 2000000000 /dev/zero`, "join": `join <(yes) <(yes)`,
		"dd": `dd if=/dev/zero bs=10G count=1 of=f; dd if=/dev/zero of=f bs=1 seek=1000000000000000 count=1; dd if=/dev/zero bs=1 count=100000000 of=f`, "truncate": `truncate -s 8E f; cat f > /dev/null; md5sum f; cp f g; sort f; gzip f; tar cf x f; grep a f; truncate -s 100G f; cat f | wc -c`, "patch hunk": `printf -- '--- a\n+++ b\n@@ -1,999999999 +1,999999999 @@\n a\n' > p; echo a > a; patch -f a p`,
		"ed growth":              `{ echo 'a'; echo a; echo .; for i in {1..60}; do echo ',t$'; done; } | ed -s`,
		"ed substitution growth": `{ echo 'a'; echo a; echo .; for i in {1..60}; do echo ',s/.*/&&/'; done; } | ed -s`,
		"ed global":              `seq 100000 | { echo 'r !seq 300000'; echo 'g/./m0'; echo 'g/./s/./&&/g'; } | ed -s`,
		"parallel":               `parallel echo ::: {1..1000} ::: {1..1000} > /dev/null`,
		"env":                    `env -S "$(printf '${A}%.0s' {1..100000})"; export A=$(printf 'a%.0s' {1..100000}); while :; do env -S '${A}${A}${A}' true; done`, "date": `date -d "$(printf '1 year %.0s' {1..100000})"; while :; do date -f <(yes | head -n 1000) > /dev/null; done`, "cal": `cal -y 999999999; cal -n 1000000000`, "tree": `mkdir -p {a..z}/{a..z}/{a..z}; tree; tree -J; tree -X; tree -fi | wc -l`, "bat": `yes | bat`, "less": `yes | less`, "watch": `watch -n 0.001 yes`, "timeout": `timeout 100000 yes > /dev/null`, "uuid": `while :; do uuid; done > /dev/null`, "openssl": `openssl prime 1$(printf '0%.0s' {1..3000})1; openssl rand 100000000000 > /dev/null; openssl prime -generate -bits 100000`, "factor of primes": `factor $(seq 1000000000000000000000 1000000000000000001000)`,
	} {
		out = append(out, attack{"loop " + name, nil, script, 0, false})
	}
	return out
}()
