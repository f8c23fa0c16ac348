package main

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/auth"
	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/sched"
	"github.com/pgbox/pgbox/gateway/shell/command"
	"github.com/pgbox/pgbox/gateway/store"
)

// pairsTime is about how long one script is run by pgbox and bash in turn, if three blocks of pairs do not take longer:
// the whole table takes ten minutes.
const pairsTime = 4 * time.Second

// script is one line of the shell's table: the same text is run by pgbox in process over the tree and content caches,
// by bash with the GNU tools as processes on tmpfs, and by just-bash in its own process over its in-memory filesystem.
type script struct {
	name string
	bar  float64
	text string
}

const (
	textBar  = 1.5 // a text tool over 50 MB
	loopBar  = 1   // the interpreter against bash
	smallBar = 0.1 // commands that are nothing but a process elsewhere
)

var scripts = []script{
	{"echo", smallBar, `echo hi`},
	{"processes", smallBar, `for ((i = 0; i < 300; i++)); do /bin/echo hi; done | wc -l`},
	{"loop", loopBar, `for ((i = 0; i < 10000; i++)); do ((s += i * 2)); done; echo $s`},
	{"while-read", loopBar, `n=0; while read -r a b; do ((n++)); done < lines; echo $n $a`},
	{"append-string", loopBar, `for ((i = 0; i < 20000; i++)); do s+=x; done; echo ${#s}`},
	{"function", loopBar,
		`f() { local a=$1; [[ $a == 9* ]] && r=$((r + ${#a})); }; r=0; for i in {1..10000}; do f $i; done; echo $r`},
	{"array", loopBar,
		`a=(); for ((i = 0; i < 10000; i++)); do a[i]=$i; done; s=0; for x in "${a[@]}"; do ((s += x)); done; echo $s`},
	{"substitution", smallBar, `for ((i = 0; i < 1000; i++)); do x=$(basename /a/b$i .c); done; echo $x`},
	{"pipeline-100", smallBar, `eval "seq 100 $(printf '| cat %.0s' {1..99})" | wc -l`},
	{"small", smallBar,
		`for ((i = 0; i < 30; i++)); do head -3 few | tail -1 | cut -d' ' -f2 | tr a-z A-Z; wc -l few; sed -n 5p few; grep -c 9 few; sort -r few; done | wc -c`},

	{"grep-literal", textBar, `grep 'status=503' log | wc -c`},
	{"grep-i", textBar, `grep -i 'TIMEOUT' log | wc -c`},
	{"grep-class", textBar, `grep 'user=[a-f][0-9][0-9]*x' log | wc -c`},
	{"grep-alternation", textBar, `grep -E 'panic|deadlock|timeout|refused' log | wc -c`},
	{"grep-no-literal", textBar, `grep -E '[0-9]{5}[^0-9a-z]+[a-z]+=[a-f]' log | wc -c`},
	{"grep-P", textBar, `grep -P 'took=\d{4,}ms.*\bretry\b' log | wc -c`},
	{"grep-P-look", textBar, `grep -P 'status=(?!200)\d+' log | wc -c`},
	{"grep-o", textBar, `grep -o 'path=[^ ]*' log | wc -c`},
	{"grep-c", textBar, `grep -c 'e' log`},
	{"grep-v", textBar, `grep -v 'status=200' log | wc -c`},
	{"grep-w", textBar, `grep -wn 'retry' log | wc -c`},
	{"sed-s", textBar, `sed 's/user/account/g' log | wc -c`},
	{"sed-group", textBar, `sed -E 's/status=([0-9]+) took=([0-9]+)/\2:\1/' log | wc -c`},
	{"sed-n-p", textBar, `sed -n '/status=503/p' log | wc -c`},
	{"sed-d", textBar, `sed '/status=200/d' log | wc -c`},
	{"awk-sum", textBar, `awk '{ s += $2 } END { print s }' table`},
	{"awk-count", textBar, `awk '{ n[$4]++ } END { for (k in n) print k, n[k] }' table | wc -c`},
	{"awk-keys", textBar, `awk '{ n[$1]++ } END { for (k in n) c++; print c }' table`},
	{"awk-F", textBar, `awk -F'\t' '$2 > 500000 { print $1, $4 }' table | wc -c`},
	{"awk-printf", textBar, `awk '{ printf "%-10s %8d %.2f\n", $4, $2, $3 }' table | wc -c`},
	{"awk-match", textBar, `awk '/status=503/ { print $1 }' log | wc -c`},
	{"sort", textBar, `sort log | wc -c`},
	{"sort-n", textBar, `sort -t'	' -n -k2 table | wc -c`},
	{"sort-k2", textBar, `sort -k4,4 -k2,2n table | wc -c`},
	{"sort-u", textBar, `cut -f4 table | sort -u | wc -l`},
	{"sort-uniq-sort", textBar, `cut -f4 table | sort | uniq -c | sort -rn | wc -l`},
	{"jq-lines", textBar, `jq -c 'select(.status >= 500) | {id, user}' ndjson | wc -c`},
	{"jq-r", textBar, `jq -r '.user' ndjson | wc -c`},
	{"jq-array", textBar, `jq 'map(.took) | add' array`},
	{"jq-group", textBar, `jq -c 'group_by(.user) | map({u: .[0].user, n: length}) | length' array`},
	{"cut", textBar, `cut -d' ' -f2,4 log | wc -c`},
	{"tr", textBar, `tr a-z A-Z < log | wc -c`},
	{"wc", textBar, `wc log`},
	{"uniq", textBar, `uniq -c log | wc -c`},
	{"head", textBar, `head -n 400000 log | wc -c`},
	{"head-n", textBar, `head -n -1000 log | wc -c`},
	{"tail", textBar, `tail -n +1000 log | wc -c`},
	{"tac", textBar, `tac log | wc -c`},
	{"join", textBar, `join -v1 sorted1 sorted2 | wc -c`},
	{"paste", textBar, `paste -d, table table | wc -c`},
	{"nl", textBar, `nl log | wc -c`},
	{"sha256sum", textBar, `sha256sum log`},
	{"md5sum", textBar, `md5sum log`},
	{"gzip", textBar, `gzip -c < log > /dev/null`},
	{"gunzip", textBar, `gzip -dc log.gz | wc -c`},
	{"base64", textBar, `base64 log | wc -c`},
	{"find-10000", textBar, `find tree -type f -name '*7.txt' | wc -l`},
	{"tar-1000", textBar, `tar -cf - small | tar -tf - | wc -l`},
}

