package httpapi

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/gateway/wire"
)

const (
	maxTreeEntries   = 50_000
	maxIngestEntries = 10_000
	maxIngestBytes   = 512 << 20
	// base64 is 4/3 of the content; the rest is names and JSON.
	maxIngestBody = maxIngestBytes/3*4 + 64<<20
)

func (s *server) fileRoutes() {
	const base = sandboxesPath + "/{id}"
	content := map[string]*huma.MediaType{"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString,
		Format: "binary"}}}
	noContent := map[string]*huma.Response{"204": {Description: "Done"}}

	get := operation(http.MethodGet, base+"/files/{path...}", "readFile",
		"Read a file; Range and If-None-Match are honoured", "files", false)
	get.Responses = map[string]*huma.Response{"200": {Description: "The bytes", Content: content,
		Headers: map[string]*huma.Header{
			"X-FS-Stat": {Description: "kind, mode, size and mtime as JSON", Schema: &huma.Schema{Type: huma.TypeString}},
			"ETag":      {Description: "changes exactly when the content does", Schema: &huma.Schema{Type: huma.TypeString}},
		}}, "206": {Description: "A range of the bytes", Content: content}, "304": {Description: "Not modified"}}
	get.Parameters = []*huma.Param{at, stale}
	s.raw(get, s.readFile)

	put := operation(http.MethodPut, base+"/files/{path...}", "writeFile",
		"Write a file; parents are made, an existing file keeps its mode", "files", false)
	put.RequestBody = &huma.RequestBody{Required: true, Content: content}
	put.Responses = noContent
	s.raw(put, s.writeFile)

	edit := operation(http.MethodPatch, base+"/files/{path...}", "editFile", "Replace text in a file", "files", false)
	edit.MaxBodyBytes = maxFilesBody
	handle(s, edit, s.editFile)

	rm := operation(http.MethodDelete, base+"/files/{path...}", "deleteFile", "Remove a file or directory", "files", false)
	rm.DefaultStatus = http.StatusNoContent
	handle(s, rm, s.deleteFile)

	write := operation(http.MethodPost, base+"/writeFiles", "writeFiles", "Write several files, all or none", "files",
		false)
	write.DefaultStatus, write.MaxBodyBytes = http.StatusNoContent, maxFilesBody
	handle(s, write, s.writeFiles)

	mkdir := operation(http.MethodPost, base+"/mkdir", "mkdir", "Make a directory", "files", false)
	mkdir.DefaultStatus = http.StatusNoContent
	handle(s, mkdir, s.mkdir)

	entries := huma.SchemaFromType(s.api.OpenAPI().Components.Schemas, typeOfTree)
	tree := operation(http.MethodGet, base+"/tree", "tree", "List everything below a directory; as NDJSON without a bound",
		"files", false)
	tree.Parameters = []*huma.Param{
		{Name: "prefix", In: "query", Schema: &huma.Schema{Type: huma.TypeString, Default: "/"}},
		{Name: "depth", In: "query", Description: "levels to descend; all by default",
			Schema: &huma.Schema{Type: huma.TypeInteger}},
		at, stale,
	}
	tree.Responses = map[string]*huma.Response{"200": {Description: "Entries, parents first",
		Content: map[string]*huma.MediaType{
			"application/json": {Schema: entries}, "application/x-ndjson": {Schema: entries.Items},
		}}}
	s.raw(tree, s.tree)

	ingest := operation(http.MethodPost, base+"/ingest-files", "ingestFiles",
		"Write many binary files below a directory, all or none", "files", false)
	ingest.Parameters = []*huma.Param{{Name: idempotencyHeader, In: "header", Schema: &huma.Schema{Type: huma.TypeString}}}
	ingest.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {
		Schema: huma.SchemaFromType(s.api.OpenAPI().Components.Schemas, typeOfIngest),
	}}}
	ingest.Responses = map[string]*huma.Response{"200": {Description: "Done",
		Content: map[string]*huma.MediaType{"application/json": {
			Schema: huma.SchemaFromType(s.api.OpenAPI().Components.Schemas, typeOfIngested),
		}}}}
	s.raw(ingest, s.ingest)
}

