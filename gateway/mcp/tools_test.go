package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// size is how long the text of a tool's answer is.
func (c *client) size(tool string, args object) (int, object) {
	c.t.Helper()
	res, err := c.CallTool(c.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil || res.IsError {
		c.t.Fatalf("%s: %v %+v", tool, err, res)
	}
	out, _ := res.StructuredContent.(object)
	return len(res.Content[0].(*sdk.TextContent).Text), out
}

// No answer is longer than a model can read, whatever the sandbox holds; it says that something is left out, and how to
// go on.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	c := newEndpoint(t, func(cfg *Config) { cfg.MaxInodes = 20_000 }).as("alice")
	id := c.sandbox(object{})
	c.must("bash_exec", object{"id": id, "timeout": 120_000, "script": `mkdir -p many/{a..z}; for d in many/*; do for i in {1..150}; do echo "a line that is found $i" > $d/$i-$(printf 'n%.0s' {1..60}); done; done
seq -f 'found %.0f, and more of it' 200000 > long; head -c 3M /dev/zero | tr '\0' x > wide; for i in {1..40}; do head -c 10K wide > part$i; done`})
	c.must("kv_set", object{"id": id, "key": "k", "value": strings.Repeat("v", 1_000_000)})
	many := []object{}
	for i := range 40 {
		many = append(many, object{"id": fmt.Sprint(i), "script": "seq 100000"})
	}
	for _, call := range []struct {
		tool string
		args object
		next string // what says how to go on
	}{
		{"fs_grep", object{"pattern": "found", "limit": 10_000}, "nextOffset"},
		{"fs_grep", object{"pattern": "x"}, ""},
		{"fs_glob", object{"pattern": "**", "limit": 10_000}, "nextOffset"},
		{"fs_list", object{"depth": -1, "limit": 10_000}, "nextOffset"},
		{"fs_export", object{}, "nextAfter"},
		{"file_read", object{"path": "/home/user/long"}, "next"},
		{"file_read", object{"path": "/home/user/wide"}, "next"},
		{"bash_exec", object{"script": "seq 1000000; seq 1000000 >&2"}, "truncated"},
		{"bash_exec_batch", object{"scripts": many, "readOnly": true}, ""},
		{"kv_get", object{"key": "k"}, "truncated"},
		{"kv_list", object{}, "truncated"},
		{"sandbox_diff", object{"lines": true}, "truncated"},
		{"file_blame", object{"path": "/"}, "truncated"},
	} {
		call.args["id"] = id
		n, out := c.size(call.tool, call.args)
		if n > answerBytes+4<<10 {
			t.Errorf("%s %.200v: %d bytes", call.tool, call.args, n)
		}
		if call.next != "" && (out[call.next] == nil || out[call.next] == false) {
			t.Errorf("%s: %s is not said", call.tool, call.next)
		}
	}
	// What is left out is had by going on.
	pages := func(tool, list, next, arg string, args object) (all []any) {
		args["id"] = id
		for range 100 {
			out := c.must(tool, args)
			all = append(all, out[list].([]any)...)
			if out[next] == nil {
				return all
			}
			args[arg] = out[next]
		}
		t.Fatalf("%s: no end", tool)
		return nil
	}
	same(t, "grep", len(pages("fs_grep", "lines", "nextOffset", "offset",
		object{"path": "/home/user/many", "pattern": "found", "limit": 10_000})), 26*150)
	same(t, "glob", len(pages("fs_glob", "lines", "nextOffset", "offset",
		object{"pattern": "many/*/*n", "limit": 10_000})), 26*150)
	same(t, "list", len(pages("fs_list", "entries", "nextOffset", "offset",
		object{"path": "/home/user/many", "depth": -1})), 26*151)
	files := pages("fs_export", "files", "nextAfter", "after", object{"path": "/home/user/many"})
	seen := map[any]bool{}
	for _, f := range files {
		seen[f.(object)["path"]] = true
	}
	same(t, "export", []int{len(files), len(seen)}, []int{26 * 150, 26 * 150})
	if _, out := c.size("file_read", object{"id": id, "path": "/home/user/wide",
		"maxBytes": 2 << 20}); len(out["content"].(string)) != 2<<20 {
		t.Error("who asks for more does not get it")
	}
}

