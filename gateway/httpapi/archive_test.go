package httpapi

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

func archiveOf(t *testing.T, headers ...tar.Header) string {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range headers {
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(h.Name))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := io.WriteString(w, h.Name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// sparseArchive is an archive of one file that is a hole.
func sparseArchive(t *testing.T, size int64) string {
	t.Helper()
	record := func(k, v string) string {
		n := len(k) + len(v) + 4
		for len(strconv.Itoa(n))+len(k)+len(v)+3 != n {
			n++
		}
		return fmt.Sprintf("%d %s=%s\n", n, k, v)
	}
	entry := func(kind byte, name, data string) string {
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o644,
			Format: tar.FormatUSTAR}); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(w, data)
		_ = w.Flush()
		b := out.Bytes()
		b[156] = kind
		copy(b[148:156], "        ")
		sum := 0
		for _, c := range b[:512] {
			sum += int(c)
		}
		copy(b[148:156], fmt.Sprintf("%06o\x00 ", sum))
		return out.String()
	}
	// GNU's format 1.0: the list of what is not a hole is in the first block of the contents.
	return entry(tar.TypeXHeader, "PaxHeaders.0/hole", record("GNU.sparse.major", "1")+record("GNU.sparse.minor", "0")+
		record("GNU.sparse.name", "hole")+
		record("GNU.sparse.realsize", strconv.FormatInt(size, 10))) +
		entry(tar.TypeReg, "GNUSparseFile.0/hole", "0\n"+strings.Repeat("\x00", 510)) + strings.Repeat("\x00", 1024)
}

