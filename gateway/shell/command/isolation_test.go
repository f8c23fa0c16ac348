package command_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell"
	"github.com/pgbox/pgbox/gateway/shell/casetest"
	"github.com/pgbox/pgbox/gateway/shell/command"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// childEnv makes this test binary the process that is watched.
const childEnv = "PGBOX_ISOLATION_CHILD"

// marker is a file that exists nowhere: opening it writes a line into the trace.
const marker = "/pgbox-isolation-marker-"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		if err := runIsolated(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// attempts are scripts that would read, write, run or ask something of the host if they could.
func attempts() []string {
	scripts := []string{
		"cat /etc/passwd /etc/shadow /etc/hostname /etc/resolv.conf /etc/localtime /proc/self/environ /proc/self/maps /proc/1/cmdline /proc/cpuinfo /sys/kernel/mm/transparent_hugepage/enabled",
		"ls -la / /root /home /etc /proc /proc/self/fd /sys /dev /tmp /var /usr/share/zoneinfo; find / -maxdepth 3; du -s /; df; df -h /",
		"cd; cd ~root; cd /root; echo ~ ~root ~nobody ~postgres ~+ ~-; echo $HOME $PWD $OLDPWD $USER $LOGNAME $HOSTNAME $PATH $TMPDIR $LANG $SHELL $UID $EUID $PPID $$ $BASHPID",
		"env; export -p; declare -p; set; printenv; id; whoami; groups; hostname; uname -a; nproc; uptime; who; arch; logname; tty; users; free; ps; lsof",
		"TZ=:/etc/localtime date; TZ=Europe/Berlin date; TZ=/usr/share/zoneinfo/Asia/Tokyo date; TZ=../../etc/passwd date; unset TZ; date; date -d 'TZ=\"America/New_York\" 9:00'; printf '%(%c)T\\n' -1; TZ=Nowhere/City date +%Z",
		"TZ=Europe/Paris ls -l / ; TZ=Asia/Tokyo stat /; TZ=Europe/Rome awk 'BEGIN{print strftime(\"%Z\"), mktime(\"2020 1 1 0 0 0\"), systime()}'; TZ=Asia/Tokyo jq -n 'now|localtime|mktime|todate, (0|strflocaltime(\"%Z\"))'; TZ=Europe/Rome touch -d '1 hour ago' /tmp/t; TZ=Europe/Rome find / -newermt yesterday -maxdepth 1; TZ=:Europe/Rome tar tvf /dev/null",
		"source /etc/profile; . /root/.bashrc; . ~/.profile; bash --login -c true; bash -l /etc/profile; ENV=/etc/profile sh -i -c true < /dev/null; BASH_ENV=/etc/profile bash -c true",
		"cat < /dev/tcp/127.0.0.1/22; echo x > /dev/udp/127.0.0.1/53; exec 3<>/dev/tcp/localhost/80; echo > /dev/tcp/example.com/80; cat < /dev/tcp/::1/5432",
		"exec 3< /etc/passwd; cat <&3; cat /dev/fd/0 /dev/fd/3 /dev/fd/9 /proc/self/fd/1 /dev/stdin < /dev/null; read x < /etc/hostname; mapfile a < /etc/group; x=$(< /etc/passwd)",
		"/bin/ls /; /usr/bin/env; /bin/sh -c 'echo hi'; /usr/bin/python3 -c 1; perl -e 1; /lib64/ld-linux-x86-64.so.2; command -v ls bash python3 gcc; type -a ls; hash ls; which -a ls sh",
		"printf '#!/usr/bin/python3\\nprint(1)\\n' > s; chmod +x s; ./s; printf '#!/bin/sh\\necho hi; cat /etc/passwd' > t; chmod +x t; ./t; printf '\\177ELF' > e; chmod +x e; ./e",
		"kill -0 1; kill -9 1; kill -TERM $PPID; kill -l; kill -STOP -1; trap 'echo x' EXIT TERM; kill -TERM $$; sleep 0.01 & wait; jobs; ulimit -a; ulimit -n 4; umask; times; time true; suspend",
		"echo x > /etc/passwd; echo x > /root/x; echo x > /tmp/x; mkdir -p /var/lib/x; touch /proc/x /sys/x /dev/x; rm -rf /root /etc; ln -s /etc/passwd l; cat l; cp /etc/passwd p; mv /etc/hosts h; chmod 777 /etc; mktemp; mktemp -d; mkfifo p; mknod n c 1 3",
		"cat <(echo a) <(cat /etc/passwd) > >(cat); coproc cat; echo x >&${COPROC[1]}; cat <<< x; cat <<E\n$(cat /etc/passwd)\nE",
		"yes | head -n 1; cat /dev/urandom | head -c 10 | wc -c; head -c 3 /dev/random | wc -c; head -c 3 /dev/zero > /dev/full; echo $RANDOM $SRANDOM; shuf -e a b c; sort -R /dev/null; sort --random-source=/etc/passwd -R /dev/null; shuf --random-source=/dev/urandom -e a b; mktemp -u",
		"sort -T /var/tmp --compress-program=gzip /etc/passwd; sort -S 1K < <(seq 10000) | tail -n 1; tail -f /etc/passwd & kill $!; tail --pid=1 -f /dev/null & kill $!; split -b 1 /etc/hostname; tee /root/t < /dev/null; xargs -a /etc/passwd echo",
		"awk 'BEGIN{while((getline l < \"/etc/passwd\")>0)print l; \"id\"|getline; system(\"cat /etc/shadow\"); print ENVIRON[\"HOME\"], PROCINFO[\"pid\"]; print \"x\" > \"/root/x\"; print \"x\" | \"sh\"; \"/inet/tcp/0/127.0.0.1/22\" |& getline}' ; awk -f /etc/passwd; awk '@include \"/etc/passwd\"'; awk '@load \"filefuncs\"'",
		"sed -n 'r /etc/passwd' /dev/null; echo x | sed 'w /root/x'; echo id | sed 'e'; echo x | sed 's/x/id/e'; sed -f /etc/passwd; sed -i s/a/b/ /etc/passwd; echo | sed 'R /etc/passwd'",
		"jq -n 'env, $ENV, input_filename, $__prog_args'; jq -n 'include \"/etc/passwd\"; .'; jq -L /etc -n 'import \"passwd\" as p; .'; jq --slurpfile a /etc/passwd --rawfile b /etc/shadow -n '$a,$b'; jq -n 'input, debug, now, localtime'; jq -f /etc/passwd; jq -n 'import \"x\" as $x; 1' -L ~/.jq",
		"grep -r root /etc; grep -f /etc/passwd /etc/shadow; egrep x /etc/passwd; rg root /; rg --files / ; diff /etc/passwd /etc/shadow; diff -r / /root; comm /etc/passwd /etc/group; file /etc/passwd /bin/ls; cmp /etc/passwd /etc/group",
		"tar cf /root/a.tar /etc; tar cf - /etc | tar xf - -C /; tar --use-compress-program=gzip -cf a.tgz /etc; tar -I 'sh -c id' -cf b /etc; tar --to-command=sh -xf a.tgz; tar -cf host:/x /etc; gzip -c /etc/passwd; gunzip /etc/passwd; zcat /etc/passwd; md5sum /etc/passwd; sha256sum -c /etc/passwd; base64 /etc/passwd; xxd /etc/passwd; od /etc/passwd",
		"find / -name passwd -exec cat {} +; find / -fprint /root/x; find / -fls /root/y -delete; find /proc -user root; find . -ok rm {} \\; < /dev/null; find / -newer /etc/passwd -group root; chown root:root /tmp; chown nobody /tmp; chgrp root /tmp; ls -l /tmp; stat -c %U /",
		"timeout 1 cat /etc/passwd; nohup id; nice id; env -i cat /etc/passwd; env -C /root pwd; setsid id; sudo id; su -c id; chroot / id; xargs -I{} cat {} <<< /etc/passwd; time cat /etc/passwd; exec cat /etc/passwd",
		"curl http://127.0.0.1/; wget http://example.com/; nc 127.0.0.1 22; ssh localhost; ping -c 1 127.0.0.1; git clone https://example.com/x; getent hosts localhost; dig example.com",
		"LC_ALL=de_DE.UTF-8 sort /etc/passwd; LANG=fr_FR ls /nowhere; export LC_ALL=xx_YY; locale; printf '%s\\n' \"${x@P}\"; PS4='$(cat /etc/passwd)'; set -x; :; set +x; PROMPT_COMMAND='cat /etc/passwd' bash -i -c true < /dev/null; HISTFILE=/root/h history; fc -l; bind -f /etc/inputrc; enable -f /lib/x.so y; complete -p; help cd; caller; compgen -u; compgen -A hostname; compgen -f /etc/; read -e x < /dev/null; printf '%q' ~root",
	}
	names := slices.Sorted(maps.Keys(command.All()))
	names = append(names, shell.Programs()...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name == "[" {
			name = "'['"
		}
		scripts = append(scripts, strings.NewReplacer("CMD", name).Replace(
			"CMD --help < /dev/null; CMD --version < /dev/null; CMD < /dev/null; CMD /etc/passwd < /dev/null; CMD /etc/passwd /root/x < /dev/null; CMD -r /root < /dev/null; CMD -f /etc/passwd x < /dev/null; "+
				"echo /etc/passwd | CMD; CMD /proc/self/environ < /dev/null; CMD -l / < /dev/null; CMD ~root/x /dev/tcp/127.0.0.1/22 < /dev/null; CMD 0.01 /etc/passwd < /dev/null"))
	}
	return scripts
}

// runIsolated runs the attempts, each after a marker.
func runIsolated() error {
	base, err := casetest.NewBase(command.All())
	if err != nil {
		return err
	}
	commands := command.All()
	for i, script := range attempts() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		fs := base.Sandbox(ctx)
		_, _ = os.Open(marker + strconv.Itoa(i))
		ctx, budget := proc.NewBudget(ctx, proc.Limits{Steps: 5_000_000})
		_, _ = shell.Run(ctx, shell.Config{FS: fs, Commands: commands, Budget: budget, Stdin: strings.NewReader("y\n"), Stdout: io.Discard, Stderr: io.Discard}, script)
		budget.Close()
		cancel()
	}
	_, err = os.Open(marker + "end")
	if !os.IsNotExist(err) {
		return fmt.Errorf("the marker exists: %w", err)
	}
	return nil
}

