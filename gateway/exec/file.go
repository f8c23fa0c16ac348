package exec

import (
	"context"
	"io"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// Info describes one file of a sandbox.
type Info struct {
	Path string // canonical, absolute
	proc.Stat
}

// File is an open regular file of one version of a sandbox; it does not change while it is open. It is
// made for http.ServeContent.
type File struct {
	Info
	ETag    string // changes exactly when the content does; without quotes
	Version int64  // the sandbox's version it was read at
	io.ReadSeekCloser
}

// WriteOptions refine WriteFile.
type WriteOptions struct {
	IfMatch string // the ETag the file must have, "*" for any existing file; otherwise PRECONDITION_FAILED
}

// EditResult is what an Edit did.
type EditResult struct {
	Path         string
	Replacements int
	Size         int64
}

// IngestFile is one file of an ingest; Path is relative to the base path.
type IngestFile struct {
	Path   string
	Data   []byte
	Mode   uint32 // permission bits; 0: 0644 for a new file, unchanged for an existing one
	Target string // not empty: a symlink to it, without Data and Mode
}

// InvalidIngestPaths returns those of paths that an ingest refuses: absolute ones and those with an empty, "." or ".." segment or
// a NUL.
func InvalidIngestPaths(paths []string) []string {
	return nil
}

// Stat describes a file, following symlinks.
func (s *Service) Stat(ctx context.Context, c Caller, id uuid.UUID, path string) (*Info, error) {
	return nil, errNotWired
}

// OpenFile opens a regular file for reading; EISDIR for a directory. The caller closes it.
func (s *Service) OpenFile(ctx context.Context, c Caller, id uuid.UUID, path string) (*File, error) {
	return nil, errNotWired
}

// WriteFile creates or replaces a file. Missing parents are made; an existing file keeps its mode.
func (s *Service) WriteFile(ctx context.Context, c Caller, id uuid.UUID, path string, data []byte, o WriteOptions) (*Info, error) {
	return nil, errNotWired
}

// Edit replaces oldText by newText in a text file: EDIT_NO_MATCH when it does not occur, EDIT_NOT_UNIQUE when it occurs more than once and all
// is not set, EDIT_BINARY when the file is not UTF-8 text. The file is untouched by an error.
func (s *Service) Edit(ctx context.Context, c Caller, id uuid.UUID, path, oldText, newText string, all bool) (*EditResult, error) {
	return nil, errNotWired
}

// Delete removes a file or an empty directory, with recursive a whole directory.
func (s *Service) Delete(ctx context.Context, c Caller, id uuid.UUID, path string, recursive bool) error {
	return errNotWired
}

// Mkdir makes a directory, with recursive its parents too (then an existing directory is no error).
func (s *Service) Mkdir(ctx context.Context, c Caller, id uuid.UUID, path string, recursive bool) error {
	return errNotWired
}

// WriteFiles writes several files by absolute path, all or none.
func (s *Service) WriteFiles(ctx context.Context, c Caller, id uuid.UUID, files map[string][]byte) error {
	return errNotWired
}

// Ingest writes files under a base directory, all or none, and returns how many. Two paths that name one
// file are EEXIST.
func (s *Service) Ingest(ctx context.Context, c Caller, id uuid.UUID, base string, files []IngestFile) (int, error) {
	return 0, errNotWired
}

// Walk calls visit for everything below prefix, parents first, in byte order of names, without prefix itself and without
// following symlinks; depth 1 is the direct children, 0 everything. It ends with the first error visit returns.
func (s *Service) Walk(ctx context.Context, c Caller, id uuid.UUID, prefix string, depth int, visit func(Info) error) error {
	return errNotWired
}