// filePath is the absolute path a file route names.
func filePath(p string) string { return "/" + p }

var contentTypes = map[string]string{
	".css": "text/css", ".csv": "text/csv", ".gif": "image/gif", ".gz": "application/gzip", ".htm": "text/html",
	".html": "text/html",
	".jpeg": "image/jpeg", ".jpg": "image/jpeg", ".js": "text/javascript", ".json": "application/json",
	".md":  "text/markdown",
	".mjs": "text/javascript", ".pdf": "application/pdf", ".png": "image/png", ".py": "text/x-python",
	".sh":  "text/x-shellscript",
	".svg": "image/svg+xml", ".tar": "application/x-tar", ".toml": "application/toml", ".ts": "text/typescript",
	".txt":  "text/plain",
	".wasm": "application/wasm", ".webp": "image/webp", ".xml": "application/xml", ".yaml": "application/yaml",
	".yml": "application/yaml",
	".zip": "application/zip", ".log": "text/plain", ".go": "text/x-go", ".sql": "application/sql",
}

// contentType goes by the extension alone: never by the content, which an agent controls.
func contentType(name string) string {
	t, ok := contentTypes[strings.ToLower(path.Ext(name))]
	if !ok {
		return "application/octet-stream"
	}
	if strings.HasPrefix(t, "text/") {
		return t + "; charset=utf-8"
	}
	return t
}

type fileStat struct {
	Kind  string `json:"kind"`
	Mode  uint32 `json:"mode"`
	Size  int64  `json:"size"`
	Mtime string `json:"mtime"`
}

func (s *server) readFile(w http.ResponseWriter, r *http.Request) error {
	id, err := sandbox.ParseID(r.PathValue("id"))
	if err != nil {
		return newErrorBody(r.Context(), wire.CodeSandboxNotFound, "no such sandbox")
	}
	c, err := reader(r, "files")
	if err != nil {
		return err
	}
	f, err := s.Service.OpenFile(r.Context(), c, id, filePath(r.PathValue("path")))
	if err != nil {
		if errors.Is(err, vfs.EISDIR) {
			return newErrorBody(r.Context(), wire.CodeEISDIR, "is_directory")
		}
		return err
	}
	defer f.Close()
	mtime := time.Unix(0, f.Mtime)
	stat, err := json.Marshal(fileStat{f.Kind.Name(), f.Mode, f.Size, sandbox.Timestamp(mtime)})
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", contentType(f.Path))
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(f.Path)}))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	h.Set("X-FS-Stat", string(stat))
	h.Set("ETag", strconv.Quote(f.ETag))
	h.Set("Cache-Control", "private, no-cache")
	http.ServeContent(w, r, "", mtime, f)
	return nil
}

func (s *server) writeFile(w http.ResponseWriter, r *http.Request) error {
	id, err := sandbox.ParseID(r.PathValue("id"))
	if err != nil {
		return err
	}
	if r.ContentLength > maxFileBytes {
		return newErrorBody(r.Context(), wire.CodePayloadTooLarge,
			fmt.Sprintf("a file written this way has at most %d bytes", maxFileBytes))
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxFileBytes))
	if err != nil {
		return bodyError(r.Context(), err)
	}
	o := sandbox.WriteOptions{IfMatch: strings.Trim(r.Header.Get("If-Match"), `"`)}
	if _, err := s.Service.WriteFile(r.Context(), caller(r.Context(), "files"), id, filePath(r.PathValue("path")), data,
		o); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// bodyError is a request body that could not be read to its end.
func bodyError(ctx context.Context, err error) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return err
	}
	return invalidInput(ctx, "the request body ended early")
}

type editInput struct {
	SandboxID
	Path string `path:"path" doc:"path of the file below /"`
	Body struct {
		OldString  string `json:"oldString" required:"true" minLength:"1"`
		NewString  string `json:"newString" required:"true"`
		ReplaceAll bool   `json:"replaceAll,omitempty"`
	}
	RawBody []byte
}

