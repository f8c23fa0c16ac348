package shell_test

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell"
	"github.com/pgbox/pgbox/gateway/shell/casetest"
	"github.com/pgbox/pgbox/gateway/shell/command"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// fuzzScript runs a script under small limits. Whatever it is, it ends; nothing panics, and no goroutine and no
// memory is left behind.
func fuzzScript(t *testing.T, base *casetest.Base, env map[string]string, stdin, script string) {
	t.Helper()
	before := runtime.NumGoroutine()
	ctx, budget := proc.NewBudget(t.Context(), proc.Limits{
		Steps: 200_000, LiveBytes: 16 << 20, ValueBytes: 4 << 20, Words: 50_000, Depth: 200, Goroutines: 50, OpenFiles: 100,
		ScriptSize: 1 << 20,
	})
	timer := time.AfterFunc(2*time.Second, func() { budget.Kill(nil) })
	late := time.AfterFunc(12*time.Second, func() { panic("it goes on behind its end") })
	var out, errs bytes.Buffer
	_, _ = shell.Run(ctx, shell.Config{
		FS: base.Sandbox(ctx), Commands: command.All(), Budget: budget, Env: env, Stdin: strings.NewReader(stdin),
		Stdout: &capped{w: &out}, Stderr: &capped{w: &errs},
	}, script)
	timer.Stop()
	late.Stop()
	budget.Close()
	if strings.Contains(errs.String(), "internal error") && !strings.Contains(script+stdin, "internal error") {
		t.Errorf("%q: %s", script, errs.String())
	}
	for range 2000 {
		if runtime.NumGoroutine() <= before+2 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before+2 {
		t.Errorf("%q: %d goroutines, %d before", script, n, before)
	}
	if n := budget.Live(); n < 0 {
		t.Errorf("%q: %d bytes are held", script, n)
	}
}

func newBase(f *testing.F) *casetest.Base {
	f.Helper()
	base, err := casetest.NewBase(command.All())
	if err != nil {
		f.Fatal(err)
	}
	return base
}

func FuzzScript(f *testing.F) {
	base := newBase(f)
	for _, s := range []string{
		`for i in {1..3}; do echo "$i" | tr 1-9 a-i; done > f; cat f`,
		`x=(a b c); echo "${x[@]:1}" ${#x[*]} ${x[0]^^} ${!x[@]}`, `f() { local -n r=$1; r=$((r+1)); }; y=1; f y; echo $y`,
		`cat <<E | while read -r a b; do [[ $a =~ ^(x)(.*)$ ]] && echo ${BASH_REMATCH[2]}; done` + "\nx1 2\nE\n",
		`case $1 in a|b) ;; *) echo "$(( 1 ? 2 : 3 ))";& ?) ;; esac`, `trap 'echo $?' EXIT ERR; set -e; false`,
		`coproc cat; echo hi >&${COPROC[1]}; read -u ${COPROC[0]} x; echo $x`, `diff <(printf 'a\nb\n') <(seq 3) | patch -R`,
		`printf -v x %q "$'\x01'"; eval echo $x; declare -p x`, `shopt -s extglob; echo @(a|!(b)*)+([[:alpha:]])`,
		`exec 3<> f; echo x >&3; mapfile -t a < f; echo ${a@Q} ${a[@]/x/&&}`,
		`select x in a b; do break; done <<< 2; getopts ab: o -b c; echo $o $OPTARG`, `sleep 1 & kill %1; wait -n; jobs`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script string) { fuzzScript(t, base, nil, "some\ninput\n", script) })
}

func FuzzSed(f *testing.F) {
	base := newBase(f)
	for _, s := range []string{`s/a\(b*\)/[\1&]/2gI;t x;y/abc/xyz/;:x;$!{N;P;D}`, `1~2{h;x;G;l 5};/re/,+3c\text`,
		`0,/x/{s//\U&\E/;w o` + "\n}", `$=;n;q5`, `s/\(a\|b\)*\1/\n/;T;e echo`, `/a/I!{r f` + "\nR f\nW o\n}; z; F; Q"} {
		f.Add(s, "abc\naab\n\nx re y\nlast", true)
	}
	f.Fuzz(func(t *testing.T, src, in string, extended bool) {
		flags := "-n"
		if extended {
			flags = "-E"
		}
		fuzzScript(t, base, map[string]string{"src": strings.ReplaceAll(src, "\x00", "")}, in,
			`sed `+flags+` "$src"; sed -s -i "$src" /etc/hostname`)
	})
}

