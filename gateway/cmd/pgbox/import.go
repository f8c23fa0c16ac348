package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
)

func importCommand() *cobra.Command {
	var as string
	cmd := &cobra.Command{
		Use: "import [FILE]", GroupID: "server", Short: "Restore a sandbox from what pgbox export printed",
		Args: cobra.MaximumNArgs(1),
		Long: "Restore a sandbox from what pgbox export printed (standard input without FILE) and print its id. It runs psql, which must be in PATH, as the user of DATABASE_DIRECT_URL (default DATABASE_URL): a " +
			"superuser or a member of pgbox_maintainer. All of it or nothing. A sandbox whose id is in the database, or was once, is refused; with --as it gets another id, also beside the original.",
		RunE: func(cmd *cobra.Command, args []string) error {
			u, err := directURL()
			if err != nil {
				return err
			}
			var in io.Reader = os.Stdin
			if len(args) == 1 && args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer func() { _ = f.Close() }()
				in = f
			}
			id, err := restore(cmd.Context(), u, in, as)
			if err != nil {
				return err
			}
			fmt.Println(id)
			return nil
		},
	}
	cmd.Flags().StringVar(&as, "as", "", "restore under this id; new: under a new one")
	return cmd
}

// dumpEnd is the last line of a dump.
const dumpEnd = "COMMIT;\n"

// restore feeds a dump to psql and returns the id of the sandbox it made.
func restore(ctx context.Context, database string, dump io.Reader, as string) (uuid.UUID, error) {
	in := bufio.NewReaderSize(dump, 1<<20)
	head, err := in.ReadString('\n')
	var name, topName string
	if _, scanErr := fmt.Sscanf(head, "-- pgbox sandbox %s top %s", &name, &topName); err != nil || scanErr != nil {
		return uuid.Nil, errors.New("this is not what pgbox export prints")
	}
	from, err := uuid.Parse(name)
	top, topErr := uuid.Parse(topName)
	if err = errors.Join(err, topErr); err != nil {
		return uuid.Nil, fmt.Errorf("the first line of the dump: %w", err)
	}
	to := from
	switch as {
	case "":
	case "new":
		to = uuid.New()
	default:
		if to, err = uuid.Parse(as); err != nil {
			return uuid.Nil, fmt.Errorf("--as: %q is not an id", as)
		}
	}
	connection, env, err := libpq(database)
	if err != nil {
		return uuid.Nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return uuid.Nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", connection)
	cmd.Env, cmd.Stdin = env, r
	fed := make(chan error, 1)
	go func() {
		out := bufio.NewWriterSize(w, 1<<20)
		c := dumpCopy{w: out, in: in}
		if to != from {
			c.renames = &renames{from: from, to: to, top: top}
		}
		err := c.run()
		if err == nil {
			err = out.Flush()
		} else if !errors.Is(err, syscall.EPIPE) {
			cancel() // before the end of the input, which psql would take for that of the dump
		}
		fed <- errors.Join(err, w.Close())
	}()
	err = spoken(cmd, io.Discard)
	_ = r.Close()
	fedErr := <-fed
	switch {
	case fedErr != nil && !errors.Is(fedErr, syscall.EPIPE):
		return uuid.Nil, fedErr
	case err != nil:
		return uuid.Nil, fmt.Errorf("psql: %w", err)
	}
	return to, fedErr
}

// dumpCopy copies a dump, which may rename what is in it, and checks that it is whole: psql ends with status 0 where
// its input does.
type dumpCopy struct {
	w       *bufio.Writer
	in      *bufio.Reader
	renames *renames
}

func (c *dumpCopy) run() error {
	const insert = "INSERT INTO "
	last := ""
	for {
		line, err := c.in.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" {
			if last != dumpEnd {
				return errors.New("the dump ends too early")
			}
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		switch {
		case c.renames == nil:
			_, err = c.w.WriteString(line)
		case strings.HasPrefix(line, insert):
			err = c.statement(line, len(insert))
		default:
			_, err = c.w.WriteString(c.renames.text(line))
		}
		if err != nil {
			return err
		}
		last = line
	}
}

// statement rewrites one INSERT of pg_dump, whose first line is line: string literals double their quotes and hold
// backslashes as they are.
func (c *dumpCopy) statement(line string, start int) error {
	table, rest, ok := strings.Cut(line[start:], " (")
	names, _, ok2 := strings.Cut(rest, ") VALUES")
	if !ok || !ok2 {
		return fmt.Errorf("a statement of the dump is not pg_dump's: %.100q", line)
	}
	at := row{table: table, columns: strings.Split(names, ", ")}
	i := start + len(table) + len(" (") + len(names) + len(")")
	if _, err := c.w.WriteString(line[:i]); err != nil {
		return err
	}
	text := []byte(line[i:])
	depth, quoted := 0, false
	var literal []byte
	for {
		for len(text) > 0 {
			if quoted {
				end := bytes.IndexByte(text, '\'')
				if end < 0 {
					literal, text = append(literal, text...), nil
					break
				}
				if end+1 < len(text) && text[end+1] == '\'' {
					literal, text = append(literal, text[:end+2]...), text[end+2:]
					continue
				}
				literal = c.renames.value(&at, append(literal, text[:end]...))
				if _, err := c.w.Write(literal); err != nil {
					return err
				}
				literal, text, quoted = literal[:0], text[end:], false
				if err := c.w.WriteByte('\''); err != nil {
					return err
				}
				text = text[1:]
				continue
			}
			b := text[0]
			switch b {
			case '\'':
				quoted = true
			case '(':
				if depth++; depth == 1 {
					at.column = 0
				}
			case ')':
				depth--
			case ',':
				if depth == 1 {
					at.column++
				}
			case ';':
				if depth == 0 {
					_, err := c.w.Write(text)
					return err
				}
			}
			if err := c.w.WriteByte(b); err != nil {
				return err
			}
			text = text[1:]
		}
		next, err := c.in.ReadBytes('\n')
		if err != nil {
			return errors.New("the dump ends in the middle of a statement")
		}
		text = next
	}
}

// row is where in an INSERT a value stands.
type row struct {
	table   string
	columns []string
	column  int
}

// renames give a dumped sandbox another id, and with it what may not be there twice: its top layer, snapshots and runs.
// Sealed layers and contents are shared with the original.
type renames struct{ from, to, top uuid.UUID }

// derived is the new id of what may not be there twice.
func (r *renames) derived(id uuid.UUID) uuid.UUID { return uuid.NewSHA1(r.to, id[:]) }

// text renames in what is not an INSERT: comments, and the calls around them.
func (r *renames) text(line string) string {
	return strings.ReplaceAll(strings.ReplaceAll(line, r.from.String(), r.to.String()), r.top.String(),
		r.derived(r.top).String())
}

// value is what a literal becomes.
func (r *renames) value(at *row, v []byte) []byte {
	if at.column >= len(at.columns) {
		return v
	}
	column := at.columns[at.column]
	switch {
	case column == "layers":
		return bytes.ReplaceAll(v, []byte(r.top.String()), []byte(r.derived(r.top).String()))
	case len(v) != 36:
		return v
	case column == "sandbox_id", column == "id" && at.table == "pgbox.sandbox":
		return []byte(r.to.String())
	case column == "layer_id", column == "id" && at.table == "pgbox.layer":
		if string(v) != r.top.String() {
			return v
		}
	case column == "exec_id", column == "id":
	default:
		return v
	}
	id, err := uuid.ParseBytes(v)
	if err != nil {
		return v
	}
	return []byte(r.derived(id).String())
}
