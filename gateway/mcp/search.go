package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/gateway/wire"
)

const (
	textBytes   = 64 << 10 // of lines in one answer
	lineBytes   = 2000     // of one line
	maxPatterns = 200      // that the braces of one make
)

type globArgs struct {
	dirArgs
	Pattern string `json:"pattern" jsonschema:"relative to path, as in bash with globstar: **/*.{go,md}"`
	Offset  int    `json:"offset,omitempty" jsonschema:"leave out so many, to go on: nextOffset of the answer before"`
}

type grepArgs struct {
	dirArgs
	Pattern    string `json:"pattern" jsonschema:"regular expression, as of ripgrep: \\d, \\w, (?i) and the like"`
	Include    string `json:"include,omitempty" jsonschema:"only files that match this pattern: *.{ts,tsx}; with ! all others"`
	Type       string `json:"type,omitempty" jsonschema:"only files of this type: go, py, js, rust, … (rg --type-list)"`
	Output     string `json:"output,omitempty" jsonschema:"content (default): lines; files: paths of files with a match; count: matching lines of each file"`
	IgnoreCase bool   `json:"ignoreCase,omitempty"`
	Fixed      bool   `json:"fixed,omitempty" jsonschema:"the pattern is plain text"`
	Multiline  bool   `json:"multiline,omitempty" jsonschema:"matches may span lines, and . matches the end of a line"`
	Context    int    `json:"context,omitempty" jsonschema:"lines before and after each match"`
	NoIgnore   bool   `json:"noIgnore,omitempty" jsonschema:"search also what .gitignore leaves out"`
	Offset     int    `json:"offset,omitempty" jsonschema:"leave out so many lines, to go on: nextOffset of the answer before"`
}

type textResult struct {
	ok
	Lines      []string `json:"lines"`
	Truncated  bool     `json:"truncated"`
	NextOffset int      `json:"nextOffset,omitempty"` // there is more
}

// script runs one of ours, with its arguments as variables: a pattern is never part of a script.
func (s *server) script(
	ctx context.Context, c call, id uuid.UUID, text string, env map[string]string,
) (*sandbox.Result, error) {
	return s.Service.Exec(ctx, sandbox.Request{Sandbox: id, Caller: c.Caller, Script: text, Cwd: env["DIR"], Env: env,
		ReadOnly: true})
}

const globScript = `shopt -s globstar nullglob; IFS=
for ((i = 0; i < COUNT; i++)); do v=PATTERN$i
  for f in ${!v}; do printf '%s\0' "$f"; done
done`

func (s *server) glob(ctx context.Context, c call, in *globArgs) (any, error) {
	id, err := in.parse()
	if err != nil {
		return nil, err
	}
	if in.Offset < 0 {
		return nil, failure(wire.CodeInvalidInput, "offset: want at least 0")
	}
	if err := s.directory(ctx, c, id, in.Path); err != nil {
		return nil, err
	}
	patterns, err := braces(in.Pattern)
	if err != nil {
		return nil, err
	}
	env := map[string]string{"DIR": in.Path, "COUNT": fmt.Sprint(len(patterns))}
	for i, p := range patterns {
		env[fmt.Sprint("PATTERN", i)] = p
	}
	res, err := s.script(ctx, c, id, globScript, env)
	if err != nil {
		return nil, err
	}
	all := strings.Split(strings.TrimSuffix(string(res.Stdout), "\x00"), "\x00")
	if len(res.Stdout) == 0 {
		all = nil
	}
	slices.Sort(all)
	return cut(slices.Compact(all), in.Offset, in.Limit, res.Truncated), nil
}

// braces are the patterns that the alternatives in braces of one stand for.
func braces(pattern string) ([]string, error) {
	out := []string{pattern}
	for i := 0; i < len(out); {
		open, parts, end := brace(out[i])
		if parts == nil {
			i++
			continue
		}
		var more []string
		for _, p := range parts {
			more = append(more, out[i][:open]+p+out[i][end:])
		}
		if out = slices.Replace(out, i, i+1, more...); len(out) > maxPatterns {
			return nil, failure(wire.CodeInvalidInput, fmt.Sprintf("pattern: the braces stand for more than %d patterns", maxPatterns))
		}
	}
	return out, nil
}

