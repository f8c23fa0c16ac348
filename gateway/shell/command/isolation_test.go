package command_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
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
		"openssl dgst -sha256 /etc/shadow; openssl rand -hex 4; openssl enc -aes-256-cbc -pass file:/etc/shadow -in /etc/passwd; getent passwd root; getent hosts example.com; getent services ssh; getent ahosts localhost; getconf -a / | head; locale -a; iconv -f latin1 /etc/shadow; whereis -l ls; uuidgen -t; mcookie -f /dev/urandom; hostid; tput -T xterm cols; stty -F /dev/tty; ps aux; top -b; pgrep -a .; pkill -9 systemd; killall init; w; who /var/run/utmp; shred -u /etc/hosts; gron http://127.0.0.1/; gron /etc/shadow; parallel -a /etc/shadow echo; parallel cat ::: /etc/shadow; fd . / -d 2; fd -x cat {} \\; . /etc; printf '!id\\nr !cat /etc/shadow\\nQ\\n' | ed /etc/shadow; pv /etc/shadow; dos2unix /etc/passwd; chronic cat /etc/shadow; echo x | sponge /root/x",
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
		// Programs that other programs are asked to start, and what a language can include.
		"mkdir d; echo x > d/f; tar cf a.tar d; tar -xf a.tar --to-command='cat /etc/passwd; id'; tar -cf b --use-compress-program='sh -c \"cat /etc/shadow\"' d; tar -cf b -I /usr/bin/xz d; tar cf c --checkpoint=1 --checkpoint-action=exec='cat /etc/passwd' d; tar --rsh-command=/bin/sh -cf root@localhost:/x d; tar -cf /dev/tcp/127.0.0.1/22 d; tar -T /etc/passwd -cf e; tar -X /etc/passwd -cf e d; tar -F 'id' -M -L 1 -cf g d; tar -g /root/snar -cf h d; TAR_OPTIONS='-I id' tar cf i d",
		"seq 9 > f; sort --compress-program=/usr/bin/id -S 1 f; sort --files0-from=/etc/passwd; sort -o /root/x f; wc --files0-from=/etc/passwd; du --files0-from=/etc/passwd; find -files0-from /etc/passwd; split --filter='cat /etc/passwd > /root/$FILE; id' -n 2 f; csplit -f /root/x f 3; shuf -o /root/x f; uniq f /root/x; tee /root/x /dev/tcp/127.0.0.1/22 < f; dd if=/etc/passwd of=/root/x; dd if=/dev/sda count=1; install -m 755 -o root -g root -s --strip-program=/usr/bin/id f /root/y; install -D /etc/passwd /root/p; cp --reflink=always /etc/passwd .; cp -r /proc/self .; cp --parents /etc/passwd .; ln /etc/passwd l; mktemp -p /root; mktemp --tmpdir=/root -d; truncate -r /etc/passwd f; touch -r /etc/passwd f; date -r /etc/passwd; date -f /etc/passwd; date -s '2020-01-01'; chmod --reference=/etc/passwd f; chown --reference=/etc/passwd f; TMPDIR=/root mktemp; TMPDIR=/root sort f",
		"printf '.read /etc/passwd\n.shell cat /etc/passwd\n.system id\n.import /etc/passwd t\n.output /root/x\n.output |id\n.once |cat\n.import |id t\n.log /root/l\n.save /root/s\n.backup /root/b\n.restore /etc/passwd\n.open /etc/passwd\n.open file:/etc/passwd?vfs=unix\n.load /lib/x.so\n.cd /root\n.excel\n.archive -c -f /root/a /etc\n.vfslist\n.filectrl tempfilename\n.dbinfo\n.www\nselect 1;\n' | sqlite3 a.db; sqlite3 :memory: \"select readfile('/etc/passwd'), readfile('/etc/shadow'), writefile('/root/x', 'x'), edit('x', 'id'), load_extension('/lib/x.so'); attach '/etc/passwd' as p; select * from p.t; attach 'file:/etc/passwd?mode=ro&vfs=unix' as q; attach 'file:///root/x.db?vfs=os' as r; create table r.t(a); vacuum into '/root/v'; pragma temp_store_directory='/root'; pragma data_store_directory='/root'; select * from fsdir('/etc'); create virtual table temp.z using zipfile('/etc/passwd'); create virtual table temp.c using csv(filename='/etc/passwd'); select sqlite_source_id(), current_timestamp, datetime('now','localtime');\"; sqlite3 'file:/etc/passwd?vfs=os' .dump; sqlite3 -init /etc/passwd :memory: 'select 1'; HOME=/root sqlite3 x.db .tables; sqlite3 -vfs unix /root/y .dump; EDITOR=id VISUAL=id sqlite3 :memory: \"select edit('a')\"",
		"yq '.a = load(\"/etc/passwd\")' -n; yq -n 'load_str(\"/etc/passwd\"), env(HOME), strenv(PATH), envsubst, $ENV, input_filename'; yq -i '.a=1' /etc/passwd; yq --from-file /etc/passwd -n; yq -s '.a' /etc/passwd; yq eval-all . /etc/passwd /etc/shadow; echo 'a: !!include /etc/passwd' | yq .; echo '<!DOCTYPE x [<!ENTITY e SYSTEM \"file:///etc/passwd\"><!ENTITY f SYSTEM \"http://127.0.0.1/\">]><x>&e;&f;</x>' | yq -p xml .; echo '<a href=file:///etc/passwd><img src=http://127.0.0.1/x>' | html-to-markdown; xan cat rows /etc/passwd; csvlook /etc/passwd",
		"awk -i inplace '{print}' /etc/passwd; awk -l filefuncs 'BEGIN{stat(\"/etc/passwd\",a)}'; awk -E /etc/passwd; AWKPATH=/etc awk '@include \"passwd\"; BEGIN{}'; awk 'BEGIN{\"cat /etc/passwd\"|getline x; print x; print \"x\" |& \"/inet/tcp/0/localhost/80\"; \"/inet/udp/0/127.0.0.1/53\" |& getline; getline < \"/dev/tcp/127.0.0.1/22\"; print > \"/dev/fd/9\"; system(\"kill -9 1\"); for (k in PROCINFO) print k, PROCINFO[k]; for (k in ENVIRON) print k, ENVIRON[k]; ARGV[1]=\"/etc/passwd\"; close(\"x\")}'; awk --dump-variables=/root/x 1 /dev/null; awk -p/root/prof 1 /dev/null; awk -D 1 /dev/null",
		"printf 'cat /etc/passwd' | sed '1e'; sed '1e cat /etc/shadow' <<< x; sed 's/.*/id/e; w /dev/stdout' <<< x; sed -n '1r /proc/self/environ' <<< x; sed --follow-symlinks -i.bak 1d /etc/passwd; sed -i/root/* 1d f; sed --sandbox 'e id' <<< x; sed -n -s 'F;W /root/x' /etc/passwd",
		"mkdir -p d; printf -- '--- ../../../etc/passwd\n+++ ../../../etc/passwd\n@@ -1 +1 @@\n-root\n+toor\n' | patch -p0 -d d; printf -- '--- /etc/passwd\n+++ /etc/passwd\n@@ -0,0 +1 @@\n+x\n' | patch -p0; printf '1c\nx\n.\n!id\n' | patch -e /root/x; printf 'Index: /root/y\n0a\nx\n.\n' | patch; patch -o /root/z f < /etc/passwd; patch -r /root/r -B /root/ f < /dev/null; PATCH_GET=1 patch -g 1 f < /dev/null; diff --from-file=/etc /root; diff3 --diff-program=/usr/bin/id /etc/passwd /etc/group /etc/shadow; sdiff --diff-program=id -o /root/x /etc/passwd /etc/group; ed /etc/passwd < /dev/null",
		"ln -s /etc d; printf 'x' > e; tar cf s.tar d; rm d; mkdir d; cp /etc/passwd d/p; tar rf s.tar d/p; rm -r d; tar xPf s.tar; zip z.zip e; zip -T -TT 'cat /etc/passwd #' z.zip e; zip -r y.zip /etc /proc/self; zip -@ x.zip < /etc/passwd; zip -b /root w.zip e; unzip -d /root z.zip; unzip -o z.zip ../../etc/passwd; unzip -p /etc/passwd; zipinfo /etc/passwd; echo /etc/passwd | cpio -o > c; cpio -idum < c; cpio -p /root < c; cpio -o -F root@localhost:/x < c; cpio --rsh-command=id -i -I localhost:c; ar r a.a e",
		"xargs -P 4 -a /etc/passwd id; xargs sh -c 'cat /etc/passwd' <<< x; xargs -I% /usr/bin/% <<< id; find / -maxdepth 1 -exec /usr/bin/id \\; -execdir id {} + -okdir id \\; < /dev/null; env -S'cat /etc/passwd'; env -u PATH /usr/bin/id; env PATH=/usr/bin:/bin id; env LD_PRELOAD=/lib/x.so id; LD_PRELOAD=/lib/x.so LD_LIBRARY_PATH=/lib ls; PATH=/usr/local/bin:/usr/sbin python3 -c 1; PATH=. ls; hash -p /usr/bin/python3 ls; ls; nohup cat /etc/passwd; stdbuf -o0 cat /etc/passwd; timeout -s KILL 1 cat /etc/passwd; timeout 0.05 sleep 5; watch -n 0.1 -t 'cat /etc/passwd' < /dev/null & sleep 0.2; kill %%; nice -n -20 id; setsid -w id; script -c id /dev/null; exec -a x /usr/bin/id",
		"less -f /etc/passwd '+!id' < /dev/null; LESSOPEN='|cat /etc/shadow' less /etc/passwd; LESSCLOSE=id less f; LESSKEY=/etc/passwd LESSHISTFILE=/root/h more /etc/passwd; PAGER='id' MANPAGER=id man -P 'id' ls; man -l /etc/passwd; man -C /etc/passwd ls; man --path -H/usr/bin/id ls; info ls; vi -c '!id' /etc/passwd; EDITOR=id fc -e id; fc -e 'cat /etc/passwd' 1; view /etc/passwd; nano /etc/passwd; HISTFILE=/etc/passwd history -r; history; history -w /root/h; file -m /etc/passwd -C; file -f /etc/passwd; file -z /etc/passwd; MAGIC=/etc/passwd file x; look root /etc/passwd; locate passwd; dircolors /etc/passwd; getconf PATH; ldd /bin/ls; strings /bin/ls; grep --include=* -rf /etc/passwd /proc/self; rg --pre 'cat /etc/passwd' x .; rg --pre id --pre-glob '*' x; RIPGREP_CONFIG_PATH=/etc/passwd rg x; rg -z x /etc; rg --hostname-bin /usr/bin/id --hyperlink-format default x /etc; rg --ignore-file /etc/passwd x; rg -f /etc/passwd x; jq --seq --stream -L /etc 'include \"passwd\"; 1' -n; jq -n '$__loc__, getpath([\"env\"]), input_line_number, ([limit(3; inputs)]), get_search_list, halt_error' -L /root; jq -n '@sh \"\\(env)\"'; jq 'input_filename' /etc/passwd; jq --args -n '$ARGS' /etc/passwd; jq -n --jsonargs '$ARGS' 1; TZDIR=/root TZ=x date; TZ='<x>3' date; TZ=/etc/localtime date; TZ=posixrules date; TZ=../../../etc/passwd printf '%(%c)T'; TZDIR=/usr/share/zoneinfo ZONEINFO=/etc/passwd TZ=Asia/Tokyo awk 'BEGIN{print strftime()}'; NLSPATH=/etc/passwd LOCPATH=/root LC_ALL=xx ls /none; LOCALDOMAIN=x HOSTALIASES=/etc/passwd RESOLV_HOST_CONF=/etc/passwd hostname -f; hostname -i; hostname -F /etc/passwd; uname -a; cal; uptime; who /etc/passwd; users /etc/passwd; last; df / /etc /proc; df -a; mount; findmnt; sync /etc/passwd; nproc --all; getent passwd root; id root; id nobody; groups root; logname; tty; stty; lsblk; free; vmstat; top -b -n 1; ss; ip a; dmesg; logger x; crontab -l; at now; systemctl; journalctl; apt list; dpkg -l; python3 -c 1; node -e 1",
		"coproc cat /etc/passwd; mapfile < /dev/tcp/localhost/5432; exec 5<>/dev/udp/127.0.0.1/53; read -u 5 x; : > /dev/tcp/localhost/5432; source /dev/tcp/127.0.0.1/22; bash /dev/tcp/127.0.0.1/22; bash -i -l -c id; bash --rcfile /etc/passwd -i -c id < /dev/null; bash --init-file /root/.bashrc -i -c id < /dev/null; bash -s < /etc/passwd; bash -x /etc/passwd; bash -O extdebug -c 'caller'; enable -f /usr/lib/bash/id id; enable -f ./x.so sleep; ulimit -c unlimited; kill -ABRT $$",
		"echo $$ $PPID $BASHPID $UID $EUID ${GROUPS[*]} $HOSTNAME $HOSTTYPE $OSTYPE $MACHTYPE $SHLVL $RANDOM; ls -l /proc/self/ /proc/1/root /proc/self/cwd /proc/self/exe /proc/$$/fd; cat /proc/self/status /proc/1/environ /proc/1/root/etc/passwd /proc/version /proc/meminfo /proc/loadavg /proc/uptime /proc/mounts /proc/net/tcp /proc/self/cgroup /proc/sys/kernel/hostname /proc/sys/kernel/osrelease /sys/class/net/eth0/address /etc/machine-id /etc/os-release /var/log/dpkg.log /run/secrets/x /root/.ssh/id_rsa /root/.pgpass /var/run/docker.sock /etc/ssl/private/x",
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
				"echo /etc/passwd | CMD; CMD /proc/self/environ < /dev/null; CMD -l / < /dev/null; CMD ~root/x /dev/tcp/127.0.0.1/22 < /dev/null; CMD 0.01 /etc/passwd < /dev/null"),
			strings.NewReplacer("CMD", name).Replace(
				"CMD /etc/shadow < /dev/null; CMD /proc/1/root/etc/passwd < /dev/null; CMD ~root/.bashrc < /dev/null; CMD @/etc/passwd < /dev/null; CMD file:///etc/passwd http://127.0.0.1/ < /dev/null; CMD localhost:/etc/passwd < /dev/null; "+
					"CMD ../../../../../../etc/passwd < /dev/null; TZ=../../etc/passwd LD_PRELOAD=/etc/passwd BASH_ENV=/etc/passwd ENV=/etc/passwd HOME=/root TMPDIR=/root PAGER=id EDITOR=id LESSOPEN='|id' LC_ALL=de_DE CMD -a -v f < /dev/null; "+
					"cd /proc/self/cwd; CMD . < /dev/null; CMD -o /root/out /etc/passwd < /dev/null; CMD --output=/root/out --file=/etc/passwd --config=/etc/passwd < /dev/null; CMD -C /etc -T /root x < /dev/null; "+
					"CMD -e 'cat /etc/passwd' f < /dev/null; CMD -c 'cat /etc/passwd' < /dev/null; CMD -n 1 -i /etc/passwd < /dev/null; CMD '|id' '!id' '`id`' '$(id)' < /dev/null; CMD -- -/etc/passwd < /dev/null; "+
					"PATH=/usr/local/bin /usr/bin/CMD /etc/hostname < /dev/null; command -p CMD /etc/localtime < /dev/null; ln -s /proc/self/environ lnk; CMD lnk < /dev/null; printf '/etc/passwd\\0/root/x\\n' | CMD -0 -"))
	}
	return scripts
}