type editOutput struct {
	Body struct {
		Path         string `json:"path"`
		Replacements int    `json:"replacements"`
		Size         int64  `json:"size"`
	}
}

// loneSurrogate finds a \uD800-\uDFFF escape that is not one half of a pair; Go's decoder would
// silently turn it into U+FFFD and the edit into another one.
var surrogate = regexp.MustCompile(`(?i)\\\\|\\u[d][89a-f][0-9a-f]{2}`)

func loneSurrogate(body []byte) bool {
	high := -1
	for _, m := range surrogate.FindAllIndex(body, -1) {
		if body[m[0]+1] == '\\' {
			continue
		}
		isHigh := strings.ContainsRune("89abAB", rune(body[m[0]+3]))
		switch {
		case isHigh && high >= 0, !isHigh && high != m[0]:
			return true
		case isHigh:
			high = m[1]
		default:
			high = -1
		}
	}
	return high >= 0
}

func (s *server) editFile(ctx context.Context, in *editInput) (*editOutput, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	if loneSurrogate(in.RawBody) {
		return nil, newErrorBody(ctx, wire.CodeEditLoneSurrogate, "a string holds half of a surrogate pair")
	}
	if in.Body.OldString == in.Body.NewString {
		return nil, invalidInput(ctx, "newString: must differ from oldString")
	}
	res, err := s.Service.Edit(ctx, caller(ctx, "files"), id, filePath(in.Path),
		[]sandbox.Edit{{Old: in.Body.OldString, New: in.Body.NewString, All: in.Body.ReplaceAll}}, sandbox.EditOptions{})
	if err != nil {
		return nil, err
	}
	out := new(editOutput)
	out.Body.Path, out.Body.Replacements, out.Body.Size = res.Path, res.Replacements, res.Size
	return out, nil
}

type deleteFileInput struct {
	SandboxID
	Path      string `path:"path" doc:"path of the file below /"`
	Recursive string `query:"recursive" doc:"true: remove a directory and all it holds; anything else is no"`
}

func (s *server) deleteFile(ctx context.Context, in *deleteFileInput) (*struct{}, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	return nil, s.Service.Delete(ctx, caller(ctx, "files"), id, filePath(in.Path), in.Recursive == "true")
}

type writeFilesInput struct {
	SandboxID
	Body struct {
		Files map[string]string `json:"files" required:"true" doc:"text by absolute path"`
	}
}

func (s *server) writeFiles(ctx context.Context, in *writeFilesInput) (*struct{}, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	files, err := textFiles(ctx, in.Body.Files)
	if err != nil {
		return nil, err
	}
	return nil, s.Service.WriteFiles(ctx, caller(ctx, "files"), id, files)
}

type mkdirInput struct {
	SandboxID
	Body struct {
		Path      string `json:"path" required:"true" minLength:"1"`
		Recursive bool   `json:"recursive,omitempty"`
	}
}

func (s *server) mkdir(ctx context.Context, in *mkdirInput) (*struct{}, error) {
	id, err := sandbox.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(in.Body.Path, "/") {
		return nil, invalidInput(ctx, "path: must be absolute")
	}
	return nil, s.Service.Mkdir(ctx, caller(ctx, "files"), id, in.Body.Path, in.Body.Recursive)
}

type treeEntry struct {
	Path  string `json:"path"`
	Kind  string `json:"kind" enum:"file,dir,symlink,char,fifo"`
	Size  int64  `json:"size"`
	Mtime string `json:"mtime" format:"date-time"`
}

// errTooMany ends a walk that has grown past what one array may hold.
var errTooMany = errors.New("too many entries")