// shellData is what the scripts of the shell's table read, in all three worlds.
type shellData struct {
	dir     string // on tmpfs
	service *sandbox.Service
	store   *store.Store
	sandbox uuid.UUID
	peer    *peer // nil: just-bash is not available, or this is a quick run
}

var benchCaller = sandbox.Caller{Tenant: auth.DefaultTenant, Subject: "bench", Route: "bench"}

// shell prepares the data once.
func (e *env) shell(ctx context.Context) (_ *shellData, err error) {
	if e.data != nil {
		return e.data, nil
	}
	d := &shellData{}
	e.data = d
	if d.dir, err = os.MkdirTemp("/dev/shm", "pgbox-bench-"); err != nil {
		return nil, err
	}
	if d.store, err = store.Open(ctx, store.Config{URL: e.dbURL}); err != nil {
		return nil, err
	}
	d.service = sandbox.New(sandbox.Config{Governor: sched.Start(), Store: d.store, Commands: command.All(),
		BlobCacheBytes: 1 << 30, MaxTimeout: time.Hour})
	sb, err := d.service.CreateSandbox(ctx, benchCaller, sandbox.NewSandbox{Name: "shell"})
	if err != nil {
		return nil, err
	}
	d.sandbox = sb.ID
	var files []sandbox.IngestFile
	for name, content := range shellFiles(e.times(50_000_000, 500_000), e.times(10_000, 200), e.times(1000, 20)) {
		p := filepath.Join(d.dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(p, content, 0o644); err != nil {
			return nil, err
		}
		if len(content) < 1<<20 {
			files = append(files, sandbox.IngestFile{Path: name, Data: content})
			continue
		}
		if _, err := d.service.WriteFile(ctx, benchCaller, d.sandbox, "/home/user/"+name, content,
			sandbox.WriteOptions{}); err != nil {
			return nil, err
		}
	}
	if _, err := d.service.Ingest(ctx, benchCaller, d.sandbox, "/home/user", files); err != nil {
		return nil, err
	}
	if !e.quick {
		if d.peer, err = newPeer(ctx, d.dir); err != nil {
			fmt.Fprintf(os.Stderr, "just-bash is not available: %v\n", err)
		}
	}
	return d, nil
}

func (d *shellData) stop() {
	if d == nil {
		return
	}
	d.peer.stop()
	if d.service != nil {
		_ = d.service.Shutdown(context.Background())
	}
	if d.store != nil {
		d.store.Close()
	}
	if d.dir != "" {
		_ = os.RemoveAll(d.dir)
	}
}

// run executes a script in process, on a snapshot, as exec-sync with readOnly does.
func (d *shellData) run(ctx context.Context, text string) (string, error) {
	res, err := d.service.Exec(ctx, sandbox.Request{Sandbox: d.sandbox, Caller: benchCaller,
		Script: "set -o pipefail; " + text, ReadOnly: true, Timeout: time.Hour})
	if err != nil {
		return "", err
	}
	if res.ExitCode != 0 {
		return "", fmt.Errorf("exit status %d: %s", res.ExitCode, res.Stderr)
	}
	return string(res.Stdout), nil
}

// host executes a script with the machine's bash and tools.
func (d *shellData) host(ctx context.Context, text string) (string, error) {
	cmd := exec.CommandContext(ctx, "bash", "-c", "set -o pipefail; "+text)
	cmd.Dir = d.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "TMPDIR=" + d.dir}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, stderr.Bytes())
	}
	return string(out), nil
}