// secrets are in the environment of the process that is watched, and in nothing that a script may see.
var secrets = []string{
	childEnv + "=1", "PGBOX_SECRET=secret-value-of-the-host", "HOME=/home-of-the-host", "USER=user-of-the-host",
	"LOGNAME=logname-of-the-host", "HOSTNAME=name-of-the-host", "TZ=:/etc/localtime",
	"PATH=/usr/bin:/bin:/path-of-the-host", "LANG=de_DE.UTF-8@of-the-host", "AUTH_SECRET=auth-secret-of-the-host",
	"DATABASE_URL=postgres://of-the-host", "TMPDIR=/tmp/of-the-host",
	"GODEBUG=updatemaxprocs=0", // or the runtime looks into its cgroup from time to time
}

// leaks finds in what a script printed what only the host's environment has.
func leaks(printed []byte) string {
	for _, s := range []string{"of-the-host", childEnv, "PGBOX_SECRET", "updatemaxprocs"} {
		if i := bytes.Index(printed, []byte(s)); i >= 0 {
			return string(printed[max(0, i-100):min(len(printed), i+100)])
		}
	}
	return ""
}

// sink keeps the first megabyte.
type sink struct {
	mu sync.Mutex
	b  []byte
}

func (s *sink) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b = append(s.b, b[:min(len(b), 1<<20-len(s.b))]...)
	return len(b), nil
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
		var printed sink
		_, _ = shell.Run(ctx, shell.Config{FS: fs, Commands: commands, Budget: budget, Stdin: strings.NewReader("y\n"),
			Stdout: &printed, Stderr: &printed}, script)
		budget.Close()
		cancel()
		if l := leaks(printed.b); l != "" {
			return fmt.Errorf("printed %q\n  by %s", l, script)
		}
	}
	_, err = os.Open(marker + "end")
	if !os.IsNotExist(err) {
		return fmt.Errorf("the marker exists: %w", err)
	}
	return nil
}

// harmless are the system calls that the Go runtime makes for its own threads.
var harmless = regexp.MustCompile(`^(clone3?\(.*CLONE_THREAD|exit\(|tgkill\(|rt_sig|<\.\.\. |\+\+\+ |--- )`)

// The evaluator and every command work on the sandbox's tree alone: no script makes a system call that touches a file,
// a socket or a process of the host.
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
	cmd := exec.Command(strace, "-f", "--seccomp-bpf", "-s", "256", "-e",
		"trace=%file,%network,%process,uname,sysinfo,getppid,getuid,geteuid,getgid,getegid,getgroups,getrlimit,prlimit64,getpriority,setpriority,sched_getaffinity,umask,setrlimit,ptrace,ioctl,memfd_create,pipe2,eventfd2", "-o", trace, self)
	cmd.Env = secrets
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