// What a tar archive may hold goes in and comes out; an archive that holds anything else changes nothing.
func TestArchive(t *testing.T) {
	a := newAPI(t)
	id := a.sandbox(object{})
	base := "/v1/sandboxes/" + id
	put := func(dir, data string, header ...string) answer {
		return a.do(http.MethodPost, base+"/import?path="+dir, data, append(header, "Content-Type", "application/x-tar")...)
	}
	at := time.Unix(1e9, 123456789)
	whole := archiveOf(t,
		tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header",
			PAXRecords: map[string]string{"comment": "of git"}},
		tar.Header{Typeflag: tar.TypeDir, Name: "./d/", Mode: 0o710, ModTime: at, Format: tar.FormatPAX},
		tar.Header{Typeflag: tar.TypeReg, Name: "./d/f", Mode: 0o4751, ModTime: at, Format: tar.FormatPAX},
		tar.Header{Typeflag: tar.TypeReg, Name: "/deep/er/f", Mode: 0o600},
		tar.Header{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "d/f", Mode: 0o777, ModTime: at},
		tar.Header{Typeflag: tar.TypeLink, Name: "h", Linkname: "./d/f"},
		tar.Header{Typeflag: tar.TypeFifo, Name: "p", Mode: 0o622},
		tar.Header{Typeflag: tar.TypeChar, Name: "c", Mode: 0o666, Devmajor: 1, Devminor: 3},
		tar.Header{Typeflag: tar.TypeDir, Name: "e/"})
	if n := into[importedBody](t, put("/srv/x", whole)); n.Entries != 8 {
		t.Errorf("%d entries", n.Entries)
	}
	const state = "cd /srv/x && stat -c '%n %a %F %h %.9Y' d d/f h l p e; stat -c %t,%T c; cat l deep/er/f; readlink l; ls -A /srv"
	want := fmt.Sprintf("d 710 directory 2 %[1]s\nd/f 4751 regular file 2 %[1]s\nh 4751 regular file 2 %[1]s\nl 777 symbolic link 1 1000000000.000000000\np 622 fifo 1 ", "1000000000.123456789")
	if got := a.exec(id, state).Stdout; !strings.HasPrefix(got, want) ||
		!strings.HasSuffix(got, "\n1,3\n./d/f/deep/er/fd/f\nx\n") {
		t.Errorf("%q", got)
	}
	// There and back, over what is there, and to another place.
	out := a.do(http.MethodGet, base+"/export?path=/srv/x", nil)
	if out.status != 200 || out.header.Get("Content-Type") != "application/x-tar" {
		t.Fatalf("%d %v", out.status, out.header)
	}
	for _, dir := range []string{"/srv/x", "/srv/y"} {
		if n := into[importedBody](t, put(dir, string(out.body))); n.Entries != 10 {
			t.Errorf("%d entries", n.Entries)
		}
		if again := a.do(http.MethodGet, base+"/export?path="+dir, nil); !bytes.Equal(again.body, out.body) {
			t.Errorf("%s: another archive comes back", dir)
		}
	}
	a.do(http.MethodPost, base+"/snapshots", object{"name": "s"})
	a.exec(id, "echo x > /srv/x/later")
	if old := a.do(http.MethodGet, base+"/export?path=/srv/x&at=s", nil); old.status != 200 ||
		bytes.Contains(old.body, []byte("later")) {
		t.Errorf("an earlier state: %d", old.status)
	}
	// Once.
	key := []string{"Idempotency-Key", "k"}
	for range 2 {
		into[importedBody](t, put("/once", archiveOf(t, tar.Header{Typeflag: tar.TypeReg, Name: "f"}), key...))
		a.exec(id, "rm -f /once/f")
	}
	if r := a.exec(id, "ls /once"); r.Stdout != "" {
		t.Errorf("imported again: %q", r.Stdout)
	}
	a.want(put("/once", archiveOf(t, tar.Header{Typeflag: tar.TypeReg, Name: "g"}), key...), 409, "IDEMPOTENCY_KEY_REUSED")
	// A link of the archive that stays inside is followed, and a hole stays one.
	into[importedBody](t, put("/srv/y", archiveOf(t, tar.Header{Typeflag: tar.TypeDir, Name: "usr/lib/"},
		tar.Header{Typeflag: tar.TypeSymlink, Name: "lib", Linkname: "usr/lib"},
		tar.Header{Typeflag: tar.TypeReg, Name: "lib/new/so"})))
	into[importedBody](t, put("/srv/y", sparseArchive(t, 1<<20)))
	if got := a.exec(id, "cat /srv/y/usr/lib/new/so; stat -c %s /srv/y/hole").Stdout; got != "lib/new/so1048576\n" {
		t.Errorf("%q", got)
	}
	etc := tar.Header{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "/etc"}
	cutFile := archiveOf(t, tar.Header{Typeflag: tar.TypeReg, Name: strings.Repeat("d/", 45) + "f"})[:512+40]
	before := a.version(id)
	for name, c := range map[string]struct {
		got  answer
		code int
		text string
	}{
		"no archive":          {put("/bad", strings.Repeat("x", 2000)), 400, "EINVAL"},
		"cut":                 {put("/bad", whole[:2000]), 400, "EINVAL"},
		"without its end":     {put("/bad", whole[:len(whole)-1024]), 400, "EINVAL"},
		"cut in a file":       {put("/bad", cutFile), 400, "EINVAL"},
		"holes beyond bounds": {put("/bad", sparseArchive(t, 1<<40)), 413, "EFBIG"},
		"through its link": {put("/bad", archiveOf(t, etc, tar.Header{Typeflag: tar.TypeReg, Name: "l/made"})), 400,
			"EINVAL"},
		"through two links": {put("/bad", archiveOf(t, etc, tar.Header{Typeflag: tar.TypeSymlink, Name: "m",
			Linkname: "l"}, tar.Header{Typeflag: tar.TypeReg, Name: "m/made"})), 400, "EINVAL"},
		"a folder by its link": {put("/bad", archiveOf(t, etc, tar.Header{Typeflag: tar.TypeDir, Name: "l/", Mode: 0o777})),
			400, "EINVAL"},
		"a link by its link": {put("/bad", archiveOf(t, etc, tar.Header{Typeflag: tar.TypeLink, Name: "p",
			Linkname: "l/passwd"})), 400, "EINVAL"},
		"a dangling link": {put("/bad", archiveOf(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "/none"},
			tar.Header{Typeflag: tar.TypeReg, Name: "l/made"})), 400, "EINVAL"},
		"empty": {put("/bad", ""), 400, "EINVAL"},
		"leads out": {put("/bad", archiveOf(t, tar.Header{Typeflag: tar.TypeReg, Name: "ok"},
			tar.Header{Typeflag: tar.TypeReg, Name: "a/../../f"})), 400, "EINVAL"},
		"links to the outside": {put("/bad", archiveOf(t, tar.Header{Typeflag: tar.TypeLink, Name: "h",
			Linkname: "../etc/passwd"})), 400, "EINVAL"},
		"link to nothing": {put("/bad", archiveOf(t, tar.Header{Typeflag: tar.TypeLink, Name: "h", Linkname: "none"})),
			404, "ENOENT"},
		"a block device":    {put("/bad", archiveOf(t, tar.Header{Typeflag: tar.TypeBlock, Name: "b"})), 400, "EINVAL"},
		"over a directory":  {put("/srv/x", archiveOf(t, tar.Header{Typeflag: tar.TypeReg, Name: "d"})), 400, "EISDIR"},
		"relative":          {put("bad", whole), 400, "INVALID_INPUT"},
		"export of nothing": {a.do(http.MethodGet, base+"/export?path=/none", nil), 404, "ENOENT"},
		"export of a file":  {a.do(http.MethodGet, base+"/export?path=/srv/x/h", nil), 400, "ENOTDIR"},
	} {
		t.Run(name, func(t *testing.T) { a.want(c.got, c.code, c.text) })
	}
	if after := a.version(id); after != before {
		t.Errorf("version %v, was %v", after, before)
	}
}
