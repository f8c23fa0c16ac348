package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pgbox/pgbox/gateway/exec"
	"github.com/pgbox/pgbox/gateway/fserr"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

const (
	home        = "/home/user"
	readLines   = 2000
	readBytes   = 64 << 10
	maxRead     = 8 << 20
	maxEntries  = 10_000
	listEntries = 1000
)

type pathArg struct {
	sandboxArg
	Path string `json:"path" jsonschema:"absolute"`
}

type readArgs struct {
	pathArg
	Offset     int    `json:"offset,omitempty" jsonschema:"the first line, from 1"`
	Limit      int    `json:"limit,omitempty" jsonschema:"lines; by default 2000"`
	ByteOffset int64  `json:"byteOffset,omitempty" jsonschema:"where to go on: next.byteOffset of the answer before, with offset: next.offset"`
	MaxBytes   int    `json:"maxBytes,omitempty" jsonschema:"by default 65536, at most 8388608"`
	At         string `json:"at,omitempty" jsonschema:"an earlier state: a snapshot by name or id, a version or a time"`
}

type readNext struct {
	Offset     int   `json:"offset"`
	ByteOffset int64 `json:"byteOffset"`
}

type readResult struct {
	ok
	Path     string    `json:"path"`
	Content  string    `json:"content"`
	Encoding string    `json:"encoding"` // utf-8 or base64
	Start    int       `json:"startLine,omitempty"`
	End      int       `json:"endLine,omitempty"`
	Size     int64     `json:"size"`
	Version  int64     `json:"version"`
	Next     *readNext `json:"next,omitempty"` // absent at the end of the file
}

type writeArgs struct {
	pathArg
	Content  string `json:"content"`
	Encoding string `json:"encoding,omitempty" jsonschema:"utf-8 (default) or base64"`
}

type writeResult struct {
	ok
	Path string `json:"path"`
	Size int64  `json:"size"`
}

type editArgs struct {
	pathArg
	OldString  string `json:"oldString" jsonschema:"the text to replace, exactly, with enough around it to be unique"`
	NewString  string `json:"newString"`
	ReplaceAll bool   `json:"replaceAll,omitempty"`
}

type editResult struct {
	ok
	Path         string `json:"path"`
	Replacements int    `json:"replacements"`
	Size         int64  `json:"size"`
}

type ingestArgs struct {
	sandboxArg
	BasePath string `json:"basePath,omitempty" jsonschema:"absolute; by default /home/user"`
	Files    []struct {
		Path    string `json:"path" jsonschema:"relative to basePath"`
		Text    string `json:"text,omitempty"`
		Base64  string `json:"base64,omitempty" jsonschema:"instead of text, for what is no text"`
		Mode    uint32 `json:"mode,omitempty" jsonschema:"permission bits, decimal: 493 is 0755"`
		Symlink string `json:"symlink,omitempty" jsonschema:"target, instead of content"`
	} `json:"files" jsonschema:"at most 10000"`
}

type ingestResult struct {
	ok
	FileCount int `json:"fileCount"`
}

type dirArgs struct {
	sandboxArg
	Path  string `json:"path,omitempty" jsonschema:"absolute; by default /home/user"`
	Limit int    `json:"limit,omitempty" jsonschema:"entries; by default 1000, at most 10000"`
}

type listDirArgs struct {
	dirArgs
	Depth int `json:"depth,omitempty" jsonschema:"levels to descend; by default 1, -1 is all"`
}

type entry struct {
	Path  string `json:"path"`
	Kind  string `json:"kind"`
	Size  int64  `json:"size"`
	Mode  uint32 `json:"mode"`
	Mtime string `json:"mtime"`
}

type entriesResult struct {
	ok
	Entries   []entry `json:"entries"`
	Truncated bool    `json:"truncated"`
}

type globArgs struct {
	dirArgs
	Pattern string `json:"pattern" jsonschema:"relative to path, as in bash with globstar: **/*.go"`
}

type grepArgs struct {
	dirArgs
	Pattern    string `json:"pattern" jsonschema:"extended regular expression, as of grep -E"`
	Include    string `json:"include,omitempty" jsonschema:"only files whose name matches this pattern: *.go"`
	IgnoreCase bool   `json:"ignoreCase,omitempty"`
	Fixed      bool   `json:"fixed,omitempty" jsonschema:"the pattern is plain text"`
	Context    int    `json:"context,omitempty" jsonschema:"lines before and after each match"`
}

type textResult struct {
	ok
	Lines     []string `json:"lines"`
	Truncated bool     `json:"truncated"`
}

type exportArgs struct {
	sandboxArg
	Path     string `json:"path,omitempty" jsonschema:"a file or directory, absolute; by default /home/user"`
	MaxBytes int    `json:"maxBytes,omitempty" jsonschema:"of all content; by default and at most 8388608"`
}

