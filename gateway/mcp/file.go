package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/gateway/wire"
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
	Lines    int       `json:"totalLines,omitempty"` // of the whole file, unless it is long
	ETag     string    `json:"etag"`                 // for ifMatch
	Version  int64     `json:"version"`
	Next     *readNext `json:"next,omitempty"` // absent at the end of the file
}

type writeArgs struct {
	pathArg
	Content  string `json:"content"`
	Encoding string `json:"encoding,omitempty" jsonschema:"utf-8 (default) or base64"`
	IfMatch  string `json:"ifMatch,omitempty" jsonschema:"only if the file still has this etag, of file_read or file_edit; * is any"`
}

type writeResult struct {
	ok
	Path string `json:"path"`
	Size int64  `json:"size"`
}

type oneEdit struct {
	OldString  string `json:"oldString" jsonschema:"the text to replace, exactly, with enough around it to be unique"`
	NewString  string `json:"newString"`
	ReplaceAll bool   `json:"replaceAll,omitempty"`
}

type editArgs struct {
	pathArg
	OldString  string    `json:"oldString,omitempty" jsonschema:"the text to replace, exactly, with enough around it to be unique"`
	NewString  string    `json:"newString,omitempty"`
	ReplaceAll bool      `json:"replaceAll,omitempty"`
	Edits      []oneEdit `json:"edits,omitempty" jsonschema:"instead: several, one after the other, all or none"`
	IfMatch    string    `json:"ifMatch,omitempty" jsonschema:"only if the file still has this etag, of file_read or file_edit"`
}

type editResult struct {
	ok
	Path         string `json:"path"`
	Replacements int    `json:"replacements"`
	Size         int64  `json:"size"`
	ETag         string `json:"etag"`
	Snippet      string `json:"snippet"` // the changed lines and some around them, numbered
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
	Depth  int `json:"depth,omitempty" jsonschema:"levels to descend; by default 1, -1 is all"`
	Offset int `json:"offset,omitempty" jsonschema:"leave out so many, to go on: nextOffset of the answer before"`
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
	Entries    []entry `json:"entries"`
	Truncated  bool    `json:"truncated"`
	NextOffset int     `json:"nextOffset,omitempty"` // there is more
}

type exportArgs struct {
	sandboxArg
	Path     string `json:"path,omitempty" jsonschema:"a file or directory, absolute; by default /home/user"`
	MaxBytes int    `json:"maxBytes,omitempty" jsonschema:"of all content; by default 131072, at most 8388608"`
	After    string `json:"after,omitempty" jsonschema:"go on behind this file: nextAfter of the answer before"`
}

func (a *exportArgs) wants() int { return a.MaxBytes }

func (a *readArgs) wants() int { return a.MaxBytes }

type exported struct {
	Path     string `json:"path"` // relative to the exported directory
	Mode     uint32 `json:"mode"`
	Content  string `json:"content,omitempty"`
	Encoding string `json:"encoding,omitempty"`
	Symlink  string `json:"symlink,omitempty"`
	LeftOut  int64  `json:"leftOut,omitempty"` // bytes of a file that is too large: file_read reads it
}

type exportResult struct {
	ok
	BasePath  string     `json:"basePath"`
	Files     []exported `json:"files"`
	Truncated bool       `json:"truncated"`           // something is left out
	NextAfter string     `json:"nextAfter,omitempty"` // there is more
}

func (s *server) fileTools(m *sdk.Server) {
	add(m, "file_read", "Read a file",
		"Read lines of a text file, bytes (base64) of another, or an image. When there is more, next says how to go on.",
		reads, s.read)
	add(m, "file_write", "Write a file", "Create or replace a file. Missing directories are made.", repeats, s.write)
	add(m, "file_edit", "Edit a file",
		"Replace a text that occurs once in a file, or all places with replaceAll, or several texts with edits. The answer shows the changed lines. The file is untouched by an error.", overrides, s.edit)
	add(m, "fs_ingest", "Write many files", "Write up to 10000 files below a directory, all or none.", repeats, s.ingest)
	add(m, "fs_export", "Read many files",
		"Read a whole directory: every file with its content. When there is more, nextAfter says how to go on.", reads,
		s.export)
	add(m, "fs_list", "List a directory", "List what is in a directory, or below it.", reads, s.list)
	add(m, "fs_glob", "Find files by pattern",
		"List the paths that a pattern matches, sorted; braces, ** and [] work as in bash.", reads, s.glob)
	add(m, "fs_grep", "Search in files",
		"Search all text files below a directory with ripgrep: lines as PATH:NUMBER:TEXT, or paths, or counts. What .gitignore names is left out.", reads, s.grep)
}