func FuzzTar(f *testing.F) {
	base := newBase(f)
	header := func(name, size, link string, kind byte) string {
		b := make([]byte, 512)
		copy(b, name)
		copy(b[100:], "0000644\x000001750\x000001750\x00"+size+"\x0014000000000\x00        ")
		b[156] = kind
		copy(b[157:], link)
		copy(b[257:], "ustar\x0000")
		sum := 0
		for _, c := range b {
			sum += int(c)
		}
		copy(b[148:], []byte{'0', byte('0' + sum>>12&7), byte('0' + sum>>9&7), byte('0' + sum>>6&7), byte('0' + sum>>3&7),
			byte('0' + sum&7), 0})
		return string(b)
	}
	end := strings.Repeat("\x00", 1024)
	f.Add(header("a", "00000000003", "", '0') + "abc" + strings.Repeat("\x00", 509) + end)
	f.Add(header("../../etc/x", "00000000000", "", '0') + header("l", "00000000000", "/etc", '2') +
		header("l/x", "00000000001", "", '0') + "x" + strings.Repeat("\x00", 511) + end)
	f.Add(header("././@LongLink", "77777777777", "", 'L') + end)
	f.Add(header("p", "00000000030", "", 'x') + "30 path=aaaaaaaaaaaaaaaaaaaaa\n" + strings.Repeat("\x00", 482) +
		header("q", "00000000000", "", '1') + end)
	f.Fuzz(func(t *testing.T, archive string) {
		fuzzScript(t, base, nil, archive,
			`cat > a; tar tvf a; mkdir d; tar xf a -C d; tar tzf a; tar --delete -f a b; ls -R / > /dev/null`)
	})
}

func FuzzArchives(f *testing.F) {
	base := newBase(f)
	for _, s := range []string{"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03KLJ\x06\x00\xc2A$5\x03\x00\x00\x00", "BZh91AY&SY",
		"\xfd7zXZ\x00\x00\x04", "(\xb5/\xfd\x04\x00", "PK\x03\x04\x14\x00", "070701", "\x00\x01\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		fuzzScript(t, base, nil, data,
			`cat > a; for c in 'gzip -dc' 'bzip2 -dc' 'xz -dc' 'zstd -dc' 'unzip -p' 'unzip -l' 'tar tf' 'file' 'zcat -f'; do $c a; done; cpio -it < a`)
	})
}

func FuzzDiff(f *testing.F) {
	base := newBase(f)
	f.Add("a\nb\nc\n", "a\nc\nd", "--- a\n+++ b\n@@ -1,3 +1,3 @@\n a\n-b\n c\n+d\n")
	f.Add("", "x", "1c1\n< a\n---\n> b\n")
	f.Add(strings.Repeat("x\n", 50), strings.Repeat("x\ny\n", 25),
		"*** a\n--- b\n***************\n*** 1,2 ****\n--- 1 ----\n")
	f.Fuzz(func(t *testing.T, a, b, patch string) {
		clean := func(s string) string { return strings.ReplaceAll(s, "\x00", "") }
		fuzzScript(t, base, map[string]string{"a": clean(a), "b": clean(b)}, patch,
			`cat > p; printf %s "$a" > a; printf %s "$b" > b; patch -f a < p; printf %s "$a" > a; for o in '' -u -c -e -y -wB -i; do diff $o a b; done > /dev/null
diff -u a b > d; diff3 a b a > /dev/null; cp a c; patch -s c d && { cmp -s c b || echo internal error >&2; }; cmp a b; comm a b > /dev/null`)
	})
}

// text is s as it fits into an environment variable.
func text(s string) string { return strings.ReplaceAll(s, "\x00", "") }