type exported struct {
	Path     string `json:"path"` // relative to the exported directory
	Mode     uint32 `json:"mode"`
	Content  string `json:"content,omitempty"`
	Encoding string `json:"encoding,omitempty"`
	Symlink  string `json:"symlink,omitempty"`
}

type exportResult struct {
	ok
	BasePath  string     `json:"basePath"`
	Files     []exported `json:"files"`
	Truncated bool       `json:"truncated"` // there is more than maxBytes
}

func (s *server) fileTools(m *sdk.Server) {
	add(m, "file_read", "Read a file", "Read lines of a text file, or bytes (base64) of another. When there is more, next says how to go on.", reads, s.read)
	add(m, "file_write", "Write a file", "Create or replace a file. Missing directories are made.", repeats, s.write)
	add(m, "file_edit", "Edit a file", "Replace a text that occurs once in a file, or all places with replaceAll. The file is untouched by an error.", overrides, s.edit)
	add(m, "fs_ingest", "Write many files", "Write up to 10000 files below a directory, all or none.", repeats, s.ingest)
	add(m, "fs_export", "Read many files", "Read a whole directory: every file with its content.", reads, s.export)
	add(m, "fs_list", "List a directory", "List what is in a directory, or below it.", reads, s.list)
	add(m, "fs_glob", "Find files by pattern", "List the paths that a pattern matches, sorted.", reads, s.glob)
	add(m, "fs_grep", "Search in files", "Search all text files below a directory; lines as of grep -rn.", reads, s.grep)
}

// absolute checks a path and gives an empty one its default.
func absolute(path, def string) (string, error) {
	if path == "" && def != "" {
		return def, nil
	}
	if !strings.HasPrefix(path, "/") || strings.ContainsRune(path, 0) {
		return "", failure(fserr.CodeInvalidInput, "path: must be absolute")
	}
	return path, nil
}

func (a *pathArg) parse() (uuid.UUID, string, error) {
	id, err := exec.ParseID(a.ID)
	if err != nil {
		return id, "", err
	}
	path, err := absolute(a.Path, "")
	return id, path, err
}

func (a *dirArgs) parse() (uuid.UUID, error) {
	id, err := exec.ParseID(a.ID)
	if err != nil {
		return id, err
	}
	if a.Path, err = absolute(a.Path, home); err != nil {
		return id, err
	}
	if a.Limit == 0 {
		a.Limit = listEntries
	}
	if a.Limit < 1 || a.Limit > maxEntries {
		return id, failure(fserr.CodeInvalidInput, fmt.Sprintf("limit: want 1 to %d", maxEntries))
	}
	return id, nil
}

func (s *server) read(ctx context.Context, c call, in *readArgs) (any, error) {
	id, path, err := in.parse()
	if err != nil {
		return nil, err
	}
	first, lines, budget := in.Offset, in.Limit, in.MaxBytes
	if first == 0 {
		first = 1
	}
	if lines == 0 {
		lines = readLines
	}
	if budget == 0 {
		budget = readBytes
	}
	if first < 1 || lines < 1 || budget < utf8.UTFMax || budget > maxRead || in.ByteOffset < 0 {
		return nil, failure(fserr.CodeInvalidInput, fmt.Sprintf("offset and limit: want at least 1; maxBytes: want %d to %d", utf8.UTFMax, maxRead))
	}
	c.At = in.At
	f, err := s.Service.OpenFile(ctx, c.Caller, id, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := readResult{ok: done, Path: f.Path, Size: f.Size, Version: f.Version, Encoding: "utf-8", Start: first}
	if _, err := f.Seek(in.ByteOffset, io.SeekStart); err != nil {
		return nil, err
	}
	r, at := bufio.NewReaderSize(f, 64<<10), in.ByteOffset
	for skip := first - 1; skip > 0 && in.ByteOffset == 0; {
		part, err := r.ReadSlice('\n')
		at += int64(len(part))
		if err == nil {
			skip--
		} else if errors.Is(err, io.EOF) {
			out.Start = 0
			return out, nil
		} else if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	b := make([]byte, budget)
	n, err := io.ReadFull(r, b)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	b = b[:n]
	// Not after the last line that is asked for, and not within a character.
	rest, ended := b, 0
	for ended < lines {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			break
		}
		rest, ended = rest[i+1:], ended+1
	}
	if ended == lines {
		b = b[:n-len(rest)]
	}
	whole := at+int64(len(b)) >= f.Size
	if !whole {
		b = trimPartial(b)
	}
	if len(b) > 0 {
		out.End = first + bytes.Count(b[:len(b)-1], []byte{'\n'})
	} else {
		out.Start = 0
	}
	if out.Content = string(b); !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
		out.Content, out.Encoding, out.Start, out.End = base64.StdEncoding.EncodeToString(b), "base64", 0, 0
	}
	if at += int64(len(b)); at < f.Size {
		out.Next = &readNext{Offset: first + bytes.Count(b, []byte{'\n'}), ByteOffset: at}
	}
	return out, nil
}

