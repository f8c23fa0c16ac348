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
	results := c.must("bash_exec_batch", object{"id": id, "session": "planner",
		"scripts": []object{{"id": "1", "script": "cd /usr"}, {"id": "2", "script": "pwd; f"}}})["results"].([]any)
	same(t, "batch", results[1].(object)["stdout"], "/usr\nf\n")
	for _, bad := range []any{"", "..", "a\nb", strings.Repeat("a", 129), 1, nil, []any{}} {
		for tool, args := range map[string]object{"bash_exec": {"script": "true"},
			"bash_exec_batch": {"scripts": []object{{"id": "1", "script": "true"}}}} {
			args["id"], args["session"] = id, bad
			if e := c.fails(tool, args, "INVALID_INPUT"); !strings.Contains(e["error"].(string), "session") {
				t.Errorf("%s %v: %s", tool, bad, e["error"])
			}
		}
	}
}

// TestSessionsAreListedAndForgotten: what REST and the command line can do with sessions, an agent can.
func TestSessionsAreListedAndForgotten(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, nil)
	c := e.as("alice")
	id := c.sandbox(object{})
	same(t, "none", c.must("session_list", object{"id": id})["sessions"], []any{})
	for name, script := range map[string]string{"planner": "cd /tmp; export A=1 B=2", "coder": "export A=1"} {
		c.must("bash_exec", object{"id": id, "script": script, "session": name})
	}
	list := c.must("session_list", object{"id": id})["sessions"].([]any)
	if len(list) != 2 {
		t.Fatalf("%v", list)
	}
	coder, planner := list[0].(object), list[1].(object)
	same(t, "sorted", coder["name"], "coder")
	same(t, "cwd", planner["cwd"], "/tmp")
	if planner["variables"].(float64) <= coder["variables"].(float64) || planner["bytes"].(float64) <= 0 {
		t.Errorf("%v, %v", coder, planner)
	}
	if used, until := planner["lastUsedAt"].(string), planner["expiresAt"].(string); used >= until {
		t.Errorf("used %s, until %s", used, until)
	}
	c.must("session_delete", object{"id": id, "name": "planner"})
	same(t, "left", len(c.must("session_list", object{"id": id})["sessions"].([]any)), 1)
	same(t, "afresh", c.must("bash_exec", object{"id": id, "script": "pwd; echo ${A-none}", "session": "planner",
		"readOnly": true})["stdout"], "/home/user\nnone\n")
	c.fails("session_delete", object{"id": id, "name": "planner"}, "ENOENT")
	c.fails("session_delete", object{"id": id}, "INVALID_INPUT")
	c.fails("session_list", object{"id": "x"}, "SANDBOX_NOT_FOUND")
	bob := e.as("bob")
	bob.fails("session_list", object{"id": id}, "FORBIDDEN")
	bob.fails("session_delete", object{"id": id, "name": "coder"}, "FORBIDDEN")
}