func FuzzRegexp(f *testing.F) {
	base := newBase(f)
	for _, p := range []string{`^(a|b)*c{2,3}[^[:alpha:]-]`, `\(x\)\1*\?\+`, `(?<n>a+?)\k<n>(?=b)(?<!c)\Q.\E`,
		`\bfoo\b|\w+\W*\s\S\d`, `(?i)[[.a.][=b=]\]]`, `a{,5}{2}(){0}`, `(?>a*)b|(?|(x)|(y))\g{-1}(?R)?\p{L}`, `[z-a]`, `\`,
		`*a|+`, `\x{1F600}é$^`} {
		f.Add(p, "abcc foo\nxx x\n\xff é😀\n")
	}
	f.Fuzz(func(t *testing.T, pattern, in string) {
		fuzzScript(t, base, map[string]string{"p": text(pattern), "t": text(in)}, in, `cat > f; for o in -P -E -G -F -oE -oP -wiE -xvcG -onb; do grep $o -e "$p" f; done; rg -e "$p" f
[[ $t =~ $p ]]; expr "$t" : "$p"; awk -v p="$p" '{ print match($0, p), gensub(p, "<\\0>", "g"), split($0, a, p) }' f; sed -E "s`+"\x01$p\x01<&>\x01"+`g" f
jq -R --arg p "$p" '[match($p; "g")], sub($p; "x")' f; find . -regex "$p"; nl -b "p$p" f; csplit -s f "/$p/"; tac -r -s "$p" f`)
	})
}

func FuzzPattern(f *testing.F) {
	base := newBase(f)
	for _, p := range []string{`*a?[!b-d]`, `@(a|+(b)|!(c))*`, `[[:alpha:]]*([^]-a])`, `**/x`, `\*[\]]`, `?(a|)(`,
		`{a,b{1..3},$'\x01'}`, `[a-`} {
		f.Add(p, "abc/def")
	}
	f.Fuzz(func(t *testing.T, pattern, in string) {
		fuzzScript(t, base, map[string]string{"p": text(pattern), "t": text(in)}, in, `shopt -s extglob globstar; mkdir -p a/b; > a/x; [[ $t == $p ]]; case $t in $p) echo yes;; esac
echo "${t#$p}" "${t##$p}" "${t%$p}" "${t%%$p}" "${t/$p/x}" "${t//$p/<&>}" "${t/#$p}" "${t/%$p}" "${t^^$p}" "${t,$p}" $p; compgen -G "$p"; find . -name "$p" -path "$p"; rg --files -g "$p"; tar cf - --exclude="$p" . | tar t --wildcards "$p"; ls -I "$p"; eval "echo $p" 2>&1`)
	})
}

func FuzzBc(f *testing.F) {
	base := newBase(f)
	for _, s := range []string{"scale=20; 1/3; 2^100; sqrt(2)",
		"define f(x) { auto y; if (x <= 1) return (1); return (x*f(x-1)) }\nf(10)", "ibase=16; obase=2; FF; .A",
		"for (i=0; i<3; ++i) { a[i]=i; if (i==1) continue; print a[i], \"x\\n\" }",
		"e(1); l(2); s(1); c(1); a(1); j(0,1)", "x = -5 % 3; x ^= 2; x--; last; length(1.50); scale(1.50)",
		"define void g(*a[]) { a[0]=1 }\ng(b[])", "/* c */ \"s\" # t\nread()", "while(1){break}; quit", "1 &&!0 || 2 >= 3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		fuzzScript(t, base, map[string]string{"src": text(src)}, src,
			`bc; bc -l <<< "$src"; bc -sw <(printf %s "$src") < /dev/null; printf %s "$src" > f; bc -q f < f`)
	})
}

func FuzzDc(f *testing.F) {
	base := newBase(f)
	for _, s := range []string{"20k 1 3/p 2 100^p 2v f", "[la1+dsa10>x]sx 0sa lxx laf", "16i 2o FF p .A p",
		"[a]P 65P 97an", "1 2 3 r R z Z X d ~ | c", "5 0:a 0;a p Sx Lx ?", "_5.5 3 % p K I O", "[q]x 3Q ! ls",
		"#c\n1[2]3 p G N ( { }", "7 2 | 10 ^"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		fuzzScript(t, base, map[string]string{"src": text(src)}, src,
			`dc; dc -e "$src" -f <(printf %s "$src") < /dev/null; printf %s "$src" > f; dc f < f`)
	})
}

func FuzzYq(f *testing.F) {
	base := newBase(f)
	for _, s := range []struct{ src, in string }{
		{`.a.b[0]`, "a: &x\n  b: [1, 2.5, ~, 'q']\nc: *x\n<<: *x\n"},
		{`.a |= .+1 | del(.b)`, "a: 1 # one\nb: |\n  text\n  more\n---\na: 2\n"},
		{`.. | select(tag == "!!str")`, "? {a: b}\n: !!int \"3\"\n"},
		{`to_entries`, "<a b=\"c\">t<d/><!-- x --><d>2</d></a>"}, {`.x.y`,
			"[x]\ny = 2024-01-01T00:00:00Z\nz = [[1], {a = 'b'}]\n"}, {`.[0]`, "a,b\n1,\"x\"\"y\"\n"},
		{`select(di == 0) | keys`, "{\"a\": [1e3, \"\\u00e9\"]}"}, {`.a style="double"`, "a: !!binary aGk=\n%YAML 1.2\n"},
		{`(.. | select(tag == "!!str")) |= . + "x" | explode(.) | ... comments="c" | .b[1].c = .a | sort_keys(..)`,
			"a: &x {b: [1, *x]} # c\nd:\n  <<: [*x, *x]\n"},
		{`.a as $v | [.[] | {"k": $v, (key): path}] | with_entries(.value |= to_yaml) | del(.[0]) | . *+d {"z": [1]} | pivot`,
			"- {a: 1}\n- [b]\n"},
		{`"\(.a) $X" | envsubst(nu) | match("(?P<n>a*)"; "g"), sub("a", "b") | @sh, @base64, @json, split("a")[1:-1]`,
			"a: xay\n"}, {`.d + "1h" | with_dtf("2006"; format_datetime("Jan")), to_unix, tz("Europe/Rome") | . as $x ireduce ({}; . * $x)`, "d: 2020-01-01T00:00:00Z\n"},
	} {
		f.Add(s.src, s.in)
	}
	f.Fuzz(func(t *testing.T, src, in string) {
		fuzzScript(t, base, map[string]string{"src": text(src)}, in,
			`cat > f; for i in yaml json xml toml csv props; do for o in yaml json xml toml csv props; do yq -p $i -o $o . f; done; done; yq "$src" f; yq -i "$src" f; yq ea -n "$src"; yq -o props "$src" f; yq -o lua "$src" f f; yq -s "$src" f`)
	})
}

func FuzzXML(f *testing.F) {
	base := newBase(f)
	for _, s := range []struct{ expr, in string }{
		{`//a[@b="c"]/following::d[last()]`,
			"<?xml version='1.0' encoding='UTF-8'?><!DOCTYPE a [<!ENTITY e 'x&#65;'>]><a b=\"c\">t&e;<d/><!-- x --><d xmlns:n='u' n:k='v'>2</d><![CDATA[<]]><?p i?></a>"},
		{`count(//*[position() mod 2 = 1]) + sum(//d) div 2`, "<a><b> <c/> </b>&lt;</a>"},
		{`substring(concat("a", name(/*)), 1, 2) | ../@*`, "<a:b/>"},
		{`-(1 - 2) * 3.5e1 >= "x" or not(id("y"))`, "<a><b></a>"},
	} {
		f.Add(s.expr, s.in)
	}
	f.Fuzz(func(t *testing.T, expr, in string) {
		fuzzScript(t, base, map[string]string{"e": text(expr)}, in,
			`cat > f; for o in --format --noent --recover --c14n --html '--encode us-ascii'; do xmllint $o f; done; xmllint --xpath "$e" f; xmllint --html --xpath "$e" f; xmllint --recover --noblanks --xpath "//*[$e]" f`)
	})
}

