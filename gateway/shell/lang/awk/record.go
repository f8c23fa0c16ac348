package awk

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unsafe"
)

const blockSize = 64 << 10

// reader cuts a stream into records. The records are views of its blocks, and a block is never
// written again where a record may lie.
type reader struct {
	src      io.Reader
	close    func() int // nil: nothing to close
	buf      []byte     // the current block: buf[pos:end] is unread
	pos, end int
	held     int
	eof      bool
	err      error
}

// fill reads more input behind what is unread; false at the end.
func (r *reader) fill(in *interp) bool {
	if r.eof {
		return false
	}
	if r.end == len(r.buf) {
		size := blockSize
		if rest := r.end - r.pos + 1; rest*2 > size {
			size = rest * 2
		}
		in.p.Hold(size - r.held)
		r.held = size
		b := make([]byte, size)
		before := min(r.pos, 1) // one byte stays before what is unread: an anchor does not match behind it
		r.end = copy(b, r.buf[r.pos-before:r.end])
		r.buf, r.pos = b, before
	}
	for {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		in.p.Tick(1 + n>>10)
		if err != nil {
			r.eof = true
			if !errors.Is(err, io.EOF) {
				r.err = err
			}
		}
		if n > 0 {
			return true
		}
		if r.eof {
			return false
		}
	}
}

// release gives back what the reader holds; records that were read stay good.
func (r *reader) release(in *interp) {
	in.p.Release(r.held)
	r.held, r.buf, r.pos, r.end, r.eof = 0, nil, 0, 0, true
}

func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// record returns the next record and its terminator.
func (r *reader) record(in *interp) (rec, term string, ok bool) {
	switch in.rsKind {
	case rsPara:
		return r.paragraph(in)
	case rsRegex:
		return r.byRegex(in)
	}
	sep := in.rsByte
	scanned := 0
	for {
		if i := bytes.IndexByte(r.buf[r.pos+scanned:r.end], sep); i >= 0 {
			i += r.pos + scanned
			rec = view(r.buf[r.pos:i])
			r.pos = i + 1
			return rec, in.rsText, true
		}
		scanned = r.end - r.pos
		if !r.fill(in) {
			return r.rest()
		}
	}
}

// rest is the last record: what remains without a terminator.
func (r *reader) rest() (rec, term string, ok bool) {
	if r.pos == r.end {
		return "", "", false
	}
	rec = view(r.buf[r.pos:r.end])
	r.pos = r.end
	return rec, "", true
}

// paragraph is RS = "": records are separated by blank lines.
func (r *reader) paragraph(in *interp) (rec, term string, ok bool) {
	for {
		for r.pos < r.end && r.buf[r.pos] == '\n' {
			r.pos++
		}
		if r.pos < r.end {
			break
		}
		if !r.fill(in) {
			return "", "", false
		}
	}
	scanned := 0
	for {
		if i := bytes.Index(r.buf[r.pos+scanned:r.end], []byte("\n\n")); i >= 0 {
			i += scanned // relative to pos: filling moves pos
			j := i
			for {
				for r.pos+j < r.end && r.buf[r.pos+j] == '\n' {
					j++
				}
				if r.pos+j < r.end || !r.fill(in) {
					break
				}
			}
			rec = view(r.buf[r.pos : r.pos+i])
			term = view(r.buf[r.pos+i : r.pos+j])
			r.pos += j
			return rec, term, true
		}
		scanned = max(0, r.end-r.pos-1)
		if !r.fill(in) {
			break
		}
	}
	rec, _, ok = r.rest()
	if t := strings.TrimSuffix(rec, "\n"); t != rec {
		return t, "\n", true
	}
	return rec, "", ok
}

func (r *reader) byRegex(in *interp) (rec, term string, ok bool) {
	need := 0
	for {
		if s := view(r.buf[r.pos:r.end]); len(s) > need || r.eof {
			a, b := r.nonEmptyMatch(in.rsRegex)
			// A match that touches the end of the block may go on.
			if a >= 0 && (b < len(s) || r.eof) {
				rec, term = s[:a], s[a:b]
				r.pos += b
				return rec, term, true
			}
			need = len(s)
			if a < 0 {
				need = len(s) + len(s)/2 // do not search again for every little read
			}
		}
		if !r.fill(in) {
			if r.pos == r.end {
				return "", "", false
			}
			s := view(r.buf[r.pos:r.end])
			if a, b := r.nonEmptyMatch(in.rsRegex); a >= 0 {
				rec, term = s[:a], s[a:b]
				r.pos += b
				return rec, term, true
			}
			return r.rest()
		}
	}
}

// nonEmptyMatch is the first match in what is unread that is not empty.
func (r *reader) nonEmptyMatch(re *regex) (start, end int) {
	before := min(r.pos, 1)
	s := view(r.buf[r.pos-before : r.end])
	for from := before; ; {
		a, b := re.find(s, from)
		if a < 0 {
			return a, b
		}
		if b > a {
			return a - before, b - before
		}
		if from = a + 1; from > len(s) {
			return -1, -1
		}
	}
}