func (s *server) tree(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	id, err := sandbox.ParseID(r.PathValue("id"))
	if err != nil {
		return newErrorBody(ctx, wire.CodeSandboxNotFound, "no such sandbox")
	}
	q := r.URL.Query()
	prefix, depth := "/", 0
	if p := q.Get("prefix"); p != "" {
		prefix = p
	}
	if !strings.HasPrefix(prefix, "/") {
		return invalidInput(ctx, "prefix: must be absolute")
	}
	if d := q.Get("depth"); d != "" {
		if depth, err = strconv.Atoi(d); err != nil || depth < 1 {
			return invalidInput(ctx, "depth: want a whole number of at least 1")
		}
	}
	c, err := reader(r, "tree")
	if err != nil {
		return err
	}
	entry := func(i sandbox.Info) treeEntry {
		return treeEntry{i.Path, i.Kind.Name(), i.Size, sandbox.Timestamp(time.Unix(0, i.Mtime))}
	}
	if strings.Contains(r.Header.Get("Accept"), "application/x-ndjson") {
		w.Header().Set("Content-Type", "application/x-ndjson")
		buf := bufio.NewWriterSize(w, 64<<10)
		enc := json.NewEncoder(buf)
		started := false
		err := s.Service.Walk(ctx, c, id, prefix, depth, func(i sandbox.Info) error {
			started = true
			return enc.Encode(entry(i))
		})
		if err != nil && started {
			panic(http.ErrAbortHandler) // the client must not take a part for the whole
		}
		if err != nil && !isMissing(err) {
			return err
		}
		return buf.Flush()
	}
	out := []treeEntry{}
	err = s.Service.Walk(ctx, c, id, prefix, depth, func(i sandbox.Info) error {
		if len(out) == maxTreeEntries {
			return errTooMany
		}
		out = append(out, entry(i))
		return nil
	})
	if errors.Is(err, errTooMany) {
		return newErrorBody(ctx, wire.CodePayloadTooLarge,
			fmt.Sprintf("more than %d entries: ask for a smaller depth, or for application/x-ndjson", maxTreeEntries))
	}
	if err != nil && !isMissing(err) {
		return err
	}
	return writeJSON(w, http.StatusOK, out)
}

// isMissing reports whether there is no file of a path: nothing begins with it.
func isMissing(err error) bool {
	path, ok := errors.AsType[*vfs.PathError](err)
	return ok && path.Err == vfs.ENOENT
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the client is gone when this fails
	return nil
}

type ingestBody struct {
	BasePath string            `json:"basePath,omitempty" default:"/home/user" pattern:"^/[a-zA-Z0-9_\\-./]*$"`
	Files    map[string]string `json:"files" required:"true" doc:"canonical base64 by path relative to basePath"`
	Modes    map[string]uint32 `json:"modes,omitempty" doc:"permission bits by the same paths"`
	Symlinks map[string]string `json:"symlinks,omitempty" doc:"targets by path relative to basePath"`
}

type ingestedBody struct {
	Status    string `json:"status" enum:"ok"`
	FileCount int    `json:"fileCount"`
}

var validBase = regexp.MustCompile(`^/[a-zA-Z0-9_\-./]*$`)

// ingest reads its body as a stream and decodes each file as it comes, so that a body of the largest size is not
// held three times.
func (s *server) ingest(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	id, err := sandbox.ParseID(r.PathValue("id"))
	if err != nil {
		return err
	}
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); r.Header.Get("Content-Type") != "" &&
		(err != nil || t != "application/json") {
		return newErrorBody(ctx, wire.CodeUnsupportedMediaType, "send application/json")
	}
	body := io.Reader(http.MaxBytesReader(w, r.Body, maxIngestBody))
	key, digest := r.Header.Get(idempotencyHeader), sha256.New()
	if key != "" {
		digest.Write([]byte("ingest-files " + id.String() + " "))
		body = io.TeeReader(body, digest)
	}
	in, err := decodeIngest(ctx, json.NewDecoder(body))
	if err != nil {
		return err
	}
	c := caller(ctx, "ingest-files")
	if key != "" {
		// What follows the object, which the decoder may have read or not.
		if _, err := io.Copy(io.Discard, body); err != nil {
			return invalidInput(ctx, "Invalid JSON body")
		}
		if c, err = withKey(ctx, c, key, [sha256.Size]byte(digest.Sum(nil))); err != nil {
			return err
		}
	}
	n, err := s.Service.Ingest(ctx, c, id, in.base, in.files)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, ingestedBody{"ok", n})
}

type ingestRequest struct {
	base  string
	files []sandbox.IngestFile
}

