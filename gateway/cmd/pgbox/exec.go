package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func execCommand(c *client) *cobra.Command {
	var (
		cwd      string
		at       string
		readOnly bool
		atomic   bool
		timeout  time.Duration
	)
	cmd := &cobra.Command{
		Use:   "exec ID -- SCRIPT...",
		Short: "Run a bash script in a sandbox; streams its output and exits with its status",
		Long:  "Run a bash script in a sandbox. The words after -- are joined by spaces; with - as the only word the script is read from standard input.",
		Args:  cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			script := strings.Join(args[1:], " ")
			if script == "-" {
				data, err := io.ReadAll(os.Stdin)
				if err != nil {
					return err
				}
				script = string(data)
			}
			in := map[string]any{"script": script, "readOnly": readOnly, "timeoutMs": timeout.Milliseconds()}
			if atomic {
				in["atomic"] = true
			}
			if at != "" {
				in["at"], in["readOnly"] = at, true
			}
			if cwd != "" {
				in["cwd"] = cwd
			}
			data, err := json.Marshal(in)
			if err != nil {
				return err
			}
			res, err := c.do(cmd.Context(), http.MethodPost, sandboxPath(args[0], "/exec"), "application/json", bytes.NewReader(data))
			if err != nil {
				return err
			}
			defer res.Body.Close()
			return copyEvents(res.Body, os.Stdout, os.Stderr)
		},
	}
	cmd.Flags().StringVar(&cwd, "cwd", "", "working directory (default: where the last script left off)")
	cmd.Flags().StringVar(&at, "at", "", "run on an earlier state, read-only: "+stateHelp)
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "run on a snapshot, without a lock; any change fails")
	cmd.Flags().BoolVar(&atomic, "atomic", false, "apply nothing unless the script exits 0")
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "end the script after this long (at most 5m)")
	return cmd
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