func FuzzCSV(f *testing.F) {
	base := newBase(f)
	for _, s := range []string{"a,b\n1,\"x\"\"y\n\"\n2,\n", "a;b\n1;2,5\n", "d,t\n2020-01-02,1:30\n", "a\tb\n$1\t-2e3\n",
		"a\r\n\r\n'x',1\n", "x|y\nyes|n/a\n"} {
		f.Add(s, "1-")
	}
	f.Fuzz(func(t *testing.T, in, columns string) {
		fuzzScript(t, base, map[string]string{"c": text(columns)}, in,
			`cat > f.csv; csvcut -c "$c" f.csv; csvgrep -c "$c" -r "$c" f.csv; for t in csvsort csvlook csvstat csvjson csvformat csvstack csvclean 'csvjoin f.csv' 'csvlook -H -I' 'in2csv -f json'; do $t f.csv; done; csvformat -U 3 -P x -D "$c" f.csv; in2csv -s f.csv f.csv; jo "$c" < f.csv; col < f.csv; ul -txterm f.csv; colrm 2 < f.csv; bat --style=full --decorations=always -r "$c" f.csv`)
	})
}

func FuzzMake(f *testing.F) {
	base := newBase(f)
	for _, s := range []string{"x = $(y) b\ny := c\nall: a.o ; @echo $@ $^ $(x:b=d)\n%.o: %.c\n\t@cp $< $@\n",
		"define f\n$(1):\n\t@echo $$@\nendef\n$(foreach t,a b,$(eval $(call f,$(t))))\na: | b\n",
		"ifeq ($(x),)\nx ?= 1\nelse ifdef y\nx += 2\nendif\n-include f\nf: ; echo > $@\n",
		".SECONDEXPANSION:\na b &: $$(wildcard *) ; -@false\nc:: a\nc:: b\n.PHONY: c\n",
		"a: export v := $(shell echo 1)\na: private w = 2\na b: %: %.x ; $(v)\n",
		".c.o:;\n.SUFFIXES: .c .o\nvpath %.c d:e\nVPATH=f\n",
		"$(info $(sort b a) $(filter-out %a,ab ba) $(word 2,a b) $(file >g,x)$(origin x) $(if a,$(or ,b),$(and a,)))\n",
		"override x != echo a\nunexport x\nundefine x\n.ONESHELL:\n.DELETE_ON_ERROR:\n.RECIPEPREFIX=>\na:\n>+$(MAKE) -n b\nb:\n>exit 3\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		fuzzScript(t, base, nil, src,
			`cat > Makefile; touch x.c a.x; make; make -n -B; make -kj3 -O a b x.o; make -p > /dev/null; make -t; make -q; make "$(head -n 1 Makefile)"`)
	})
}