func TestCutAnswersAreWhole(t *testing.T) {
	for name, v := range map[string]any{
		"list": object{"ok": true, "list": make([]string, 10_000), "n": 1},
		"text": object{"ok": true, "text": strings.Repeat("é", 10_000),
			"deep": object{"a": []any{strings.Repeat("x", 10_000)}}},
		"one entry": object{"ok": true, "list": []any{strings.Repeat("x", 10_000), strings.Repeat("y", 10_000)}},
		"names":     object{"ok": true, "a": strings.Repeat("x", 900), "list": []any{1, 2}},
	} {
		var cut object
		text := fit(encoded(v), 1000)
		if err := json.Unmarshal(text, &cut); err != nil || len(text) > 1200 || cut["ok"] != true ||
			name != "names" && cut["truncated"] != true {
			t.Errorf("%s: %d %v %.200s", name, len(text), err, text)
		}
	}
}

// What agents know of ripgrep and of globs works.
func TestSearching(t *testing.T) {
	t.Parallel()
	c := newEndpoint(t, nil).as("alice")
	id := c.sandbox(object{"files": object{"/home/user/a.go": "package a\nvar n = 42\nfunc F() {\n}\n",
		"/home/user/b.ts": "Const x = 7\n", "/home/user/c.md": "none\n",
		"/home/user/.gitignore": "out/\n", "/home/user/out/a.go": "var n = 43\n", "/home/user/.hidden": "n = 44\n",
		"/home/user/w{x}y": "braces\n"}})
	grep := func(args object) any {
		t.Helper()
		args["id"] = id
		return c.must("fs_grep", args)["lines"]
	}
	same(t, "\\d", grep(object{"pattern": `= \d+$`}), []string{"/home/user/.hidden:1:n = 44",
		"/home/user/a.go:2:var n = 42", "/home/user/b.ts:1:Const x = 7"})
	same(t, "(?i)", grep(object{"pattern": `(?i)const`}), []string{"/home/user/b.ts:1:Const x = 7"})
	same(t, "ignored", grep(object{"pattern": "43", "noIgnore": true}), []string{"/home/user/out/a.go:1:var n = 43"})
	same(t, "type", grep(object{"pattern": "=", "type": "go"}), []string{"/home/user/a.go:2:var n = 42"})
	same(t, "braces", grep(object{"pattern": "=", "include": "*.{go,ts}", "output": "files"}),
		[]string{"/home/user/a.go", "/home/user/b.ts"})
	same(t, "count", grep(object{"pattern": "a", "output": "count", "type": "go"}), []string{"/home/user/a.go:2"})
	same(t, "multiline", grep(object{"pattern": `42.*func`, "multiline": true}),
		[]string{"/home/user/a.go:2:var n = 42", "/home/user/a.go:3:func F() {"})
	same(t, "context", grep(object{"pattern": "42", "context": 1, "type": "go"}),
		[]string{"/home/user/a.go-1-package a", "/home/user/a.go:2:var n = 42", "/home/user/a.go-3-func F() {"})
	same(t, "nothing", grep(object{"pattern": "nowhere"}), []string{})
	same(t, "no script", grep(object{"pattern": `"$(touch /tmp/x)`, "include": "$(touch /tmp/x)", "fixed": true}),
		[]string{})
	c.fails("fs_grep", object{"id": id, "pattern": "x", "type": "nonsense"}, "INVALID_INPUT")
	c.fails("fs_grep", object{"id": id, "pattern": "x", "output": "all"}, "INVALID_INPUT")
	c.fails("fs_grep", object{"id": id, "pattern": "x", "offset": -1}, "INVALID_INPUT")
	glob := func(pattern string) any {
		t.Helper()
		return c.must("fs_glob", object{"id": id, "pattern": pattern})["lines"]
	}
	same(t, "braces", glob("*.{md,go,{ts,js}}"), []string{"a.go", "b.ts", "c.md"})
	same(t, "nested", glob("**/{a,b}.{go,ts}"), []string{"a.go", "b.ts", "out/a.go"})
	same(t, "no braces", glob("w{x}y"), []string{"w{x}y"})
	same(t, "twice", glob("{a,*}.go"), []string{"a.go"})
	c.fails("fs_glob", object{"id": id, "pattern": strings.Repeat("{a,b}", 20)}, "INVALID_INPUT")
}

