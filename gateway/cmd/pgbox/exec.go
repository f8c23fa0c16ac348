package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

func execCommand(c *client) *cobra.Command {
	var (
		cwd      string
		at       string
		session  string
		readOnly bool
		atomic   bool
		noStdin  bool
		timeout  time.Duration
	)
	cmd := &cobra.Command{
		Use:   "exec ID -- SCRIPT...",
		Short: "Run a bash script in a sandbox; streams its output and exits with its status",
		Long: `Run a bash script in a sandbox. One word after -- is the script; several are a command and its arguments, each as it stands. With - as the only word
the script is read from standard input. Otherwise standard input, unless it is a terminal or a device such as /dev/null, is read to its end and given to the
script. The status is the script's, 124 when it ran out of time.`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			script := args[1]
			if len(args) > 2 {
				script = quoted(args[1:])
			}
			if script == "-" {
				text, err := readInput(os.Stdin)
				if err != nil {
					return err
				}
				script, noStdin = text, true
			}
			in := map[string]any{"script": script, "readOnly": readOnly, "timeoutMs": timeout.Milliseconds()}
			if !noStdin && hasInput(os.Stdin) {
				text, err := readInput(os.Stdin)
				if err != nil {
					return err
				}
				in["stdin"] = text
			}
			if atomic {
				in["atomic"] = true
			}
			if at != "" {
				in["at"], in["readOnly"] = at, true
			}
			if cwd != "" {
				in["cwd"] = cwd
			}
			if cmd.Flags().Changed("session") {
				in["session"] = session
			}
			data, err := json.Marshal(in)
			if err != nil {
				return err
			}
			res, err := c.repeat(cmd.Context(), http.MethodPost, sandboxPath(args[0], "/exec"), "application/json", data)
			if err != nil {
				return err
			}
			defer res.Body.Close()
			return timedOut(copyEvents(res.Body, os.Stdout, os.Stderr))
		},
	}
	cmd.Flags().StringVar(&cwd, "cwd", "", "working directory (default: where the last script left off)")
	cmd.Flags().StringVar(&at, "at", "", "run on an earlier state, read-only: "+stateHelp)
	cmd.Flags().StringVar(&session, "session", "",
		"a working directory, variables and functions of its own, under this name")
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "run on a snapshot, without a lock; any change fails")
	cmd.Flags().BoolVar(&atomic, "atomic", false, "apply nothing unless the script exits 0")
	cmd.Flags().BoolVarP(&noStdin, "no-stdin", "n", false, "leave standard input alone; the script reads /dev/null")
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "end the script after this long (at most 5m)")
	return cmd
}

// quoted makes words of a command line a script.
func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w
		if w == "" || strings.ContainsFunc(w, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,+@%", r)
		}) {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// timedOut gives a script that ran out of time the status of timeout(1).
func timedOut(err error) error {
	var refused *apiError
	if errors.As(err, &refused) && refused.Code == "EXEC_TIMEOUT" {
		fmt.Fprintln(os.Stderr, "pgbox: "+err.Error())
		return exitStatus(124)
	}
	return err
}

// hasInput reports whether there is something to read: a pipe or a file, and not a terminal, another device or nothing
// at all.
func hasInput(f *os.File) bool {
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeDevice == 0 && !st.IsDir()
}

// readInput reads all of f, as text that JSON can carry.
func readInput(f *os.File) (string, error) {
	// Whoever started this may have left a pipe open that nothing is written to.
	waiting := time.AfterFunc(2*time.Second, func() {
		if hasInput(f) {
			fmt.Fprintln(os.Stderr, "pgbox: waiting for the end of standard input (-n leaves it alone)")
		}
	})
	defer waiting.Stop()
	data, err := io.ReadAll(f)
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	if !utf8.Valid(data) {
		return "", errors.New("standard input is not UTF-8 text; `pgbox fs put` writes any bytes to a file that a script can read")
	}
	return string(data), nil
}

// copyEvents copies a stream of exec events to the two outputs; the final event's status is the returned error.
func copyEvents(r io.Reader, stdout, stderr io.Writer) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	var failed error
	for {
		line, err := lines.ReadString('\n')
		if data, ok := strings.CutPrefix(line, "data:"); ok {
			var ev struct {
				T        string `json:"t"`
				Data     string `json:"data"`
				ExitCode int    `json:"exitCode"`
				Error    string `json:"error"`
				Code     string `json:"code"`
				Applied  string `json:"applied"`
			}
			if err := json.Unmarshal([]byte(data), &ev); err != nil {
				return fmt.Errorf("read the event stream: %w", err)
			}
			switch ev.T {
			case "stdout":
				_, err = io.WriteString(stdout, ev.Data)
			case "stderr":
				_, err = io.WriteString(stderr, ev.Data)
			case "error":
				failed = &apiError{Message: ev.Error, Code: ev.Code, Applied: ev.Applied}
			case "exit":
				switch {
				case failed != nil:
					return failed
				case ev.Code != "":
					return &apiError{Message: "the script did not finish: " + ev.Error, Code: ev.Code, Applied: ev.Applied}
				case ev.Error != "":
					return errors.New("the script did not finish: " + ev.Error)
				case ev.ExitCode != 0:
					return exitStatus(ev.ExitCode)
				}
				return nil
			}
			if err != nil {
				return err
			}
		}
		if err != nil {
			return fmt.Errorf("the stream ended without an exit event: %w", err)
		}
	}
}
