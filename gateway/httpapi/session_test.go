package httpapi

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestSessionRoutes: a name on any of the exec routes is a directory and an environment of its own, listed and removed
// under it.
func TestSessionRoutes(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.sandbox(object{})
	base := sandboxesPath + "/" + id
	prints := func(session any, script, want string) {
		t.Helper()
		got := into[execResult](t, a.do(http.MethodPost, base+"/exec-sync", object{"script": script, "session": session}))
		if got.Stdout != want || got.Stderr != "" {
			t.Fatalf("%v: %s: %q %q, want %q", session, script, got.Stdout, got.Stderr, want)
		}
	}
	odd := `a/b "c" ..?%2f#ä`
	prints("one", "cd /tmp; export WHO=one; f() { echo f; }", "")
	prints(odd, "pwd; echo ${WHO-none}; cd /usr; export WHO=odd", "/home/user\nnone\n")
	prints("one", "pwd; echo $WHO; f", "/tmp\none\nf\n")
	prints(true, "pwd; echo ${WHO-none}; g() { echo g; }", "/home/user\nnone\n")
	prints(true, "g", "g\n")
	prints(false, "pwd", "/home/user\n")
	type batch struct{ Results []batchResult }
	got := into[batch](t, a.do(http.MethodPost, base+"/exec-sync-batch",
		object{"session": "one", "scripts": []object{{"id": "1", "script": "cd /bin"}, {"id": "2", "script": "pwd; f"}}}))
	if got.Results[1].Stdout != "/bin\nf\n" {
		t.Fatalf("%+v", got)
	}
	stream := a.do(http.MethodPost, base+"/exec", object{"script": "pwd", "session": "one"})
	if !strings.Contains(string(stream.body), `"data":"/bin\n"`) {
		t.Fatalf("%s", stream.body)
	}

	type list struct{ Sessions []sessionBody }
	l := into[list](t, a.do(http.MethodGet, base+"/sessions", nil)).Sessions
	if len(l) != 2 || l[0].Name != odd || l[0].Cwd != "/usr" || l[1].Name != "one" || l[1].Cwd != "/bin" ||
		l[1].Variables == 0 || l[1].Bytes == 0 || l[1].ExpiresAt <= l[1].LastUsedAt {
		t.Fatalf("%+v", l)
	}
	if got := a.do(http.MethodDelete, base+"/sessions/"+url.PathEscape(odd), nil); got.status != http.StatusNoContent {
		t.Fatalf("%d %s", got.status, got.body)
	}
	a.want(a.do(http.MethodDelete, base+"/sessions/"+url.PathEscape(odd), nil), http.StatusNotFound, "ENOENT")
	prints(odd, "pwd", "/home/user\n")

	for _, bad := range []any{"", ".", "..", "a\nb", strings.Repeat("a", 129), 1, object{}, []string{"a"}} {
		for _, route := range []string{"/exec-sync", "/exec"} {
			e := a.want(a.do(http.MethodPost, base+route, object{"script": "true", "session": bad}), http.StatusBadRequest,
				"INVALID_INPUT")
			if said := e.Message + strings.Join(e.Details, " "); !strings.Contains(said, "session: ") {
				t.Errorf("%v: %s", bad, said)
			}
		}
		a.want(a.do(http.MethodPost, base+"/exec-sync-batch", object{"session": bad,
			"scripts": []object{{"id": "1", "script": "true"}}}), http.StatusBadRequest, "INVALID_INPUT")
	}
	a.token = a.tokenOf("mallory", a.tenant)
	a.want(a.do(http.MethodGet, base+"/sessions", nil), http.StatusForbidden, "FORBIDDEN")
	a.want(a.do(http.MethodDelete, base+"/sessions/one", nil), http.StatusForbidden, "FORBIDDEN")
}