func decodeIngest(ctx context.Context, d *json.Decoder) (*ingestRequest, error) {
	in := &ingestRequest{base: "/home/user"}
	var (
		badBase64  []string
		modes      map[string]uint32
		links      map[string]string
		haveFiles  bool
		entries    int
		bytes      int64
		faults     []string
		invalid    = invalidInput(ctx, "Invalid JSON body")
		decodeFail = func(err error) error {
			var large *http.MaxBytesError
			if errors.As(err, &large) {
				return invalidInput(ctx, fmt.Sprintf("ingest exceeds byte limit (%d)", maxIngestBytes))
			}
			return invalid
		}
	)
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, decodeFail(err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, decodeFail(err)
		}
		switch key {
		case "basePath":
			if err := d.Decode(&in.base); err != nil {
				return nil, decodeFail(err)
			}
		case "modes":
			if err := d.Decode(&modes); err != nil {
				return nil, decodeFail(err)
			}
		case "symlinks":
			if err := d.Decode(&links); err != nil {
				return nil, decodeFail(err)
			}
		case "files":
			haveFiles = true
			if t, err := d.Token(); err != nil || t != json.Delim('{') {
				if err == nil {
					return nil, invalidInput(ctx, "files: expected object")
				}
				return nil, decodeFail(err)
			}
			for d.More() {
				name, err := d.Token()
				if err != nil {
					return nil, decodeFail(err)
				}
				var text string
				if err := d.Decode(&text); err != nil {
					return nil, decodeFail(err)
				}
				entries++
				if entries > maxIngestEntries || bytes > maxIngestBytes {
					continue // only counted from here on
				}
				data, err := base64.StdEncoding.Strict().DecodeString(text)
				if err != nil || strings.ContainsAny(text, "\r\n") {
					badBase64 = append(badBase64, name.(string))
					continue
				}
				bytes += int64(len(data))
				in.files = append(in.files, sandbox.IngestFile{Path: name.(string), Data: data})
			}
			if _, err := d.Token(); err != nil {
				return nil, decodeFail(err)
			}
		default:
			var skip json.RawMessage
			if err := d.Decode(&skip); err != nil {
				return nil, decodeFail(err)
			}
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, decodeFail(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, invalid
	}
	if !haveFiles && links == nil {
		return nil, invalidInput(ctx, "files: required")
	}
	for i := range in.files {
		m, ok := modes[in.files[i].Path]
		if ok && m > 0o7777 {
			faults = append(faults, fmt.Sprintf("modes: %q: want permission bits", in.files[i].Path))
		}
		in.files[i].Mode = m
	}
	for name, target := range links {
		if target == "" || strings.ContainsRune(target, 0) {
			faults = append(faults, fmt.Sprintf("symlinks: %q: want a target", name))
		}
		in.files = append(in.files, sandbox.IngestFile{Path: name, Target: target})
		entries++
	}
	paths := make([]string, len(in.files))
	for i, f := range in.files {
		paths[i] = f.Path
	}
	if !validBase.MatchString(in.base) || slices.Contains(strings.Split(in.base, "/"), "..") {
		faults = append(faults, "basePath: must match "+validBase.String()+" without ..")
	}
	if bad := sandbox.InvalidIngestPaths(slices.Concat(paths, badBase64)); len(bad) > 0 {
		faults = append(faults, "invalid paths: "+strings.Join(bad, ", "))
	}
	if len(badBase64) > 0 {
		faults = append(faults, "invalid base64: "+strings.Join(badBase64, ", "))
	}
	if entries > maxIngestEntries {
		faults = append(faults, fmt.Sprintf("too many entries: %d (max %d)", entries, maxIngestEntries))
	}
	if bytes > maxIngestBytes {
		faults = append(faults, fmt.Sprintf("ingest exceeds byte limit (%d)", maxIngestBytes))
	}
	if faults != nil {
		for i, f := range faults {
			faults[i] = strings.ToValidUTF8(f, string(utf8.RuneError))
		}
		return nil, invalidInput(ctx, faults...)
	}
	return in, nil
}