func FuzzFind(f *testing.F) {
	base := newBase(f)
	for _, s := range []string{"-name *.c -o ( -type f ! -size +10k ) -print",
		"-mtime -1 -newermt yesterday -perm -u=w,/g+x -printf %p\\t%TY-%m\\n", "-exec echo {} + -ok rm {} ;",
		"-maxdepth 1 -mindepth 1 -prune -o -print0", "-regextype posix-extended -iregex .*(a|b) -quit",
		"-L . -samefile a -inum 3 -links +1 -empty -delete", "-fprintf f %s%k%b%5.3d%% -ls",
		"-user root -nogroup -uid -5 -used 2 , -true -not -false", "-files0-from f -execdir cat {} ;",
		"-path ./a* -xtype l -lname x -readable -fstype tmpfs"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		fuzzScript(t, base, map[string]string{"e": text(expression)}, "a\n",
			`mkdir -p a/b; echo x > a/c.c; ln -s c.c a/l; set -f; find . $e; find $e; find a -name x -o $e -printf "$e"; cat f; xargs $e < /dev/null; ls -d $e`)
	})
}

func FuzzFormat(f *testing.F) {
	base := newBase(f)
	for _, s := range []string{"%5.2f|%-*s|%c\\n", "%q %b %(%F %T)T %n", "%'d %#x %+.3e %08.3g %a",
		"\\x41\\u00e9\\U0001F600\\0101\\c", "%Y-%m-%d %-H:%_M:%^a %10N %::z %s %%", "next friday 3 weeks ago 12:30 pm +0200",
		"2024-02-30T25:61:61.5Z", "@1.5e3", "TZ=\"Europe/Rome\" last day", "%010.3f", "%1$s %2$d %*3$d", "%d %s"} {
		f.Add(s, "12")
	}
	f.Fuzz(func(t *testing.T, format, arg string) {
		fuzzScript(t, base, map[string]string{"f": text(format), "a": text(arg)}, arg, `printf "$f" "$a" 7 é; printf -v x "$f" "$a" && echo "${#x}"; env printf "$f" "$a"; env printf "$f"; date -d "$f"; date -u -d @0 "+$f"; date -d "$a" "+$f"; TZ=$f date; printf "%($f)T" 86400; seq -f "$f" 3; numfmt --format="$f" -- "$a"; numfmt --from=auto --to=iec "$f"
stat -c "$f" .; stat --printf="$f" -f .; awk -v f="$f" -v a="$a" 'BEGIN { printf f, a, 7; print strftime(f, 0), mktime(a) }'; time -f "$f" true; echo -e "$f"; echo "${f@P}" "${f@E}" "${f@Q}" "${a@A}"; touch -d "$f" t; touch -t "$a" t; od -t "$f" t; hexdump -e "$f" /etc/hostname; xxd -r <<< "$f"; tr "$f" "$a" <<< "$f$a"; jq -n --arg f "$f" --arg a "$a" '$a|strptime($f), (0|strftime($f))'`)
	})
}

