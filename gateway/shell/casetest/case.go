package casetest

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Case is one script and what it does.
type Case struct {
	Name      string
	Script    string
	Files     []File
	Stdin     string
	Stdout    string
	Stderr    string
	HasStdin  bool
	NoStdin   bool // standard input is /dev/null, not a pipe
	HasOut    bool // stdout and exit were recorded
	HasStderr bool // stderr is compared
	Exit      int
	Ours      *Result // what pgbox does where that is known to differ
	Line      int     // of the name in its file
}

// File is an input file of a case.
type File struct{ Path, Content string }

// Parse reads a case file.
func Parse(data string) ([]Case, error) {
	var out []Case
	var cur *Case
	var header string
	var body strings.Builder
	line := 0
	start := 0
	flush := func() error {
		if header == "" {
			return nil
		}
		h := header
		header = ""
		content := body.String()
		body.Reset()
		if r, ok := strings.CutSuffix(h, " (no newline)"); ok {
			h, content = r, strings.TrimSuffix(content, "\n")
		} else if r, ok := strings.CutSuffix(h, " (base64)"); ok {
			b, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(content, "\n", ""))
			if err != nil {
				return fmt.Errorf("line %d: %w", start, err)
			}
			h, content = r, string(b)
		}
		if cur == nil {
			return fmt.Errorf("line %d: section before the first case", start)
		}
		kind, arg, _ := strings.Cut(h, " ")
		switch kind {
		case "script":
			cur.Script = content
		case "file":
			cur.Files = append(cur.Files, File{arg, content})
		case "stdin":
			cur.Stdin, cur.HasStdin = content, true
		case "no-stdin":
			cur.NoStdin = true
		case "stdout":
			cur.Stdout, cur.HasOut = content, true
		case "stderr":
			cur.Stderr, cur.HasStderr = content, true
		case "exit":
			n, err := strconv.Atoi(arg)
			if err != nil {
				return fmt.Errorf("line %d: exit %q", start, arg)
			}
			cur.Exit = n
		case "pgbox":
			if cur.Ours == nil {
				cur.Ours = &Result{}
			}
			status, exits := strings.CutPrefix(arg, "exit ")
			n, err := strconv.Atoi(status)
			switch {
			case arg == "stdout":
				cur.Ours.Stdout = content
			case arg == "stderr":
				cur.Ours.Stderr = content
			case exits && err == nil:
				cur.Ours.Exit = n
			default:
				return fmt.Errorf("line %d: pgbox %q", start, arg)
			}
		default:
			return fmt.Errorf("line %d: unknown section %q", start, kind)
		}
		return nil
	}
	for l := range strings.Lines(data) {
		line++
		text := strings.TrimSuffix(l, "\n")
		if name, ok := strings.CutPrefix(text, "=== "); ok {
			if err := flush(); err != nil {
				return nil, err
			}
			out = append(out, Case{Name: name, Line: line})
			cur = &out[len(out)-1]
			continue
		}
		if h, ok := strings.CutPrefix(text, "--- "); ok {
			if err := flush(); err != nil {
				return nil, err
			}
			header, start = h, line
			continue
		}
		if header == "" {
			if strings.TrimSpace(text) != "" {
				return nil, fmt.Errorf("line %d: text outside of a section", line)
			}
			continue
		}
		if strings.HasPrefix(text, `\--- `) || strings.HasPrefix(text, `\=== `) || strings.HasPrefix(text, `\\--- `) ||
			strings.HasPrefix(text, `\\=== `) {
			text = text[1:]
		}
		body.WriteString(text + "\n")
	}
	return out, flush()
}

// Format writes cases as a case file.
func Format(cases []Case) string {
	var b strings.Builder
	for _, c := range cases {
		b.WriteString("=== " + c.Name + "\n")
		section(&b, "script", c.Script)
		for _, f := range c.Files {
			section(&b, "file "+f.Path, f.Content)
		}
		if c.HasStdin {
			section(&b, "stdin", c.Stdin)
		}
		if c.NoStdin {
			section(&b, "no-stdin", "")
		}
		if c.HasOut {
			section(&b, "stdout", c.Stdout)
			if c.HasStderr {
				section(&b, "stderr", c.Stderr)
			}
			fmt.Fprintf(&b, "--- exit %d\n", c.Exit)
		} else if c.HasStderr {
			section(&b, "stderr", c.Stderr)
		}
		if c.Ours != nil {
			section(&b, "pgbox stdout", c.Ours.Stdout)
			section(&b, "pgbox stderr", c.Ours.Stderr)
			fmt.Fprintf(&b, "--- pgbox exit %d\n", c.Ours.Exit)
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func section(b *strings.Builder, header, content string) {
	b.WriteString("--- " + header)
	if !utf8.ValidString(content) || strings.ContainsAny(content, "\x00\r") {
		b.WriteString(" (base64)\n")
		e := base64.StdEncoding.EncodeToString([]byte(content))
		for len(e) > 76 {
			b.WriteString(e[:76] + "\n")
			e = e[76:]
		}
		b.WriteString(e + "\n")
		return
	}
	if content != "" && !strings.HasSuffix(content, "\n") {
		b.WriteString(" (no newline)")
		content += "\n"
	}
	b.WriteByte('\n')
	for l := range strings.Lines(content) {
		t := strings.TrimPrefix(l, `\`)
		if strings.HasPrefix(t, "--- ") || strings.HasPrefix(t, "=== ") {
			b.WriteByte('\\')
		}
		b.WriteString(l)
	}
}
