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
		Steps: 200_000, LiveBytes: 16 << 20, ValueBytes: 4 << 20, Words: 50_000, Depth: 200, Goroutines: 50, OpenFiles: 100, ScriptSize: 1 << 20,
	})
	timer := time.AfterFunc(2*time.Second, func() { budget.Kill(nil) })
	var out, errs bytes.Buffer
	_, _ = shell.Run(ctx, shell.Config{
		FS: base.Sandbox(ctx), Commands: command.All(), Budget: budget, Env: env, Stdin: strings.NewReader(stdin), Stdout: &capped{w: &out}, Stderr: &capped{w: &errs},
	}, script)
	timer.Stop()
	budget.Close()
	if strings.Contains(errs.String(), "internal error") && !strings.Contains(script+stdin, "internal error") {
		t.Errorf("%q: %s", script, errs.String())
	}
	for range 200 {
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
		`for i in {1..3}; do echo "$i" | tr 1-9 a-i; done > f; cat f`, `x=(a b c); echo "${x[@]:1}" ${#x[*]} ${x[0]^^} ${!x[@]}`, `f() { local -n r=$1; r=$((r+1)); }; y=1; f y; echo $y`,
		`cat <<E | while read -r a b; do [[ $a =~ ^(x)(.*)$ ]] && echo ${BASH_REMATCH[2]}; done` + "\nx1 2\nE\n", `case $1 in a|b) ;; *) echo "$(( 1 ? 2 : 3 ))";& ?) ;; esac`, `trap 'echo $?' EXIT ERR; set -e; false`,
		`coproc cat; echo hi >&${COPROC[1]}; read -u ${COPROC[0]} x; echo $x`, `diff <(printf 'a\nb\n') <(seq 3) | patch -R`, `printf -v x %q "$'\x01'"; eval echo $x; declare -p x`, `shopt -s extglob; echo @(a|!(b)*)+([[:alpha:]])`,
		`exec 3<> f; echo x >&3; mapfile -t a < f; echo ${a@Q} ${a[@]/x/&&}`, `select x in a b; do break; done <<< 2; getopts ab: o -b c; echo $o $OPTARG`, `sleep 1 & kill %1; wait -n; jobs`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script string) { fuzzScript(t, base, nil, "some\ninput\n", script) })
}

func FuzzSed(f *testing.F) {
	base := newBase(f)
	for _, s := range []string{`s/a\(b*\)/[\1&]/2gI;t x;y/abc/xyz/;:x;$!{N;P;D}`, `1~2{h;x;G;l 5};/re/,+3c\text`, `0,/x/{s//\U&\E/;w o` + "\n}", `$=;n;q5`, `s/\(a\|b\)*\1/\n/;T;e echo`, `/a/I!{r f` + "\nR f\nW o\n}; z; F; Q"} {
		f.Add(s, "abc\naab\n\nx re y\nlast", true)
	}
	f.Fuzz(func(t *testing.T, src, in string, extended bool) {
		flags := "-n"
		if extended {
			flags = "-E"
		}
		fuzzScript(t, base, map[string]string{"src": strings.ReplaceAll(src, "\x00", "")}, in, `sed `+flags+` "$src"; sed -s -i "$src" /etc/hostname`)
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
		copy(b[148:], []byte{'0', byte('0' + sum>>12&7), byte('0' + sum>>9&7), byte('0' + sum>>6&7), byte('0' + sum>>3&7), byte('0' + sum&7), 0})
		return string(b)
	}
	end := strings.Repeat("\x00", 1024)
	f.Add(header("a", "00000000003", "", '0') + "abc" + strings.Repeat("\x00", 509) + end)
	f.Add(header("../../etc/x", "00000000000", "", '0') + header("l", "00000000000", "/etc", '2') + header("l/x", "00000000001", "", '0') + "x" + strings.Repeat("\x00", 511) + end)
	f.Add(header("././@LongLink", "77777777777", "", 'L') + end)
	f.Add(header("p", "00000000030", "", 'x') + "30 path=aaaaaaaaaaaaaaaaaaaaa\n" + strings.Repeat("\x00", 482) + header("q", "00000000000", "", '1') + end)
	f.Fuzz(func(t *testing.T, archive string) {
		fuzzScript(t, base, nil, archive, `cat > a; tar tvf a; mkdir d; tar xf a -C d; tar tzf a; tar --delete -f a b; ls -R / > /dev/null`)
	})
}

func FuzzArchives(f *testing.F) {
	base := newBase(f)
	for _, s := range []string{"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03KLJ\x06\x00\xc2A$5\x03\x00\x00\x00", "BZh91AY&SY", "\xfd7zXZ\x00\x00\x04", "(\xb5/\xfd\x04\x00", "PK\x03\x04\x14\x00", "070701", "\x00\x01\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		fuzzScript(t, base, nil, data, `cat > a; for c in 'gzip -dc' 'bzip2 -dc' 'xz -dc' 'zstd -dc' 'unzip -p' 'unzip -l' 'tar tf' 'file' 'zcat -f'; do $c a; done; cpio -it < a`)
	})
}

func FuzzDiff(f *testing.F) {
	base := newBase(f)
	f.Add("a\nb\nc\n", "a\nc\nd", "--- a\n+++ b\n@@ -1,3 +1,3 @@\n a\n-b\n c\n+d\n")
	f.Add("", "x", "1c1\n< a\n---\n> b\n")
	f.Add(strings.Repeat("x\n", 50), strings.Repeat("x\ny\n", 25), "*** a\n--- b\n***************\n*** 1,2 ****\n--- 1 ----\n")
	f.Fuzz(func(t *testing.T, a, b, patch string) {
		clean := func(s string) string { return strings.ReplaceAll(s, "\x00", "") }
		fuzzScript(t, base, map[string]string{"a": clean(a), "b": clean(b)}, patch,
			`cat > p; printf %s "$a" > a; printf %s "$b" > b; patch -f a < p; printf %s "$a" > a; for o in '' -u -c -e -y -wB -i; do diff $o a b; done > /dev/null
diff -u a b > d; diff3 a b a > /dev/null; cp a c; patch -s c d && { cmp -s c b || echo internal error >&2; }; cmp a b; comm a b > /dev/null`)
	})
}