func FuzzSqlite(f *testing.F) {
	base := newBase(f)
	for _, s := range []string{"create table t(a integer primary key, b text unique); insert into t values(1,'x'),(2,null); select * from t where b like 'x%' order by a desc;", ".mode csv\n.headers on\nselect 1 a, 'b,\"c' b;", ".schema\n.tables\n.dump\n.indexes t", ".import --csv f t\n.read f\n.output o\n.once p\nselect 1;\n.save d.db\n.open d.db",
		"with recursive c(x) as (select 1 union all select x+1 from c limit 10) select sum(x), group_concat(x) from c;",
		".param set :x 'y'\nselect :x;\n.width 5 -5\n.nullvalue N\n.separator | ;\n.mode box\nselect null, 2;",
		"attach ':memory:' as m; pragma table_info(t); select json_extract('{\"a\":1}','$.a'), printf('%d',1), hex(randomblob(2));",
		".shell id\n.system id\n.load x\n.excel\n.log f\n.backup g\n.restore g\n.clone h",
		"select readfile('f'), writefile('g','x'), edit('a'), load_extension('x');",
		".mode insert t\nselect 1;\n.mode json\nselect 1;\n.mode html\n.mode quote\n.mode tcl\n.mode markdown\n.mode line\nselect 'x';", "create virtual table v using fts5(a); begin; savepoint s; rollback to s; vacuum into 'x'; explain query plan select 1;"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		fuzzScript(t, base, map[string]string{"src": text(src)}, src,
			`printf %s "$src" > f; sqlite3; sqlite3 a.db < f; sqlite3 a.db "$src"; sqlite3 -json -cmd "$src" a.db .dump; sqlite3 f .schema; ls > /dev/null`)
	})
}

func FuzzArithmetic(f *testing.F) {
	base := newBase(f)
	for _, s := range []string{"1+2*(3-4)**2%5", "x=y++,--z,x<<=3", "a[b[1]]+=c?d:e", "16#ff+2#101+0x1F+017+64#@_",
		"!~-+1&&2||3^4|5&6", "9223372036854775807+1", "-9223372036854775808/-1", "1/0", "x==y!=z<=w>=v", "${#x}+$x+$((1))",
		"'a'", "1?2?3:4:5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		fuzzScript(t, base, map[string]string{"e": text(expression)}, expression,
			`x=3 y=x z=5 a=(1 2 3); echo $((e)); echo $(($e)); (($e)); let "$e"; [[ $e -eq 1 ]]; test "$e" -gt 2; declare -i n="$e"; echo "${a[$e]}" "${a[@]:$e}" "${x:$e:$e}"; for (($e; e<3; e++)); do break; done; a[$e]=1; unset "a[$e]"; printf %d "$e"; set -f; expr $e; [ $e ]; eval "echo \$(($e))"; awk "BEGIN { print $e }"; jq -n "$e"; factor $e; seq $e; numfmt -- $e`)
	})
}