func TestBraces(t *testing.T) {
	for pattern, want := range map[string]string{
		"a": "a", "{a,b}": "a b", "x{a,b}y{c,}": "xayc xay xbyc xby", "{a,{b,c}}": "a b c", `\{a,b}`: `\{a,b}`, "{a": "{a",
		"{}": "{}", "{{a,b}": "{a {b", "{a},{b,c}": "{a},b {a},c", "": "",
	} {
		if got, err := braces(pattern); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %q %v, want %q", pattern, got, err, want)
		}
	}
}

// An edit shows what it did; one that fails says where to look; several are one.
func TestEdits(t *testing.T) {
	t.Parallel()
	c := newEndpoint(t, nil).as("alice")
	var text strings.Builder
	for i := 1; i <= 50; i++ {
		fmt.Fprintf(&text, "line number %d\n", i)
	}
	id := c.sandbox(object{"files": object{"/home/user/f": text.String() + "\tif (x == 1) {\n"}})
	edit := func(args object) object {
		args["id"], args["path"] = id, "/home/user/f"
		return args
	}
	read := c.must("file_read", object{"id": id, "path": "/home/user/f", "limit": 1})
	same(t, "lines", read["totalLines"], 51)
	got := c.must("file_edit", edit(object{"oldString": "number 20\n", "newString": "number twenty\nand more\n",
		"ifMatch": read["etag"]}))
	same(t, "snippet", got["snippet"],
		"    17\tline number 17\n    18\tline number 18\n    19\tline number 19\n    20\tline number twenty\n    21\tand more\n    22\tline number 21\n    23\tline number 22\n    24\tline number 23\n")
	same(t, "etag", got["etag"], c.must("file_read", object{"id": id, "path": "/home/user/f"})["etag"])
	c.fails("file_edit", edit(object{"oldString": "number 3\n", "newString": "x", "ifMatch": read["etag"]}),
		"PRECONDITION_FAILED")
	c.fails("file_write", object{"id": id, "path": "/home/user/f", "content": "x", "ifMatch": read["etag"]},
		"PRECONDITION_FAILED")

	missing := c.fails("file_edit", edit(object{"oldString": "    if (x == 1) {\n        y()", "newString": "x"}),
		"EDIT_NO_MATCH")
	if d := fmt.Sprint(missing["details"]); !strings.Contains(d, "nearest: line 52: \tif (x == 1) {") {
		t.Error(d)
	}
	missing = c.fails("file_edit", edit(object{"oldString": "lime nunber 33", "newString": "x"}), "EDIT_NO_MATCH")
	if d := fmt.Sprint(missing["details"]); !strings.Contains(d, "line 34: line number 33") {
		t.Error(d)
	}
	twice := c.fails("file_edit", edit(object{"oldString": "number 4", "newString": "x"}), "EDIT_NOT_UNIQUE")
	same(t, "where", twice["details"], []string{"at the lines 4, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50"})

	before := c.must("file_read", object{"id": id, "path": "/home/user/f"})["content"]
	second := c.fails("file_edit", edit(object{"edits": []object{{"oldString": "number 1\n", "newString": "one\n"},
		{"oldString": "none", "newString": ""}}}), "EDIT_NO_MATCH")
	if !strings.Contains(second["error"].(string), "edit 2 of 2") {
		t.Error(second)
	}
	same(t, "nothing of it", c.must("file_read", object{"id": id, "path": "/home/user/f"})["content"], before)
	both := c.must("file_edit", edit(object{"edits": []object{{"oldString": "number 1\n", "newString": "one\n"},
		{"old_string": "line one", "new_string": "first"}}}))
	same(t, "both", []any{both["replacements"], strings.HasPrefix(both["snippet"].(string), "     1\tfirst\n")},
		[]any{2, true})
	c.fails("file_edit", edit(object{"edits": []object{{"oldString": "a", "newString": "b"}}, "oldString": "c"}),
		"INVALID_INPUT")
	c.fails("file_edit", edit(object{}), "INVALID_INPUT")
	all := c.must("file_edit", edit(object{"oldString": "line", "newString": strings.Repeat("w", 1000),
		"replaceAll": true}))
	if s := all["snippet"].(string); len(s) > 10<<10 || !strings.Contains(s, "lines left out") {
		t.Errorf("%d bytes of snippet", len(s))
	}
}

