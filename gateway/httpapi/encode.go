package httpapi

import (
	"bytes"
	"encoding/json"
	"io"
	"runtime"
	"unicode/utf8"
)

// longString is the length from which the output of a script is encoded in pieces: megabytes of it would take memory
// several times and hold up every other request meanwhile.
const longString = 64 << 10

// encode writes the body of an answer.
func encode(w io.Writer, v any) error {
	var stdout, stderr string
	empty := ""
	switch b := v.(type) {
	case *execResult:
		return encode(w, *b)
	case execResult:
		stdout, stderr = b.Stdout, b.Stderr
		if len(stdout)+len(stderr) >= longString {
			b.Stdout, b.Stderr = "", ""
			v = b
		}
	case *ErrorBody:
		if b.Stdout != nil && b.Stderr != nil {
			stdout, stderr = *b.Stdout, *b.Stderr
			if len(stdout)+len(stderr) >= longString {
				rest := *b
				rest.Stdout, rest.Stderr = &empty, &empty
				v = rest
			}
		}
	}
	if len(stdout)+len(stderr) < longString {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	}
	frame, err := json.Marshal(v)
	if err != nil {
		return err
	}
	// Nothing inside a JSON string looks like this.
	head, tail, _ := bytes.Cut(frame, []byte(`"stdout":"","stderr":""`))
	p := &pieces{w: w}
	p.raw(string(head) + `"stdout":"`)
	p.text(stdout)
	p.raw(`","stderr":"`)
	p.text(stderr)
	p.raw(`"` + string(tail) + "\n")
	return p.err
}

// pieces writes JSON piece by piece.
type pieces struct {
	w   io.Writer
	buf bytes.Buffer
	err error
}

func (p *pieces) raw(s string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, s)
	}
}

// text writes the inside of a JSON string.
func (p *pieces) text(s string) {
	for len(s) > 0 && p.err == nil {
		n := min(len(s), longString)
		for k := 0; n < len(s) && k < utf8.UTFMax-1 && !utf8.RuneStart(s[n]); k++ {
			n--
		}
		p.buf.Reset()
		enc := json.NewEncoder(&p.buf)
		enc.SetEscapeHTML(false)
		if p.err = enc.Encode(s[:n]); p.err != nil {
			return
		}
		b := p.buf.Bytes()
		_, p.err = p.w.Write(b[1 : len(b)-2])
		s = s[n:]
		runtime.Gosched()
	}
}