// brace finds the first {a,b} of a pattern: where it begins and ends, and its alternatives.
func brace(p string) (open int, parts []string, end int) {
	for open = 0; open < len(p); open++ {
		if p[open] == '\\' {
			open++
			continue
		}
		if p[open] != '{' {
			continue
		}
		depth, from := 0, open+1
		parts = nil
		for i := open; i < len(p); i++ {
			switch p[i] {
			case '\\':
				i++
			case '{':
				depth++
			case ',':
				if depth == 1 {
					parts = append(parts, p[from:i])
					from = i + 1
				}
			case '}':
				if depth--; depth == 0 && parts != nil {
					return open, append(parts, p[from:i]), i + 1
				}
			}
			if depth == 0 {
				break
			}
		}
	}
	return 0, nil, 0
}

func (s *server) directory(ctx context.Context, c call, id uuid.UUID, path string) error {
	info, err := s.Service.Stat(ctx, c.Caller, id, path)
	if err != nil {
		return err
	}
	if info.Kind != vfs.Dir {
		return failure(wire.CodeENOTDIR, path+": not a directory")
	}
	return nil
}

// cut is the part of lines from offset that fits an answer.
func cut(lines []string, offset, limit int, truncated bool) textResult {
	lines = lines[min(offset, len(lines)):]
	out := textResult{ok: done, Lines: []string{}, Truncated: truncated}
	size := 0
	for i, l := range lines {
		if l = strings.ToValidUTF8(l, "\ufffd"); len(l) > lineBytes {
			l, _ = middle([]byte(l), lineBytes)
			l = strings.ReplaceAll(l, "\n", " ")
		}
		if size += len(l) + 1; i == limit || i > 0 && size > textBytes {
			out.Truncated, out.NextOffset = true, offset+i
			break
		}
		out.Lines = append(out.Lines, l)
	}
	return out
}

// More lines than are shown are not searched for.
const grepScript = `rg --no-config --no-heading --with-filename --line-number --hidden --no-require-git --glob '!.git' --sort path "${FLAGS[@]}" \
  -e "$PATTERN" -- "$TARGET" | head -n "$LINES_WANTED"
s=${PIPESTATUS[0]}; (( s == 141 )) && s=0; exit $s`

func (s *server) grep(ctx context.Context, c call, in *grepArgs) (any, error) {
	id, err := in.parse()
	if err != nil {
		return nil, err
	}
	switch {
	case in.Context < 0 || in.Context > 100:
		return nil, failure(wire.CodeInvalidInput, "context: want 0 to 100")
	case in.Offset < 0 || in.Offset > 1_000_000:
		return nil, failure(wire.CodeInvalidInput, "offset: want 0 to 1000000")
	}
	if _, err := s.Service.Stat(ctx, c.Caller, id, in.Path); err != nil {
		return nil, err
	}
	env := map[string]string{"DIR": "/", "TARGET": in.Path, "PATTERN": in.Pattern,
		"LINES_WANTED": fmt.Sprint(in.Offset + in.Limit + 1)}
	script := "FLAGS=()\n"
	flag := func(on bool, words string) {
		if on {
			script += "FLAGS+=(" + words + ")\n"
		}
	}
	switch in.Output {
	case "", "content":
	case "files":
		flag(true, "--files-with-matches")
	case "count":
		flag(true, "--count")
	default:
		return nil, failure(wire.CodeInvalidInput, "output: want content, files or count")
	}
	flag(in.IgnoreCase, "--ignore-case")
	flag(in.Fixed, "--fixed-strings")
	flag(in.Multiline, "--multiline --multiline-dotall")
	flag(in.NoIgnore, "--no-ignore")
	flag(in.Context > 0, fmt.Sprint("--context ", in.Context))
	if in.Include != "" {
		env["INCLUDE"] = in.Include
		flag(true, `--glob "$INCLUDE"`)
	}
	if in.Type != "" {
		env["TYPE"] = in.Type
		flag(true, `--type "$TYPE"`)
	}
	res, err := s.script(ctx, c, id, script+grepScript, env)
	if err != nil {
		return nil, err
	}
	if res.ExitCode > 1 {
		return nil, failure(wire.CodeInvalidInput, strings.TrimSpace(string(res.Stderr)))
	}
	var lines []string
	if len(res.Stdout) > 0 {
		lines = strings.Split(strings.TrimSuffix(string(res.Stdout), "\n"), "\n")
	}
	return cut(lines, in.Offset, in.Limit, res.Truncated), nil
}