// trimPartial leaves out the beginning of a character at the end.
func trimPartial(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i < len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

func content(text, encoding string) ([]byte, error) {
	switch encoding {
	case "", "utf-8", "utf8":
		return []byte(text), nil
	case "base64":
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, failure(fserr.CodeInvalidInput, "content: is no base64")
		}
		return b, nil
	}
	return nil, failure(fserr.CodeInvalidInput, "encoding: want utf-8 or base64")
}

func (s *server) write(ctx context.Context, c call, in *writeArgs) (any, error) {
	id, path, err := in.parse()
	if err != nil {
		return nil, err
	}
	data, err := content(in.Content, in.Encoding)
	if err != nil {
		return nil, err
	}
	info, err := s.Service.WriteFile(ctx, c.Caller, id, path, data, exec.WriteOptions{})
	if err != nil {
		return nil, err
	}
	return writeResult{done, info.Path, info.Size}, nil
}

func (s *server) edit(ctx context.Context, c call, in *editArgs) (any, error) {
	id, path, err := in.parse()
	if err != nil {
		return nil, err
	}
	if in.OldString == "" || in.OldString == in.NewString {
		return nil, failure(fserr.CodeInvalidInput, "oldString: must not be empty, and must differ from newString")
	}
	res, err := s.Service.Edit(ctx, c.Caller, id, path, in.OldString, in.NewString, in.ReplaceAll)
	if err != nil {
		return nil, err
	}
	return editResult{done, res.Path, res.Replacements, res.Size}, nil
}

func (s *server) ingest(ctx context.Context, c call, in *ingestArgs) (any, error) {
	id, err := exec.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	base, err := absolute(in.BasePath, home)
	if err != nil {
		return nil, err
	}
	if n := len(in.Files); n < 1 || n > maxEntries {
		return nil, failure(fserr.CodeInvalidInput, fmt.Sprintf("files: want 1 to %d", maxEntries))
	}
	var faults, paths []string
	files := make([]exec.IngestFile, len(in.Files))
	for i, f := range in.Files {
		paths = append(paths, f.Path)
		data := []byte(f.Text)
		if f.Base64 != "" {
			if data, err = base64.StdEncoding.DecodeString(f.Base64); err != nil {
				faults = append(faults, "invalid base64: "+f.Path)
			}
		}
		if (f.Text != "") && (f.Base64 != "") || f.Symlink != "" && len(data) > 0 {
			faults = append(faults, "more than one of text, base64 and symlink: "+f.Path)
		}
		files[i] = exec.IngestFile{Path: f.Path, Data: data, Mode: f.Mode, Target: f.Symlink}
	}
	if bad := exec.InvalidIngestPaths(paths); len(bad) > 0 {
		faults = append(faults, "invalid paths: "+strings.Join(bad, ", "))
	}
	if len(faults) > 0 {
		return nil, failure(fserr.CodeInvalidInput, strings.Join(faults, "; "), faults...)
	}
	n, err := s.Service.Ingest(ctx, c.Caller, id, base, files)
	if err != nil {
		return nil, err
	}
	return ingestResult{done, n}, nil
}

// errEnough ends a walk.
var errEnough = errors.New("enough")

