package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// Whoever renames, links or copies a name by a script finds the new one in the journal.
func TestChangesNameWhereScriptsPutThings(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.sandbox(object{})
	a.exec(id, "mkdir d; echo 1 > f")
	a.exec(id, "mv f g; ln g h; ln -s g s; mv d e")
	var got []string
	for _, c := range into[struct{ Changes []changeBody }](t, a.do(http.MethodGet, sandboxesPath+"/"+id+"/changes?since=1",
		nil)).Changes {
		got = append(got, c.Op+" "+c.Path+" "+c.PathTo)
	}
	want := []string{
		"rename /home/user/f /home/user/g", "link /home/user/g /home/user/h", "symlink /home/user/s g",
		"rename /home/user/d /home/user/e",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestHistoryRoutes(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.sandbox(object{})
	base := sandboxesPath + "/" + id
	for _, script := range []string{"echo 1 > f", "cat f", "echo 2 >> f", "false"} {
		into[execResult](t, a.do(http.MethodPost, base+"/exec-sync", map[string]any{"script": script}))
	}
	execs := func(query string) (scripts []string, next string) {
		t.Helper()
		var out timelineOutput
		out.Body = into[struct {
			Execs      []runBody `json:"execs"`
			NextCursor string    `json:"nextCursor,omitempty"`
		}](t, a.do(http.MethodGet, base+"/execs"+query, nil))
		for _, r := range out.Body.Execs {
			scripts = append(scripts, r.Script)
			if r.Route != "exec-sync" || r.Caller != "alice" || r.ExitCode == nil {
				t.Errorf("%+v", r)
			}
		}
		return scripts, out.Body.NextCursor
	}
	if got, next := execs("?route=exec-sync"); !slices.Equal(got,
		[]string{"false", "echo 2 >> f", "cat f", "echo 1 > f"}) || next != "" {
		t.Errorf("%q, %q", got, next)
	}
	if got, _ := execs("?committed=true&script=2"); !slices.Equal(got, []string{"echo 2 >> f"}) {
		t.Errorf("%q", got)
	}
	if got, _ := execs("?failed=true&limit=1"); !slices.Equal(got, []string{"false"}) {
		t.Errorf("%q", got)
	}
	var paged []string
	for next := "?route=exec-sync&limit=2"; ; {
		got, cursor := execs(next)
		paged = append(paged, got...)
		if cursor == "" {
			break
		}
		next = "?route=exec-sync&limit=2&cursor=" + url.QueryEscape(cursor)
	}
	if len(paged) != 4 {
		t.Errorf("in pages: %q", paged)
	}
	changes := into[struct{ Changes []changeBody }](t, a.do(http.MethodGet, base+"/changes", nil)).Changes
	if len(changes) != 2 || changes[0].Op != "create" || changes[0].SizeBefore != nil || changes[1].Op != "write" ||
		*changes[1].SizeBefore != 2 || *changes[1].SizeAfter != 4 ||
		len(changes[1].HashAfter) != 64 || changes[0].HashAfter != changes[1].HashBefore {
		t.Errorf("%+v", changes)
	}
	if later := into[struct{ Changes []changeBody }](t, a.do(http.MethodGet, base+"/changes?since=1",
		nil)).Changes; len(later) != 1 || later[0].Version != 2 {
		t.Errorf("%+v", later)
	}
	history := into[struct{ Changes []touchBody }](t, a.do(http.MethodGet, base+"/history?path=/home/user/f", nil)).Changes
	if len(history) != 2 || history[0].Script != "echo 2 >> f" || history[1].Script != "echo 1 > f" {
		t.Errorf("%+v", history)
	}
	files := into[struct{ Files []blameBody }](t, a.do(http.MethodGet, base+"/blame?path=/home", nil)).Files
	if len(files) != 1 || files[0].Path != "/home/user/f" || files[0].Script != "echo 2 >> f" || files[0].Version != 2 {
		t.Errorf("%+v", files)
	}
	for path, status := range map[string]int{
		"/history?path=relative": 400, "/history": 400, "/history?path=/nowhere/f": 404, "/execs?cursor=x": 400,
		"/execs?since=x": 400, "/changes?since=x": 400, "/execs?failed=x": 400, "/blame?path=/nowhere": 404,
	} {
		if got := a.do(http.MethodGet, base+path, nil); got.status != status ||
			!strings.Contains(string(got.body), `"applied":"no"`) {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	stranger := *a
	stranger.token = a.tokenOf("mallory", a.tenant)
	for _, path := range []string{"/execs", "/changes", "/history?path=/", "/blame"} {
		if got := stranger.do(http.MethodGet, base+path, nil); got.status != 403 {
			t.Errorf("%s of a stranger: %d %s", path, got.status, got.body)
		}
	}
	// Without a journal there is no history.
	into[map[string]any](t, a.do(http.MethodPatch, base, map[string]any{"journal": false}))
	into[execResult](t, a.do(http.MethodPost, base+"/exec-sync", map[string]any{"script": "echo 3 >> f"}))
	if later := into[struct{ Changes []changeBody }](t, a.do(http.MethodGet, base+"/changes?since=2",
		nil)).Changes; len(later) != 0 {
		t.Errorf("%+v", later)
	}
}