// Names and shapes that clients know from elsewhere are taken; of what is not known it is said what is.
func TestArgumentsOfOtherServers(t *testing.T) {
	t.Parallel()
	c := newEndpoint(t, nil).as("alice")
	id := c.sandbox(object{})
	c.must("fs_ingest", object{"sandboxId": id, "files": object{"a": base64.StdEncoding.EncodeToString([]byte("one\n")),
		"d/b": object{"text": "two\n"}}})
	same(t, "files", c.must("bash_exec", object{"sandbox_id": id, "command": "cat a d/b", "timeoutMs": 10_000})["stdout"],
		"one\ntwo\n")
	same(t, "path", c.must("file_read", object{"id": id, "file_path": "/home/user/a"})["content"], "one\n")
	c.must("file_edit", object{"id": id, "file_path": "/home/user/a", "old_string": "one", "new_string": "1",
		"replace_all": true})
	wrong := c.fails("bash_exec", object{"id": id, "script": ":", "time_out": 1, "shell": "zsh"},
		"INVALID_INPUT")["error"].(string)
	for _, s := range []string{`"shell" is not an argument`,
		`"time_out" is not an argument of this tool (is "timeout" meant?)`,
		"it takes agent, at, atomic, backgroundWait, cwd, "} {
		if !strings.Contains(wrong, s) {
			t.Errorf("%q does not say %q", wrong, s)
		}
	}
	// Both names at once are not guessed at.
	c.fails("bash_exec", object{"id": id, "sandboxId": id, "script": ":"}, "INVALID_INPUT")
}

// A picture is one for the model too.
func TestImagesAreShown(t *testing.T) {
	t.Parallel()
	c := newEndpoint(t, nil).as("alice")
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 30, 30))); err != nil {
		t.Fatal(err)
	}
	id := c.sandbox(object{})
	c.must("file_write", object{"id": id, "path": "/home/user/p", "content": base64.StdEncoding.EncodeToString(b.Bytes()),
		"encoding": "base64"})
	res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "file_read",
		Arguments: object{"id": id, "path": "/home/user/p"}})
	if err != nil || len(res.Content) != 2 {
		t.Fatalf("%+v %v", res, err)
	}
	img, ok := res.Content[1].(*sdk.ImageContent)
	if !ok || img.MIMEType != "image/png" || !bytes.Equal(img.Data, b.Bytes()) {
		t.Errorf("%+v", res.Content[1])
	}
	same(t, "bytes", c.must("file_read", object{"id": id, "path": "/home/user/p", "limit": 100})["encoding"], "base64")
}

// Nothing runs on between calls, and the answer says what would have.
func TestBackgroundProcessesOfACall(t *testing.T) {
	t.Parallel()
	c := newEndpoint(t, nil).as("alice")
	id := c.sandbox(object{})
	got := c.must("bash_exec", object{"id": id, "script": "sleep 100 &"})
	if got["backgroundEnded"] != 1.0 || !strings.Contains(got["stderr"].(string), "sleep 100") {
		t.Error(got)
	}
	same(t, "waited for", c.must("bash_exec", object{"id": id, "script": "{ sleep 0.2; echo late; } &",
		"backgroundWaitMs": 25_000})["stdout"], "late\n")
	c.fails("bash_exec", object{"id": id, "script": ":", "backgroundWait": -1}, "INVALID_INPUT")
}
