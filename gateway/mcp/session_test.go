package mcp

import (
	"strings"
	"testing"
)

// TestSessionOfATool: two agents that name sessions do not see each other's directories and variables.
func TestSessionOfATool(t *testing.T) {
	t.Parallel()
	c := newEndpoint(t, nil).as("alice")
	id := c.sandbox(object{})
	stdout := func(session any, script string) any {
		t.Helper()
		return c.must("bash_exec", object{"id": id, "script": script, "session": session})["stdout"]
	}
	stdout("planner", "cd /tmp; export WHO=planner; f() { echo f; }")
	same(t, "other", stdout("coder", "pwd; echo ${WHO-none}; type f 2> /dev/null"), "/home/user\nnone\n")
	same(t, "own", stdout("planner", "pwd; echo $WHO; f"), "/tmp\nplanner\nf\n")
	same(t, "none", stdout(false, "pwd; g() { echo g; }"), "/home/user\n")
	stdout(true, "g() { echo g; }")
	same(t, "kept", stdout(true, "g"), "g\n")
	results := c.must("bash_exec_batch", object{"id": id, "session": "planner", "scripts": []object{{"id": "1", "script": "cd /usr"}, {"id": "2", "script": "pwd; f"}}})["results"].([]any)
	same(t, "batch", results[1].(object)["stdout"], "/usr\nf\n")
	for _, bad := range []any{"", "..", "a\nb", strings.Repeat("a", 129), 1, nil, []any{}} {
		for tool, args := range map[string]object{"bash_exec": {"script": "true"}, "bash_exec_batch": {"scripts": []object{{"id": "1", "script": "true"}}}} {
			args["id"], args["session"] = id, bad
			if e := c.fails(tool, args, "INVALID_INPUT"); !strings.Contains(e["error"].(string), "session") {
				t.Errorf("%s %v: %s", tool, bad, e["error"])
			}
		}
	}
}
