package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pgbox/pgbox/sql/sqltest"
)

// images lists the images of the tenant as name:tag.
func (a *api) images() (names []string) {
	a.t.Helper()
	for _, i := range into[struct{ Images []imageBody }](a.t, a.do(http.MethodGet, imagesPath, nil)).Images {
		names = append(names, i.Name+":"+i.Tag)
	}
	slices.Sort(names)
	return names
}

// prints expects what a script prints.
func (a *api) prints(id, script, want string) {
	a.t.Helper()
	if r := a.exec(id, script); r.Stdout != want || r.ExitCode != 0 {
		a.t.Errorf("%s: %q, status %d, %q; want %q", script, r.Stdout, r.ExitCode, r.Stderr, want)
	}
}

// An image is made once, and what its sandboxes do to it each keeps to itself.
func TestImageRoutes(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	origin := a.sandbox(object{})
	a.exec(origin, "mkdir -p d/e; echo one > d/f; echo deep > d/e/g; ln -s d link; chmod 750 d/e; cd d")
	image := func(in object) answer { return a.do(http.MethodPost, imagesPath, in) }
	from := func(name string) string { return a.sandbox(object{"from": name}) }
	made := into[imageBody](t, image(object{"sandbox": origin, "image": "tools"}))
	if made.Name != "tools" || made.Tag != "latest" || made.Owner != "alice" || made.Usage.Bytes != 9 ||
		made.Usage.Inodes != 5 {
		t.Errorf("%+v", made)
	}
	if e := a.want(image(object{"sandbox": origin, "image": "tools:latest"}), http.StatusConflict,
		"EEXIST"); e.Message != "there is an image of that name and tag already: tools" || e.Applied != "no" {
		t.Errorf("%+v", e)
	}
	a.want(image(object{"sandbox": origin, "image": "Tools"}), http.StatusBadRequest, "INVALID_INPUT")
	a.want(image(object{"sandbox": origin, "image": "t:"}), http.StatusBadRequest, "INVALID_INPUT")
	a.want(image(object{"sandbox": origin, "image": "t", "at": "nothing"}), http.StatusNotFound, "ENOENT")

	one, two := from("tools"), from("tools:latest")
	const all = "find . -printf '%y %m %p\\n' | sort; cat d/*/g"
	tree := a.exec(one, "cd ..; "+all).Stdout
	a.prints(origin, "cd ..; "+all, tree)
	// A directory of the image that is moved keeps what the image holds of it; the image and the other sandbox keep the
	// directory.
	a.prints(one, "mv d moved; cat moved/f moved/e/g; cat link/f 2> /dev/null || echo dangling", "one\ndeep\ndangling\n")
	a.prints(one, "mkdir d; echo new > d/h; ls d moved", "d:\nh\n\nmoved:\ne\nf\n")
	a.prints(one, "rm -r moved/e; ls moved", "f\n")
	a.prints(two, "cd ..; "+all, tree)
	a.prints(two, "echo two >> d/f; rm d/e/g; cat d/f", "one\ntwo\n")
	a.prints(one, "cat moved/f", "one\n")
	a.prints(from("tools"), "cd ..; "+all, tree)
	a.prints(origin, all, tree)

	// A tag is given anew, and moves; who stands on the tree it named stays there.
	a.exec(origin, "echo v2 > d/f")
	into[imageBody](t, image(object{"sandbox": origin, "image": "tools:v2"}))
	into[imageBody](t, a.do(http.MethodPost, imagesPath+"/tag", object{"image": "tools:v2", "as": "tools"}))
	a.prints(from("tools"), "cat ~/d/f", "v2\n")
	a.prints(one, "cat moved/f", "one\n")
	into[imageBody](t, image(object{"sandbox": one, "image": "tools", "replace": true}))
	a.prints(from("tools"), "ls ~/d", "h\n")
	a.want(a.do(http.MethodPost, imagesPath+"/tag", object{"image": "none", "as": "x"}), http.StatusNotFound, "ENOENT")
	if got := a.images(); !slices.Equal(got, []string{"tools:latest", "tools:v2"}) {
		t.Errorf("%q", got)
	}
	if list := into[struct{ Images []imageBody }](t, a.do(http.MethodGet, imagesPath+"?name=other",
		nil)).Images; len(list) != 0 {
		t.Errorf("%+v", list)
	}

	// Others of the tenant start from it and may not touch it; other tenants do not see it.
	alice := a.token
	a.token = a.tokenOf("bob", a.tenant)
	a.prints(from("tools:v2"), "cat ~/d/f", "v2\n")
	a.want(a.do(http.MethodDelete, imagesPath+"?image=tools:v2", nil), http.StatusForbidden, "EPERM")
	a.want(a.do(http.MethodPost, imagesPath+"/tag", object{"image": "tools:v2", "as": "tools"}), http.StatusForbidden,
		"EPERM")
	a.want(image(object{"sandbox": origin, "image": "mine"}), http.StatusForbidden, "FORBIDDEN")
	a.token = a.tokenOf("alice", "another-"+a.tenant)
	if got := a.images(); got != nil {
		t.Errorf("%q", got)
	}
	a.want(a.do(http.MethodPost, sandboxesPath, object{"from": "tools"}), http.StatusNotFound, "ENOENT")
	a.token = alice

	// In use or not, an image can go; sandboxes of it stay what they are.
	inUse := from("tools:v2")
	for _, name := range []string{"tools:v2", "tools"} {
		if got := a.do(http.MethodDelete, imagesPath+"?image="+url.QueryEscape(name),
			nil); got.status != http.StatusNoContent {
			t.Errorf("%d %s", got.status, got.body)
		}
		a.want(a.do(http.MethodDelete, imagesPath+"?image="+url.QueryEscape(name), nil), http.StatusNotFound, "ENOENT")
	}
	if got := a.images(); got != nil {
		t.Errorf("%q", got)
	}
	a.want(a.do(http.MethodPost, sandboxesPath, object{"from": "tools:v2"}), http.StatusNotFound, "ENOENT")
	a.prints(inUse, "cat ~/d/f; echo more >> ~/d/f; tail -n 1 ~/d/f", "v2\nmore\n")
	a.prints(two, "cat d/f", "one\ntwo\n")
}

