package shell_test

import (
	"strings"
	"testing"

	"github.com/pgbox/pgbox/gateway/shell"
	"github.com/pgbox/pgbox/gateway/shell/casetest"
	"github.com/pgbox/pgbox/gateway/shell/command"
)

// TestState carries the directory and the exported variables from exec to exec, and nothing else.
func TestState(t *testing.T) {
	base, err := casetest.NewBase(command.All())
	if err != nil {
		t.Fatal(err)
	}
	fs := base.Sandbox(t.Context())
	var state shell.State
	for _, step := range []struct {
		cfg          shell.Config
		script, want string
	}{
		{shell.Config{}, `pwd; echo $HOME $USER $SHLVL; cd /tmp; export A="1 2" C=c; B=2; f() { :; }`,
			"/home/user\n/home/user user 1\n"},
		{shell.Config{}, `pwd; echo "$A|$B|$OLDPWD|$SHLVL"; type f; unset C`, "/tmp\n1 2||/home/user|1\n"},
		{shell.Config{Dir: "/usr", Env: map[string]string{"A": "extra", "E": "e"}}, `pwd; echo "$A $E ${C-gone}"; cd /etc`,
			"/usr\nextra e gone\n"},
		{shell.Config{}, `pwd; echo "$A ${E-gone}"; A=changed; exit 3`, "/tmp\n1 2 gone\n"},
		{shell.Config{Env: map[string]string{"A": "extra"}}, `A=set`, ""},
		{shell.Config{Args: []string{"x", "y"}, Stdin: strings.NewReader("in\n")}, `echo $A $0 $# $2; read l; echo $l`,
			"set bash 2 y\nin\n"},
	} {
		var out strings.Builder
		step.cfg.FS, step.cfg.Commands, step.cfg.State, step.cfg.Stdout = fs, command.All(), state, &out
		res, err := shell.Run(t.Context(), step.cfg, step.script)
		if err != nil {
			t.Fatal(err)
		}
		if out.String() != step.want {
			t.Errorf("%s\ngot  %q\nwant %q", step.script, out.String(), step.want)
		}
		state = res.State
	}
}
