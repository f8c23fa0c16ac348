package httpapi

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/pgbox/pgbox/gateway/sandbox"
)

type importedBody struct {
	Entries int `json:"entries"`
}

func (s *server) archiveRoutes() {
	const base = sandboxesPath + "/{id}"
	archive := map[string]*huma.MediaType{"application/x-tar": {Schema: &huma.Schema{Type: huma.TypeString,
		Format: "binary"}}}
	path := &huma.Param{Name: "path", In: "query", Description: "the directory; names in the archive are relative to it",
		Schema: &huma.Schema{Type: huma.TypeString, Default: "/home/user"}}

	out := operation(http.MethodGet, base+"/export", "exportTar",
		"Read everything below a directory as a tar stream, with modes, times and links", "files", false)
	format := &huma.Param{Name: "format", In: "query", Description: "SQL is what the command `pgbox export` writes",
		Schema: &huma.Schema{Type: huma.TypeString, Enum: []any{"tar"}}}
	out.Parameters = []*huma.Param{path, format, at, stale}
	out.Responses = map[string]*huma.Response{"200": {Description: "The archive; a connection that ends early is a failure", Content: archive}}
	s.raw(out, s.exportTar)

	in := operation(http.MethodPost, base+"/import", "importTar",
		"Write what a tar archive holds below a directory, all or nothing", "files", false)
	in.Parameters = []*huma.Param{path, {Name: idempotencyHeader, In: "header",
		Schema: &huma.Schema{Type: huma.TypeString}}}
	in.RequestBody = &huma.RequestBody{Required: true, Content: archive}
	in.Responses = map[string]*huma.Response{"200": {Description: "Done",
		Content: map[string]*huma.MediaType{"application/json": {
			Schema: huma.SchemaFromType(s.api.OpenAPI().Components.Schemas, typeOfImported),
		}}}}
	s.raw(in, s.importTar)
}

// archivePath is the directory that an archive is of.
func archivePath(r *http.Request) (string, error) {
	p := r.URL.Query().Get("path")
	if p == "" {
		p = "/home/user"
	}
	if !strings.HasPrefix(p, "/") {
		return "", invalidInput(r.Context(), "path: must be absolute")
	}
	return p, nil
}

func (s *server) exportTar(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	id, err := sandbox.ParseID(r.PathValue("id"))
	if err != nil {
		return err
	}
	dir, err := archivePath(r)
	if err != nil {
		return err
	}
	if f := r.URL.Query().Get("format"); f != "" && f != "tar" {
		return invalidInput(ctx, "format: want tar; SQL is what the command pgbox export writes")
	}
	c, err := reader(r, "export")
	if err != nil {
		return err
	}
	buf, started := bufio.NewWriterSize(w, 256<<10), false
	err = s.Service.ExportTar(ctx, c, id, dir, buf, func() {
		started = true
		w.Header().Set("Content-Type", "application/x-tar")
		w.Header().Set("Content-Disposition", `attachment; filename="`+id.String()+`.tar"`)
	})
	if err == nil {
		err = buf.Flush()
	}
	if err != nil && started {
		panic(http.ErrAbortHandler) // the client must not take a part for the whole
	}
	return err
}

func (s *server) importTar(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	id, err := sandbox.ParseID(r.PathValue("id"))
	if err != nil {
		return err
	}
	dir, err := archivePath(r)
	if err != nil {
		return err
	}
	// Not while the sandbox is locked: the client may be slow.
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxIngestBytes))
	if err != nil {
		return bodyError(ctx, err)
	}
	c := caller(ctx, "import")
	if key := r.Header.Get(idempotencyHeader); key != "" {
		digest := sha256.New()
		_, _ = fmt.Fprintf(digest, "import %s %q ", id, dir)
		digest.Write(data)
		if c, err = withKey(ctx, c, key, [sha256.Size]byte(digest.Sum(nil))); err != nil {
			return err
		}
	}
	n, err := s.Service.ImportTar(ctx, c, id, dir, data)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, importedBody{n})
}
