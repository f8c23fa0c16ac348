package archive

import (
	stdtar "archive/tar"
	"bufio"
	"errors"
	"io"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/text/archive"
)

// tarInput reads the members of an archive one after the other. Between two members it looks at the blocks itself: a
// reader of the standard library stops at the end mark and at the first header that is damaged, where -i and GNU's
// recovery go on.
type tarInput struct {
	t      *tarRun
	format archive.Format
	raw    io.Reader // decompressed
	failed error     // of the decompression
	br     *bufio.Reader
	n      int64 // bytes of the archive read
	r      *stdtar.Reader
	plain  bool // the current member has holes: only its reader knows how much of it is stored
	marks  int64
}

func newTarInput(t *tarRun, format archive.Format, raw io.Reader) *tarInput {
	in := &tarInput{t: t, format: format, raw: raw}
	in.br = bufio.NewReaderSize(fillReader{in}, 64<<10)
	return in
}

// fillReader notes what went wrong below.
type fillReader struct{ in *tarInput }

func (f fillReader) Read(b []byte) (int, error) {
	n, err := f.in.raw.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		f.in.failed = err
	}
	return n, err
}

// blockReader counts what the standard library's reader takes.
type blockReader struct{ in *tarInput }

func (b blockReader) Read(p []byte) (int, error) {
	n, err := b.in.br.Read(p)
	b.in.n += int64(n)
	return n, err
}

// Read returns the content of the current member.
func (in *tarInput) Read(b []byte) (int, error) { return in.r.Read(b) }

func (in *tarInput) skip(n int64) error {
	m, err := io.CopyN(io.Discard, in.br, n)
	in.n += m
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// Next goes to the next member; io.EOF is the end of the archive.
func (in *tarInput) Next() (*stdtar.Header, error) {
	switch {
	case in.r == nil:
	case in.plain:
		return in.header(in.r)
	default:
		if _, err := in.t.copy(io.Discard, in.r); err != nil {
			return nil, err
		}
		if rest := in.n % tarBlock; rest != 0 {
			if err := in.skip(tarBlock - rest); err != nil {
				return nil, err
			}
		}
	}
	for zero := 0; ; {
		in.t.p.Tick(1)
		head, err := in.br.Peek(tarBlock)
		switch {
		case len(head) == 0 && errors.Is(err, io.EOF):
			return nil, io.EOF
		case err != nil && len(head) < tarBlock:
			return nil, io.ErrUnexpectedEOF
		}
		if allZero(head) {
			if zero++; zero == 2 && !in.t.ignoreZeros {
				return nil, io.EOF
			}
			if err := in.skip(tarBlock); err != nil {
				return nil, err
			}
			continue
		}
		if zero == 1 && !in.t.ignoreZeros {
			in.t.say("A lone zero block at %d", in.n/tarBlock)
			return nil, io.EOF
		}
		return in.header(stdtar.NewReader(blockReader{in}))
	}
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

func (in *tarInput) header(r *stdtar.Reader) (*stdtar.Header, error) {
	h, err := r.Next()
	if err != nil {
		in.r, in.plain = nil, false
		return nil, err
	}
	in.r, in.plain = r, h.Typeflag == stdtar.TypeGNUSparse
	for k := range h.PAXRecords {
		in.plain = in.plain || strings.HasPrefix(k, "GNU.sparse.")
	}
	in.marks = in.t.checkpoints("Read", in.marks, in.n+in.t.record-1)
	return h, nil
}

// bzip2Broken is how bzip2 says that its input is cut off.
const bzip2Broken = "\nbzip2: Compressed file ends unexpectedly;\n\tperhaps it is corrupted?  *Possible* reason follows.\n" +
	"bzip2: Inappropriate ioctl for device\n\tInput file = (stdin), output file = (stdout)\n\n" +
	"It is possible that the compressed file(s) have become corrupted.\nYou can use the -tvv option to test integrity of such files.\n" + bzip2Hint

// filterFailed says what the program that decompresses says of a foreign, an empty or a cut off stream, and returns its
// status.
func filterFailed(p *proc.Process, f archive.Format, empty, cut bool) int {
	p.Out.Flush()
	status, text := 1, ""
	switch {
	case f == archive.Gzip && (empty || cut):
		text = "\ngzip: stdin: unexpected end of file\n"
	case f == archive.Gzip:
		text = "\ngzip: stdin: not in gzip format\n"
	case f == archive.Bzip2 && (empty || cut):
		status, text = 2, bzip2Broken
	case f == archive.Bzip2:
		status, text = 2, "bzip2: (stdin) is not a bzip2 file.\n"
	case f == archive.Zstd && cut:
		text = "/*stdin*\\ : Read error (39) : premature end \n"
	case f == archive.Zstd && empty:
		text = "zstd: /*stdin*\\: unexpected end of file \n"
	case f == archive.Zstd:
		text = "zstd: /*stdin*\\: unsupported format \n"
	case cut:
		text = "xz: (stdin): Unexpected end of input\n"
	default:
		text = "xz: (stdin): File format not recognized\n"
	}
	p.Err.WriteString(text)
	return status
}

// noFile ends the run because the archive cannot be opened; a compressed one is opened by a child.
func (t *tarRun) noFile(packed bool, err error) {
	if !packed {
		t.fatal("%s: Cannot open: %s", t.file, proc.Strerror(err))
	}
	t.p.Out.Flush()
	t.p.Err.WriteString("tar (child): " + t.file + ": Cannot open: " + proc.Strerror(err) +
		"\ntar (child): Error is not recoverable: exiting now\n")
	t.fatal("Child returned status 2")
}