// Undo and redo take a body or none, answer the sandbox as it is then, and refuse what there is not.
func TestUndoRoutes(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.sandbox(object{"history": object{"commits": 1}})
	base := sandboxesPath + "/" + id
	for i := 1; i <= 3; i++ {
		a.exec(id, fmt.Sprint("echo ", i, " > f"))
	}
	step := func(verb string, body any, version float64, text string) {
		t.Helper()
		got := into[object](t, a.do(http.MethodPost, base+"/"+verb, body))
		steps := got["steps"].([]any)
		delete(got, "steps")
		for _, s := range steps {
			s := s.(object)
			run := s["runs"].([]any)[0].(object)
			if !strings.HasPrefix(run["script"].(string), "echo ") || run["caller"] != "alice" || run["version"] != s["last"] ||
				s["total"] != 1.0 ||
				!reflect.DeepEqual(s["paths"], []any{"/home/user/f"}) {
				t.Errorf("%s says %v", verb, s)
			}
		}
		detail := into[object](t, a.do(http.MethodGet, base, nil))
		if !reflect.DeepEqual(got, detail) || got["version"] != version {
			t.Errorf("%s answers %v, the sandbox is %v", verb, got, detail)
		}
		a.prints(id, "cat f", text)
	}
	step("undo", nil, 4, "2\n")
	// What changes no file is not a step, and leaves what can be redone.
	a.exec(id, "cd /tmp; export A=b; cd")
	step("undo", object{}, 6, "1\n")
	step("redo", nil, 7, "2\n")
	step("redo", object{"steps": 1}, 8, "3\n")
	step("undo", object{"steps": 2}, 10, "1\n")
	step("redo", object{"steps": 2}, 12, "3\n")
	for _, steps := range []int{0, -1, 10_001} {
		for _, verb := range []string{"undo", "redo"} {
			a.want(a.do(http.MethodPost, base+"/"+verb, object{"steps": steps}), http.StatusBadRequest, "INVALID_INPUT")
		}
	}
	e := a.want(a.do(http.MethodPost, base+"/undo", object{"steps": 10_000}), http.StatusNotFound, "ENOENT")
	if e.Applied != "no" || a.version(id) != 12 {
		t.Errorf("%+v, version %v", e, a.version(id))
	}
	a.want(a.do(http.MethodPost, base+"/redo", nil), http.StatusNotFound, "ENOENT")
	// What is flattened is the same tree, and can still be undone.
	flat := into[object](t, a.do(http.MethodPost, base+"/flatten", nil))
	if flat["layers"] != 2.0 || flat["layersBefore"].(float64) < 3 {
		t.Errorf("%v", flat)
	}
	a.prints(id, "cat f; ls", "3\nf\n")
	if again := into[object](t, a.do(http.MethodPost, base+"/flatten", nil)); again["layersBefore"] != 2.0 {
		t.Errorf("%v", again)
	}
	into[object](t, a.do(http.MethodPost, base+"/undo", nil)) // the second step of the redo
	a.prints(id, "cat f", "2\n")
	// Without history there is nothing to go back to; with a stranger's token there is nothing at all.
	plain := a.sandbox(object{})
	a.exec(plain, "echo x > f")
	a.want(a.do(http.MethodPost, sandboxesPath+"/"+plain+"/undo", nil), http.StatusNotFound, "ENOENT")
	a.token = a.tokenOf("mallory", a.tenant)
	for _, verb := range []string{"undo", "redo", "flatten"} {
		a.want(a.do(http.MethodPost, base+"/"+verb, nil), http.StatusForbidden, "FORBIDDEN")
	}
}

