package main

import (
	"os/exec"
	"strings"
	"testing"
)

// A real directory comes out as it went in, byte for byte: by ingest, and as GNU tar's archive.
func TestTar_thereAndBack(t *testing.T) {
	r := startDev(t, dataDir(t))
	dir := t.TempDir()
	bash := func(script string, args ...string) string {
		t.Helper()
		out, err := exec.Command("bash", append([]string{"-euo", "pipefail", "-c", script, "bash"},
			args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", script, err, out)
		}
		return string(out)
	}
	bash(`cd "$1"
		mkdir -p src/deep/er empty/inner/most 'a name
with $(things) "é'
		for i in {1..50}; do echo "file $i" > src/deep/f$i; done
		head -c 3000000 /dev/urandom > big
		: > zero
		printf 'no newline' > 'a name
with $(things) "é/-x'
		truncate -s 1000000 hole
		ln -s src/deep link; ln -s /nowhere/at/all dangling
		chmod 600 zero; chmod 750 src/deep; chmod 4755 src/deep/f1; chmod 1777 empty; chmod 555 src/deep/er
		touch -d '2001-02-03 04:05:06.123456789Z' big src/deep/f2 empty/inner; touch -h -d '1999-01-01Z' link; touch -d '1969-12-31 23:59:58.25Z' zero
		touch -d '2020-01-01Z' src/deep src empty`, dir)
	// The top directory is the target's own.
	const list = `cd "$1"; find . -mindepth 1 -printf '%y %m %T@ %l %p\0' | LC_ALL=C sort -z | tr '\0' '\n'; find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum`
	want := bash(list, dir)
	check := func(how, id, in string) {
		t.Helper()
		archive, _, status := r.pgbox(t, "", "tar", "export", id, in)
		if status != 0 {
			t.Fatalf("%s: status %d", how, status)
		}
		out := t.TempDir()
		cmd := exec.Command("tar", "-xp", "-C", out)
		cmd.Stdin = strings.NewReader(archive)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", how, err, text)
		}
		bash(`diff -r --no-dereference "$1" "$2"`, dir, out)
		if got := bash(list, out); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", how, got, want)
		}
		bash(`chmod -R u+w "$1"`, out)
	}
	id := strings.TrimSpace(r.must(t, "sandbox", "create"))
	r.must(t, "ingest", id, dir, "--to", "/home/user/in", "-q")
	check("ingest", id, "/home/user/in")

	bash(`cd "$1" && ln src/deep/f3 hard && ln hard empty/inner/most/harder && touch -d '2020-01-01Z' empty/inner/most && touch -d '2001-02-03 04:05:06.123456789Z' empty/inner`, dir)
	want = bash(list, dir)
	for _, format := range []string{"posix", "posix -z"} {
		archive, err := exec.Command("tar", append(strings.Fields("--format "+format), "-C", dir, "-c", ".")...).Output()
		if err != nil {
			t.Fatal(err)
		}
		to := "/home/user/" + strings.ReplaceAll(format, " ", "")
		r.pgbox(t, string(archive), "tar", "import", id, to)
		check(format, id, to)
		if got := r.must(t, "exec", id, "--", "cd "+to+
			" && stat -c %h hard; [ hard -ef empty/inner/most/harder ] && [ hard -ef src/deep/f3 ] && echo same"); got != "3\nsame\n" {
			t.Errorf("%s: hard links: %q", format, got)
		}
	}
	bash(`chmod -R u+w "$1"`, dir)
	r.stop(t)
}