// absolute checks a path and gives an empty one its default.
func absolute(path, def string) (string, error) {
	if path == "" && def != "" {
		return def, nil
	}
	if !strings.HasPrefix(path, "/") || strings.ContainsRune(path, 0) {
		return "", failure(wire.CodeInvalidInput, "path: must be absolute")
	}
	return path, nil
}

func (a *pathArg) parse() (uuid.UUID, string, error) {
	id, err := sandbox.ParseID(a.ID)
	if err != nil {
		return id, "", err
	}
	path, err := absolute(a.Path, "")
	return id, path, err
}

func (a *dirArgs) parse() (uuid.UUID, error) {
	id, err := sandbox.ParseID(a.ID)
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
		return id, failure(wire.CodeInvalidInput, fmt.Sprintf("limit: want 1 to %d", maxEntries))
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
		return nil, failure(wire.CodeInvalidInput, fmt.Sprintf("offset and limit: want at least 1; maxBytes: want %d to %d", utf8.UTFMax, maxRead))
	}
	c.At = in.At
	f, err := s.Service.OpenFile(ctx, c.Caller, id, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := readResult{ok: done, Path: f.Path, Size: f.Size, Version: f.Version, ETag: f.ETag, Encoding: "utf-8",
		Start: first}
	if out.Lines, err = countLines(ctx, f); err != nil {
		return nil, err
	}
	if first == 1 && in.ByteOffset == 0 && in.Limit == 0 {
		if img, err := picture(f, out); img != nil || err != nil {
			return img, err
		}
	}
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
		out.Lines = 0
		out.Content, out.Encoding, out.Start, out.End = base64.StdEncoding.EncodeToString(b), "base64", 0, 0
	}
	if at += int64(len(b)); at < f.Size {
		out.Next = &readNext{Offset: first + bytes.Count(b, []byte{'\n'}), ByteOffset: at}
	}
	return out, nil
}

const (
	countMax = 16 << 20 // of a file whose lines are counted
	imageMax = 5 << 20  // of one that is shown
)

// countLines is 0 for a file that is too long to be read for that.
func countLines(ctx context.Context, f *sandbox.File) (int, error) {
	if f.Size > countMax || f.Size == 0 {
		return 0, nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	lines, last := 0, byte('\n')
	b := make([]byte, 64<<10)
	for {
		n, err := f.Read(b)
		if lines += bytes.Count(b[:n], []byte{'\n'}); n > 0 {
			last = b[n-1]
		}
		switch {
		case errors.Is(err, io.EOF):
			if last != '\n' {
				lines++
			}
			return lines, nil
		case err != nil:
			return 0, err
		case ctx.Err() != nil:
			return 0, context.Cause(ctx)
		}
	}
}

// picture is the whole of a file that models can look at, nil when it is none: its content tells, not its name.
func picture(f *sandbox.File, out readResult) (any, error) {
	if f.Size > imageMax {
		return nil, nil
	}
	head := make([]byte, 512)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	kind := http.DetectContentType(head[:n])
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
	default:
		return nil, nil
	}
	rest, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	out.Encoding, out.Start, out.Lines = kind, 0, 0
	return pictured{out, append(head[:n:n], rest...), kind}, nil
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
			return nil, failure(wire.CodeInvalidInput, "content: is no base64")
		}
		return b, nil
	}
	return nil, failure(wire.CodeInvalidInput, "encoding: want utf-8 or base64")
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
	info, err := s.Service.WriteFile(ctx, c.Caller, id, path, data, sandbox.WriteOptions{IfMatch: in.IfMatch})
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
	list := in.Edits
	if len(list) == 0 {
		list = []oneEdit{{in.OldString, in.NewString, in.ReplaceAll}}
	} else if in.OldString != "" || in.NewString != "" || in.ReplaceAll {
		return nil, failure(wire.CodeInvalidInput, "edits: come instead of oldString, newString and replaceAll")
	}
	edits := make([]sandbox.Edit, len(list))
	for i, e := range list {
		if e.OldString == "" || e.OldString == e.NewString {
			return nil, failure(wire.CodeInvalidInput, "oldString: must not be empty, and must differ from newString")
		}
		edits[i] = sandbox.Edit{Old: e.OldString, New: e.NewString, All: e.ReplaceAll}
	}
	res, err := s.Service.Edit(ctx, c.Caller, id, path, edits, sandbox.EditOptions{IfMatch: in.IfMatch})
	if err != nil {
		return nil, err
	}
	return editResult{done, res.Path, res.Replacements, res.Size, res.ETag, res.Snippet}, nil
}