// What differs between any two states, exactly.
func TestDiffRoute(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.sandbox(object{"history": object{"commits": 1}})
	base := sandboxesPath + "/" + id
	a.exec(id, `printf 'a\nb\nc\n' > f; echo x > gone; mkdir d; echo y > d/y; printf '\0' > bin; echo same > read; chmod 644 read`)
	a.exec(id, `sed -i 's/b/B/' f; rm gone; mv d moved; echo z > new; printf '\0\1' > bin; cat read; chmod 600 moved/y`)
	differs := func(query string) (out []difference) {
		t.Helper()
		return into[struct{ Changes []difference }](t, a.do(http.MethodGet, base+"/diff"+query, nil)).Changes
	}
	const home = "/home/user/"
	want := []difference{
		{Path: home + "bin", Status: "M", Kind: "file", Binary: true},
		{Path: home + "f", Status: "M", Kind: "file", Inserted: 1, Deleted: 1,
			Unified: "--- a/home/user/f\n+++ b/home/user/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		{Path: home + "gone", Status: "D", Kind: "file", Deleted: 1,
			Unified: "--- a/home/user/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"},
		{Path: home + "moved", Status: "R", Kind: "dir", PathFrom: home + "d"},
		{Path: home + "moved/y", Status: "M", Kind: "file", PathFrom: home + "d/y"},
		{Path: home + "new", Status: "A", Kind: "file", Inserted: 1,
			Unified: "--- /dev/null\n+++ b/home/user/new\n@@ -0,0 +1 @@\n+z\n"},
	}
	if got := differs("?fromAt=1&lines=true"); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	names := func(list []difference) (out []string) {
		for _, d := range list {
			out = append(out, d.Status+" "+strings.TrimPrefix(d.Path, home))
		}
		return out
	}
	for query, want := range map[string][]string{
		"":                   {"A bin", "A f", "A moved", "A moved/y", "A new", "A read"},
		"?at=1":              {"A bin", "A d", "A d/y", "A f", "A gone", "A read"},
		"?at=@base&fromAt=1": {"D bin", "D d", "D d/y", "D f", "D gone", "D read"},
		"?fromAt=2":          nil,
		"?at=1&fromAt=@head": {"M bin", "R d", "M d/y", "M f", "A gone", "D new"},
		"?at=2&fromAt=1":     {"M bin", "M f", "D gone", "R moved", "M moved/y", "A new"},
	} {
		if got := names(differs(query)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	a.want(a.do(http.MethodGet, base+"/diff?at=nothing", nil), http.StatusNotFound, "ENOENT")
	a.token = a.tokenOf("mallory", a.tenant)
	a.want(a.do(http.MethodGet, base+"/diff", nil), http.StatusForbidden, "FORBIDDEN")
}

// A merge that conflicts does nothing unless told what to do about it.
func TestMergeRoute(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.sandbox(object{"history": object{"commits": 1}})
	base := sandboxesPath + "/" + id
	a.exec(id, `printf '1\n2\n3\n4\n5\n6\n7\n8\n' > f; printf '\0' > bin; echo k > k`)
	fork := into[object](t, a.do(http.MethodPost, base+"/fork", nil))["id"].(string)
	a.exec(fork, `sed -i 's/^2/two/; s/^7/seven/' f; printf '\0\1' > bin; echo new > new; rm k`)
	a.exec(id, `sed -i 's/^7/SEVEN/' f; printf '\0\2' > bin`)
	merge := func(conflict string) (out struct {
		OK        bool
		Applied   string
		Merged    bool
		Conflicts int
		Changes   []mergeChange
	}) {
		t.Helper()
		in := object{"from": fork}
		if conflict != "" {
			in["conflict"] = conflict
		}
		data := a.do(http.MethodPost, base+"/merge", in)
		return into[struct {
			OK        bool
			Applied   string
			Merged    bool
			Conflicts int
			Changes   []mergeChange
		}](t, data)
	}
	const home = "/home/user/"
	const both = "changed on both sides"
	refused := func(f string) []mergeChange {
		return []mergeChange{{home + "k", "D", "merged", "", ""}, {home + "bin", "M", "conflict", both, "none"},
			{home + "f", "M", "conflict", f, "none"}, {home + "new", "A", "merged", "", ""}}
	}
	before := a.version(id)
	for conflict, f := range map[string]string{"": both + ", one place", "lines": both + ", one place", "fail": both} {
		if got := merge(conflict); got.Merged || got.OK || got.Applied != "no" || got.Conflicts != 2 ||
			!reflect.DeepEqual(got.Changes, refused(f)) {
			t.Errorf("%+v", got)
		}
	}
	if v := a.version(id); v != before {
		t.Errorf("version %v, was %v", v, before)
	}
	const left = "cat f; od -An -tx1 bin; ls"
	for conflict, want := range map[string]string{
		"ours":    "1\n2\n3\n4\n5\n6\nSEVEN\n8\n 00 02\nbin\nf\nnew\n",
		"theirs":  "1\ntwo\n3\n4\n5\n6\nseven\n8\n 00 01\nbin\nf\nnew\n",
		"markers": "1\ntwo\n3\n4\n5\n6\n<<<<<<< ours\nSEVEN\n=======\nseven\n>>>>>>> theirs\n8\n 00 02\nbin\nf\nnew\n",
	} {
		got := merge(conflict)
		if !got.Merged || !got.OK || got.Applied != "yes" || got.Conflicts != 2 ||
			got.Changes[1].Winner != map[string]string{"ours": "ours", "theirs": "theirs", "markers": "ours"}[conflict] {
			t.Errorf("%s: %+v", conflict, got)
		}
		a.prints(id, left, want)
		into[object](t, a.do(http.MethodPost, base+"/undo", nil))
		a.prints(id, left, "1\n2\n3\n4\n5\n6\nSEVEN\n8\n 00 02\nbin\nf\nk\n")
	}
	a.want(a.do(http.MethodPost, base+"/merge", object{"from": id}), http.StatusBadRequest, "INVALID_INPUT")
	a.want(a.do(http.MethodPost, base+"/merge", object{"from": fork, "conflict": "mine"}), http.StatusBadRequest,
		"INVALID_INPUT")
	a.want(a.do(http.MethodPost, base+"/merge", object{"from": fork, "base": "nothing"}), http.StatusNotFound, "ENOENT")
	mallory := a.tokenOf("mallory", a.tenant)
	a.token = mallory
	a.want(a.do(http.MethodPost, base+"/merge", object{"from": fork}), http.StatusForbidden, "FORBIDDEN")
}

// Keys compare and set, go with forks, and are what they were after a restore.
func TestKvRoutes(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.sandbox(object{})
	kv := func(id string) string { return sandboxesPath + "/" + id + "/kv" }
	set := func(id, key string, in object) answer { return a.do(http.MethodPut, kv(id)+"/"+key, in) }
	first := into[kvEntry](t, set(id, "a/b", object{"value": object{"n": []int{1, 2}}, "expectVersion": 0})).Version
	e := a.want(set(id, "a/b", object{"value": 1, "expectVersion": 0}), http.StatusConflict, "ESTALE")
	if e.Message != "the key is not as expected" || e.Applied != "no" {
		t.Errorf("%+v", e)
	}
	a.want(set(id, "a/b", object{"value": 1, "expectValue": object{"n": 1}}), http.StatusConflict, "ESTALE")
	second := into[kvEntry](t, set(id, "a/b", object{"value": "two", "expectValue": object{"n": []int{1, 2}}})).Version
	if second <= first {
		t.Errorf("version %d after %d", second, first)
	}
	into[object](t, a.do(http.MethodPost, sandboxesPath+"/"+id+"/snapshots", object{"name": "s"}))
	fork := into[object](t, a.do(http.MethodPost, sandboxesPath+"/"+id+"/fork", object{}))["id"].(string)
	into[kvEntry](t, set(id, "a/c", object{"value": true}))
	into[kvEntry](t, set(fork, "a/b", object{"value": "the fork's"}))
	get := func(id, key string, want any) {
		t.Helper()
		if got := into[kvEntry](t, a.do(http.MethodGet, kv(id)+"/"+key, nil)); got.Key != key ||
			!reflect.DeepEqual(got.Value, want) {
			t.Errorf("%+v, want %v", got, want)
		}
	}
	get(id, "a/b", "two")
	get(fork, "a/b", "the fork's")
	a.want(a.do(http.MethodGet, kv(fork)+"/a/c", nil), http.StatusNotFound, "ENOENT")
	type page struct {
		Entries []kvEntry
		More    bool
	}
	if p := into[page](t, a.do(http.MethodGet, kv(id)+"?prefix=a/&limit=1", nil)); len(p.Entries) != 1 ||
		p.Entries[0].Key != "a/b" || !p.More {
		t.Errorf("%+v", p)
	}
	if p := into[page](t, a.do(http.MethodGet, kv(id)+"?prefix=a/&limit=1&after=a/b", nil)); len(p.Entries) != 1 ||
		p.Entries[0].Key != "a/c" || p.More {
		t.Errorf("%+v", p)
	}
	a.want(a.do(http.MethodDelete, fmt.Sprintf("%s/a/b?expectVersion=%d", kv(id), first), nil), http.StatusConflict,
		"ESTALE")
	if got := a.do(http.MethodDelete, fmt.Sprintf("%s/a/b?expectVersion=%d", kv(id), second),
		nil); got.status != http.StatusNoContent {
		t.Errorf("%d %s", got.status, got.body)
	}
	a.want(a.do(http.MethodDelete, kv(id)+"/a/b", nil), http.StatusNotFound, "ENOENT")
	into[object](t, a.do(http.MethodPost, sandboxesPath+"/"+id+"/restore", object{"at": "s"}))
	get(id, "a/b", "two")
	a.want(a.do(http.MethodGet, kv(id)+"/a/c", nil), http.StatusNotFound, "ENOENT")
}

// Every situation of a merge, by scripts and over the wire: the tree is what git merge makes of it, or all stays as it
// was.
func TestMergeRoute_cases(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const show = `(cd ~/w; find . -mindepth 1 | sed 's|^./||' | LC_ALL=C sort | while read -r p; do
		if [ -L "$p" ]; then echo "$p->$(readlink "$p")"; elif [ -d "$p" ]; then echo "$p/"; else echo "$p=$(tr '\n' '|' < "$p")"; fi; done | paste -sd' ')`
	tree := func(id string) string {
		if s := strings.TrimSuffix(a.exec(id, show).Stdout, "\n"); s != "" {
			return s
		}
		return "."
	}
	for _, c := range sqltest.MergeCases {
		id := a.sandbox(object{})
		base := sandboxesPath + "/" + id
		a.exec(id, "mkdir ~/w\n"+c.Shell(c.Base))
		fork := into[object](t, a.do(http.MethodPost, base+"/fork", nil))["id"].(string)
		a.exec(id, c.Shell(c.Ours))
		a.exec(fork, c.Shell(c.Theirs))
		want, version := c.Want, a.version(id)
		if want == "" {
			want = tree(id)
		}
		got := into[struct {
			OK        bool
			Applied   string
			Conflicts int
			Changes   []mergeChange
		}](t, a.do(http.MethodPost, base+"/merge", object{"from": fork}))
		if clean := c.Want != ""; got.OK != clean || (got.Conflicts == 0) != clean ||
			got.Applied == "yes" && a.version(id) != version+1 ||
			got.Applied == "no" && a.version(id) != version || !clean && got.Applied != "no" {
			t.Errorf("%s: %+v, version %v was %v", c.Name, got, a.version(id), version)
		}
		if s := tree(id); s != want {
			t.Errorf("%s: %s, want %s (%+v)", c.Name, s, want, got)
		}
	}
}