func (s *server) list(ctx context.Context, c call, in *listDirArgs) (any, error) {
	id, err := in.parse()
	if err != nil {
		return nil, err
	}
	depth := in.Depth
	switch {
	case depth == 0:
		depth = 1
	case depth < -1:
		return nil, failure(fserr.CodeInvalidInput, "depth: want at least 1, or -1")
	case depth == -1:
		depth = 0
	}
	out := entriesResult{ok: done, Entries: []entry{}}
	err = s.Service.Walk(ctx, c.Caller, id, in.Path, depth, func(i exec.Info) error {
		if len(out.Entries) == in.Limit {
			out.Truncated = true
			return errEnough
		}
		out.Entries = append(out.Entries, entry{i.Path, i.Kind.Name(), i.Size, i.Mode, exec.Timestamp(time.Unix(0, i.Mtime))})
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return out, nil
}

// script runs one of ours, with its arguments as variables: a pattern is never part of a script.
func (s *server) script(ctx context.Context, c call, id uuid.UUID, text string, env map[string]string) (*exec.Result, error) {
	return s.Service.Exec(ctx, exec.Request{Sandbox: id, Caller: c.Caller, Script: text, Cwd: env["DIR"], Env: env, ReadOnly: true})
}

const globScript = `shopt -s globstar nullglob; IFS=
for f in $PATTERN; do printf '%s\0' "$f"; done`

func (s *server) glob(ctx context.Context, c call, in *globArgs) (any, error) {
	id, err := in.parse()
	if err != nil {
		return nil, err
	}
	if err := s.directory(ctx, c, id, in.Path); err != nil {
		return nil, err
	}
	res, err := s.script(ctx, c, id, globScript, map[string]string{"DIR": in.Path, "PATTERN": in.Pattern})
	if err != nil {
		return nil, err
	}
	return cut(string(res.Stdout), "\x00", in.Limit, res.Truncated), nil
}

func (s *server) directory(ctx context.Context, c call, id uuid.UUID, path string) error {
	info, err := s.Service.Stat(ctx, c.Caller, id, path)
	if err != nil {
		return err
	}
	if info.Kind != proc.Dir {
		return failure(fserr.CodeENOTDIR, path+": not a directory")
	}
	return nil
}

// cut splits what a script printed into at most limit pieces.
func cut(text, separator string, limit int, truncated bool) textResult {
	lines := strings.Split(strings.TrimSuffix(text, separator), separator)
	if text == "" {
		lines = []string{}
	}
	if len(lines) > limit {
		lines, truncated = slices.Clip(lines[:limit]), true
	}
	for i := range lines {
		lines[i] = strings.ToValidUTF8(lines[i], "\ufffd")
	}
	return textResult{done, lines, truncated}
}

const grepScript = `exec grep -rnI $FLAGS ${INCLUDE:+--include="$INCLUDE"} ${CONTEXT:+-C "$CONTEXT"} -e "$PATTERN" -- "$TARGET"`

func (s *server) grep(ctx context.Context, c call, in *grepArgs) (any, error) {
	id, err := in.parse()
	if err != nil {
		return nil, err
	}
	if in.Context < 0 || in.Context > 100 {
		return nil, failure(fserr.CodeInvalidInput, "context: want 0 to 100")
	}
	if _, err := s.Service.Stat(ctx, c.Caller, id, in.Path); err != nil {
		return nil, err
	}
	flags := "-E"
	if in.Fixed {
		flags = "-F"
	}
	if in.IgnoreCase {
		flags += " -i"
	}
	around := ""
	if in.Context > 0 {
		around = fmt.Sprint(in.Context)
	}
	res, err := s.script(ctx, c, id, grepScript, map[string]string{"DIR": "/", "TARGET": in.Path, "PATTERN": in.Pattern, "INCLUDE": in.Include, "FLAGS": flags, "CONTEXT": around})
	if err != nil {
		return nil, err
	}
	if res.ExitCode > 1 {
		return nil, failure(fserr.CodeInvalidInput, strings.TrimSpace(string(res.Stderr)))
	}
	return cut(string(res.Stdout), "\n", in.Limit, res.Truncated), nil
}

func (s *server) export(ctx context.Context, c call, in *exportArgs) (any, error) {
	id, err := exec.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	base, err := absolute(in.Path, home)
	if err != nil {
		return nil, err
	}
	left := int64(in.MaxBytes)
	if left == 0 {
		left = maxRead
	}
	if left < 0 || left > maxRead {
		return nil, failure(fserr.CodeInvalidInput, fmt.Sprintf("maxBytes: want 1 to %d", maxRead))
	}
	out := exportResult{ok: done, Files: []exported{}}
	err = s.Service.Export(ctx, c.Caller, id, base, func(i exec.Info, r exec.Reader) error {
		top := out.BasePath == ""
		if top {
			out.BasePath = i.Path
		}
		e := exported{Path: strings.TrimPrefix(strings.TrimPrefix(i.Path, strings.TrimSuffix(out.BasePath, "/")), "/"), Mode: i.Mode}
		if top {
			e.Path = i.Path[strings.LastIndexByte(i.Path, '/')+1:]
		}
		var err error
		switch i.Kind {
		case proc.Symlink:
			if e.Symlink, err = r.Readlink(i.Path); err != nil {
				return err
			}
		case proc.Regular:
			if left -= i.Size; left < 0 {
				out.Truncated = true
				return errEnough
			}
			data, err := r.ReadFile(i.Path)
			if err != nil {
				return err
			}
			e.Encoding, e.Content = "utf-8", string(data)
			if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
				e.Encoding, e.Content = "base64", base64.StdEncoding.EncodeToString(data)
			}
		default:
			return nil
		}
		if len(out.Files) == maxEntries {
			out.Truncated = true
			return errEnough
		}
		out.Files = append(out.Files, e)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return out, nil
}