// shellScript compares one script. The answers of pgbox and bash must be the same.
func shellScript(s script) func(ctx context.Context, e *env) (ratio, error) {
	return func(ctx context.Context, e *env) (ratio, error) {
		d, err := e.shell(ctx)
		if err != nil {
			return ratio{}, err
		}
		start := time.Now()
		ours, err := d.run(ctx, s.text)
		if err != nil {
			return ratio{}, err
		}
		middle := time.Now()
		theirs, err := d.host(ctx, s.text)
		if err != nil {
			return ratio{}, err
		}
		took, both := time.Since(middle), time.Since(start)
		if ours != theirs {
			return ratio{}, fmt.Errorf("pgbox prints %.200q, bash %.200q", ours, theirs)
		}
		// Short ones are repeated within a block; long ones are blocks of one, and fewer of them.
		n := min(max(int(200*time.Millisecond/max(took, 1)), 1), 20)
		blocks := min(max(int(pairsTime/(time.Duration(n)*both)), 3), 9)
		var cpu [2]time.Duration
		counted := func(who int, f func() error) func(context.Context) error {
			return func(context.Context) error {
				before := cpuTime(who)
				err := f()
				cpu[-who] += cpuTime(who) - before
				return err
			}
		}
		r, err := compare(ctx, 0, e.times(blocks, 1), e.times(n, 1),
			timed(counted(syscall.RUSAGE_SELF, func() error { _, err := d.run(ctx, s.text); return err })),
			timed(counted(syscall.RUSAGE_CHILDREN, func() error { _, err := d.host(ctx, s.text); return err })))
		if err != nil {
			return r, err
		}
		r.detail += fmt.Sprintf(", CPU %.2f", float64(cpu[0])/float64(cpu[1]))
		r.other = d.peer.compare(s.text, theirs, r.a)
		return r, nil
	}
}

// cpuTime is the processor time that this process, or its children that ended, have used.
func cpuTime(who int) time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(who, &u) // cannot fail with a valid who
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// shellPeak measures the largest resident size that a pgbox process of its own reaches while a script reads 1 GiB, over
// the size of the input. The server is started anew, so its caches are empty.
func shellPeak(text string) func(ctx context.Context, e *env) (ratio, error) {
	return func(ctx context.Context, e *env) (ratio, error) {
		size := int64(e.times(1<<30, 4<<20))
		d, err := e.shell(ctx)
		if err != nil {
			return ratio{}, err
		}
		sb, err := d.service.CreateSandbox(ctx, benchCaller, sandbox.NewSandbox{Name: "large"})
		if err != nil {
			return ratio{}, err
		}
		binary, err := e.binary(ctx)
		if err != nil {
			return ratio{}, err
		}
		in, out := io.Pipe()
		go func() { out.CloseWithError(writeLog(out, size)) }()
		res, err := d.service.Exec(ctx, sandbox.Request{Sandbox: sb.ID, Caller: benchCaller, Script: "cat > large", Stdin: in,
			Timeout: time.Hour})
		if err != nil || res.ExitCode != 0 {
			return ratio{}, fmt.Errorf("write the input: %w, %+v", err, res)
		}
		p, err := launch(e.serve(ctx, binary, e.dbURL))
		if err != nil {
			return ratio{}, err
		}
		defer p.stop()
		start := time.Now()
		if _, err := e.exec(ctx, p.url+"/v1/sandboxes/"+sb.ID.String(),
			map[string]any{"script": text, "readOnly": true, "timeoutMs": 300_000}); err != nil {
			return ratio{}, err
		}
		took := time.Since(start)
		peak, err := p.peak()
		if err != nil {
			return ratio{}, err
		}
		r := float64(peak) / float64(size)
		return ratio{median: r, lo: r, hi: r, detail: fmt.Sprintf("%d MiB / %d MiB in %s", peak>>20, size>>20,
			round(took))}, nil
	}
}

// peak is the largest resident size the process has had, in bytes.
func (p *process) peak() (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(string(b), "VmHWM:")
	var kb int64
	if _, err := fmt.Sscan(rest, &kb); !ok || err != nil {
		return 0, fmt.Errorf("no VmHWM: %w", err)
	}
	return kb << 10, nil
}
