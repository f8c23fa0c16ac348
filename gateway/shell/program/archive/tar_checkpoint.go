package archive

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// checkpoint is one --checkpoint-action: what it is and its argument.
type checkpoint struct{ what, arg string }

// checkpointAction parses one.
func (t *tarRun) checkpointAction(s string) {
	what, arg, _ := strings.Cut(s, "=")
	switch what {
	case ".":
		what = "dot"
	case "dot", "echo", "exec", "bell", "ttyout", "totals", "sleep", "wait":
	default:
		t.fatal("%s: unknown checkpoint action", s)
	}
	t.actions = append(t.actions, checkpoint{what, arg})
}

// checkpoints does the actions of the checkpoints between the record that was the last one and where the archive is
// now, and returns the record that is the last one now.
func (t *tarRun) checkpoints(verb string, last, at int64) int64 {
	now := at / t.record
	if t.every == 0 {
		return now
	}
	for n := last + 1; n <= now; n++ {
		if n%t.every == 0 {
			t.atCheckpoint(verb, n)
		}
	}
	return now
}

func (t *tarRun) atCheckpoint(verb string, n int64) {
	number := strconv.FormatInt(n, 10)
	actions := t.actions
	if len(actions) == 0 {
		actions = []checkpoint{{"echo", ""}}
	}
	for _, a := range actions {
		switch a.what {
		case "dot":
			t.p.Out.WriteString(".")
		case "echo":
			text := a.arg
			if text == "" {
				text = "%s checkpoint %u"
			}
			t.say("%s", strings.NewReplacer("%s", verb, "%u", number, "%%", "%").Replace(text))
		case "totals":
			t.p.Out.Flush()
			_, _ = fmt.Fprintf(t.p.Err, "Total bytes %s: %d\n", map[string]string{"Write": "written", "Read": "read"}[verb],
				n*t.record)
		case "exec":
			child := t.p.Child("sh", "-c", a.arg)
			env := t.p.Variables()
			for _, kv := range []string{"TAR_VERSION=1.34", "TAR_ARCHIVE=" + t.file, "TAR_CHECKPOINT=" + number,
				"TAR_BLOCKING_FACTOR=" + strconv.FormatInt(t.record/tarBlock, 10), "TAR_SUBCOMMAND=-" + t.op} {
				env = env.Set(kv)
			}
			child.Env = env
			t.p.Exec(t.ctx, child)
		}
	}
}

// recordWriter counts the records that are written.
type recordWriter struct {
	t    *tarRun
	w    io.Writer
	n    int64
	last int64
}

func (w *recordWriter) Write(b []byte) (int, error) {
	n, err := w.w.Write(b)
	w.n += int64(n)
	w.last = w.t.checkpoints("Write", w.last, w.n)
	return n, err
}