func (s *server) ingest(ctx context.Context, c call, in *ingestArgs) (any, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	base, err := absolute(in.BasePath, home)
	if err != nil {
		return nil, err
	}
	if n := len(in.Files); n < 1 || n > maxEntries {
		return nil, failure(wire.CodeInvalidInput, fmt.Sprintf("files: want 1 to %d", maxEntries))
	}
	var faults, paths []string
	files := make([]sandbox.IngestFile, len(in.Files))
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
		files[i] = sandbox.IngestFile{Path: f.Path, Data: data, Mode: f.Mode, Target: f.Symlink}
	}
	if bad := sandbox.InvalidIngestPaths(paths); len(bad) > 0 {
		faults = append(faults, "invalid paths: "+strings.Join(bad, ", "))
	}
	if len(faults) > 0 {
		return nil, failure(wire.CodeInvalidInput, strings.Join(faults, "; "), faults...)
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
		return nil, failure(wire.CodeInvalidInput, "depth: want at least 1, or -1")
	case depth == -1:
		depth = 0
	}
	if in.Offset < 0 {
		return nil, failure(wire.CodeInvalidInput, "offset: want at least 0")
	}
	out := entriesResult{ok: done, Entries: []entry{}}
	seen, size := 0, 0
	err = s.Service.Walk(ctx, c.Caller, id, in.Path, depth, func(i sandbox.Info) error {
		if seen++; seen <= in.Offset {
			return nil
		}
		if size += len(i.Path) + 100; len(out.Entries) == in.Limit || len(out.Entries) > 0 && size > 2*textBytes {
			out.Truncated, out.NextOffset = true, seen-1
			return errEnough
		}
		out.Entries = append(out.Entries, entry{i.Path, i.Kind.Name(), i.Size, i.Mode,
			sandbox.Timestamp(time.Unix(0, i.Mtime))})
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return out, nil
}

// exportBytes is what an export holds when nobody says.
const exportBytes = 128 << 10

// inOrder compares as a walk goes: by names, parents first.
func inOrder(path string) string { return strings.ReplaceAll(path, "/", "\x00") }

func (s *server) export(ctx context.Context, c call, in *exportArgs) (any, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	base, err := absolute(in.Path, home)
	if err != nil {
		return nil, err
	}
	left := int64(in.MaxBytes)
	if left == 0 {
		left = exportBytes
	}
	whole := left
	if left < 0 || left > maxRead {
		return nil, failure(wire.CodeInvalidInput, fmt.Sprintf("maxBytes: want 1 to %d", maxRead))
	}
	out := exportResult{ok: done, Files: []exported{}}
	enough := func() error {
		out.Truncated = true
		if n := len(out.Files); n > 0 {
			out.NextAfter = out.Files[n-1].Path
		}
		return errEnough
	}
	err = s.Service.Export(ctx, c.Caller, id, base, func(i sandbox.Info, r sandbox.Reader) error {
		top := out.BasePath == ""
		if top {
			out.BasePath = i.Path
		}
		e := exported{Path: strings.TrimPrefix(strings.TrimPrefix(i.Path, strings.TrimSuffix(out.BasePath, "/")), "/"),
			Mode: i.Mode}
		if top {
			e.Path = i.Path[strings.LastIndexByte(i.Path, '/')+1:]
		}
		if in.After != "" && !top && inOrder(e.Path) <= inOrder(in.After) {
			return nil
		}
		var err error
		switch i.Kind {
		case vfs.Symlink:
			if e.Symlink, err = r.Readlink(i.Path); err != nil {
				return err
			}
		case vfs.Regular:
			if i.Size > whole {
				out.Truncated, e.LeftOut = true, i.Size
				break
			}
			if left -= i.Size; left < 0 {
				return enough()
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
		if left -= int64(len(e.Path)) + 100; len(out.Files) == maxEntries || left < 0 && len(out.Files) > 0 {
			return enough()
		}
		out.Files = append(out.Files, e)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return out, nil
}
