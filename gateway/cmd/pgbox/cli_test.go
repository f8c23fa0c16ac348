package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// shellHabits are what people and scripts expect of a program on a command line.
func shellHabits(t *testing.T, r *running) {
	id := strings.TrimSpace(r.must(t, "sandbox", "create", "habits"))
	for _, c := range []struct {
		stdin  string
		args   []string
		out    string
		errOut string // is contained
		status int
	}{
		// A wrong command line is an error of its own, at every level.
		{"", []string{"sandbox", "lst"}, "", `unknown command "lst" for "pgbox sandbox"`, 2},
		{"", []string{"snapshot", "nope", id}, "", `unknown command "nope" for "pgbox snapshot"`, 2},
		{"", []string{"nope"}, "", `unknown command "nope" for "pgbox"`, 2},
		{"", []string{"migrate", "down"}, "", `unknown command "down"`, 2},
		{"", []string{"fs", "cat", id}, "", "usage: pgbox fs cat", 2},
		{"", []string{"exec", "--nope", id, "--", "true"}, "", "unknown flag: --nope", 2},
		// One word is a script, several are words.
		{"", []string{"exec", id, "--", "echo $((1+1)); echo b"}, "2\nb\n", "", 0},
		{"", []string{"exec", id, "--", "echo", "$HOME", "a  b", "it's", ""}, "$HOME a  b it's \n", "", 0},
		// Standard input is the script's.
		{"one\ntwo\n", []string{"exec", id, "--", "wc", "-l"}, "2\n", "", 0},
		{"one\ntwo\n", []string{"exec", "-n", id, "--", "cat"}, "", "", 0},
		{"", []string{"exec", id, "--timeout", "200ms", "--", "sleep 60"}, "", "EXEC_TIMEOUT", 124},
		// A sandbox answers to its name and to the beginning of its id, everywhere.
		{"", []string{"exec", "habits", "--", "echo hi > f"}, "", "", 0},
		{"", []string{"fs", "cat", id[:13], "/home/user/f"}, "hi\n", "", 0},
		{"", []string{"snapshot", "create", "habits", "s1"}, "", "", 0},
		{"", []string{"snapshot", "ls", "habits", "-q"}, "s1\n", "", 0},
		{"", []string{"diff", "habits@s1", "habits"}, "", "", 0},
		{"", []string{"snapshot", "rm", "habits", "s1"}, "", "", 0},
		{"", []string{"snapshot", "ls", "habits"}, "", "", 0},
		{"", []string{"snapshot", "rm", "habits", "s1"}, "", "forget s1", 1},
		{"", []string{"exec", "nobody", "--", "true"}, "", "SANDBOX_NOT_FOUND", 1},
	} {
		out, errOut, status := r.pgbox(t, c.stdin, c.args...)
		if out != c.out || !strings.Contains(errOut, c.errOut) || status != c.status || c.errOut == "" && errOut != "" {
			t.Errorf("pgbox %q: status %d, %q, %q; want %d, %q, %q", c.args, status, out, errOut, c.status, c.out, c.errOut)
		}
	}
	// Lines for programs, JSON for others.
	if out := r.must(t, "sandbox", "ls"); strings.Contains(out, "│") || !strings.Contains(out, id+"\thabits\t") {
		t.Errorf("%q", out)
	}
	var all []sandboxInfo
	if err := json.Unmarshal([]byte(r.must(t, "sandbox", "ls", "--json")), &all); err != nil || len(all) == 0 {
		t.Errorf("%v, %v", all, err)
	}
	if out := r.must(t, "sandbox", "ls", "-q"); !strings.Contains("\n"+out, "\n"+id+"\n") {
		t.Errorf("%q", out)
	}
	if out := r.must(t, "__complete", "exec", "hab"); !strings.HasPrefix(out, "habits\t"+id+"\n") {
		t.Errorf("completion: %q", out)
	}
	// Two of one name are nobody's.
	r.must(t, "sandbox", "create", "habits")
	if _, errOut, status := r.pgbox(t, "", "exec", "habits", "--", "true"); status != 1 ||
		!strings.Contains(errOut, `"habits" is 2 sandboxes`) {
		t.Errorf("%d, %q", status, errOut)
	}
	// Who cannot reach the server is told where its address was found.
	for want, env := range map[string]string{"the address is from PGBOX_URL": "PGBOX_URL=http://127.0.0.1:1",
		"the address is from --url": ""} {
		bin, err := binary()
		if err != nil {
			t.Fatal(err)
		}
		args := []string{"sandbox", "ls"}
		if env == "" {
			args = append(args, "--url", "http://127.0.0.1:1")
		}
		cmd := exec.CommandContext(t.Context(), bin, args...)
		cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+r.config, "PGBOX_TOKEN=x", env)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %s", want, out)
		}
	}
}