// harmless are the system calls that the Go runtime makes for its own threads.
var harmless = regexp.MustCompile(`^(clone3?\(.*CLONE_THREAD|exit\(|tgkill\(|rt_sig|<\.\.\. |\+\+\+ |--- )`)

// The evaluator and every command work on the sandbox's tree alone: no script makes a system call that touches a file, a socket or
// a process of the host.
func TestNoScriptTouchesTheHost(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal("this test needs strace: apt-get install strace")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(t.TempDir(), "trace")
	cmd := exec.Command(strace, "-f", "--seccomp-bpf", "-s", "256", "-e", "trace=%file,%network,%process", "-o", trace, self)
	// Without the last one the runtime looks into its cgroup from time to time.
	cmd.Env = []string{childEnv + "=1", "HOME=/root", "TZ=:/etc/localtime", "PATH=/usr/bin:/bin", "LANG=de_DE.UTF-8", "GODEBUG=updatemaxprocs=0"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	scripts := attempts()
	current, seen, before := -1, 0, 0
	for line := range strings.Lines(string(data)) {
		_, call, _ := strings.Cut(strings.TrimSpace(line), " ")
		call = strings.TrimSpace(call)
		if _, rest, ok := strings.Cut(call, `"`+marker); ok {
			name, _, _ := strings.Cut(rest, `"`)
			if name == "end" {
				current = -1
				break
			}
			if current, err = strconv.Atoi(name); err != nil {
				t.Fatalf("%s: %v", call, err)
			}
			seen++
			continue
		}
		switch {
		case current < 0:
			before++
		case !harmless.MatchString(call):
			t.Errorf("%s\n  by %s", call, scripts[current])
		}
	}
	if seen != len(scripts) || current != -1 {
		t.Errorf("the trace has %d of %d scripts", seen, len(scripts))
	}
	if before == 0 {
		t.Error("the trace shows nothing of the process's start: it does not see what it has to")
	}
}
