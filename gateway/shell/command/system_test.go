package command_test

import (
	"context"
	"testing"

	"github.com/pgbox/pgbox/gateway/shell/casetest"
	"github.com/pgbox/pgbox/gateway/shell/command"
)

// What depends on the machine, or has no counterpart on Debian: the sandbox's own values and util-linux's rename.
func TestSandboxValues(t *testing.T) {
	base, err := casetest.NewBase(command.All())
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ script, stdout, stderr string }{
		{"id; whoami; groups; logname; id -un; id -u; id user",
			"uid=1000(user) gid=1000(user) groups=1000(user)\nuser\nuser\nuser\nuser\n1000\nuid=1000(user) gid=1000(user) groups=1000(user)\n", ""},
		{"echo $HOSTNAME; hostname; hostname -s; uname -n; hostname -f", "sandbox\nsandbox\nsandbox\nsandbox\nsandbox\n", ""},
		{"hostname other; hostname", "sandbox\n", "hostname: you must be root to change the host name\n"},
		{"uname -srm; nproc; users; uptime -p", "Linux 6.1.0-28-amd64 x86_64\n2\nup 0 minutes\n", ""},
		{"ps -o pid=,comm=,user= | sed 's/ *[0-9]* //' | grep -v '^s\\|^grep' | sort -u",
			"bash            user\nps              user\n", ""},
		{"sleep 30 & until pgrep -x sleep > /dev/null; do :; done; pgrep sleep | grep -qx $! && pidof sleep | grep -qx $! && pkill sleep; wait $!; echo $?", "143\n", ""},
		{"free -b | awk 'NR == 2 { print $2 == 512 * 1024 * 1024, $2 == $3 + $4 }'; top -bn1 | grep -c ' top$'",
			"1 1\n1\n", ""},
		{"df --output=source,fstype,target", "Filesystem     Type  Mounted on\npgbox          tmpfs /\n", ""},
		{"echo g:x:7:a,user >> /etc/group; id; groups", "uid=1000(user) gid=1000(user) groups=1000(user),7(g)\nuser g\n", ""},
		{"touch aXX bXX; rename XX YY aXX bXX; rename -v YY ZZ *; rename -n ZZ Q *; rename q r aZZ; echo $?; ls",
			"`aYY' -> `aZZ'\n`bYY' -> `bZZ'\n4\naZZ\nbZZ\n", ""},
		{"ln -s s l; rename -v -s s t l; readlink l; rename a b; rename a b nofile", "l: `s' -> `t'\nt\n",
			"rename: not enough arguments\nTry 'rename --help' for more information.\nrename: nofile: not accessible: No such file or directory\n"},
		{"touch xx yx; rename -a x z xx; rename -l x w yx; rename -o w y yw; touch yq; rename -lo y q yy; ls",
			"yq\nyy\nzz\n", ""},
	} {
		r := base.Run(context.Background(), casetest.Case{Script: tc.script})
		if r.Stdout != tc.stdout || r.Stderr != tc.stderr {
			t.Errorf("%s\nstdout %q, want %q\nstderr %q, want %q", tc.script, r.Stdout, tc.stdout, r.Stderr, tc.stderr)
		}
	}
}
