package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/pgbox/pgbox/gateway/shell/lang/jq"
)

// Bounds of what is read.
const (
	maxSize  = 8 << 20
	maxDepth = 1000
)

// Errors of what cannot be read.
var (
	ErrTooLarge = errors.New("document too large")
	ErrTooDeep  = errors.New("document nested too deeply")
)

// Codec reads and writes one format. tick counts steps and hold memory; both may panic to end the work.
type Codec struct {
	Decode func(text []byte, tick, hold func(int)) (any, error)
	Encode func(v any, indent int, tick, hold func(int)) ([]byte, error)
}

// Named returns the format of a name of yq's options, also in short.
func Named(name string) (Codec, bool) {
	switch name {
	case "toml":
		return Codec{decodeTOML, encodeTOML}, true
	case "xml", "x":
		return Codec{decodeXML, encodeXML}, true
	case "csv", "c":
		return table(','), true
	case "tsv", "t":
		return table('\t'), true
	case "props", "p", "properties":
		return Codec{decodeProps, encodeProps}, true
	}
	return Codec{}, false
}

// buffer is text that is counted as it grows.
type buffer struct {
	bytes.Buffer
	tick, hold func(int)
}

func (b *buffer) count(n int) {
	b.tick(1 + n>>6)
	b.hold(2 * n)
}

// Write appends bytes.
func (b *buffer) Write(s []byte) (int, error) {
	b.count(len(s))
	return b.Buffer.Write(s)
}

// WriteString appends a text.
func (b *buffer) WriteString(s string) {
	b.count(len(s))
	b.Buffer.WriteString(s)
}

// JSONSize is at least as many bytes as a value takes as JSON.
func JSONSize(v any, indent int, tick func(int)) int { return jsonSize(v, indent, 1, tick) }

func jsonSize(v any, indent, depth int, tick func(int)) int {
	size := 32 + indent*depth
	tick(1 + size>>6)
	switch v := v.(type) {
	case string:
		tick(len(v) >> 6)
		return size + 6*len(v)
	case *jq.Array:
		for _, x := range v.Values() {
			size += jsonSize(x, indent, depth+1, tick)
		}
	case *jq.Object:
		for k, x := range v.All() {
			size += 6*len(k) + jsonSize(x, indent, depth+1, tick)
		}
	}
	return size
}

// put sets a key of an object that may be large, and may have it.
func put(o *jq.Object, k string, v any, tick func(int)) *jq.Object {
	if _, has := o.Get(k); has {
		tick(o.Len() >> 4)
	}
	return o.Set(k, v)
}

// reader counts what is read from it: that is how a parser of others is ended.
type reader struct {
	bytes.Reader
	tick func(int)
}

func counted(text []byte, tick func(int)) io.Reader {
	r := &reader{tick: tick}
	r.Reset(text)
	return r
}

// Read gives out as much as a parser reads in well under a millisecond.
func (r *reader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b[:min(len(b), 4096)])
	r.tick(1 + n>>3)
	return n, err
}

// scalar is a value that is no container as text.
func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "", true
	case bool:
		return strconv.FormatBool(v), true
	case string:
		return v, true
	case *jq.Object, *jq.Array:
		return "", false
	}
	return string(jq.Style{}.Append(nil, v)), true
}

func size(text []byte) error {
	if len(text) > maxSize {
		return ErrTooLarge
	}
	return nil
}

func unfit(format string, v any) error {
	what := "a scalar"
	switch v.(type) {
	case *jq.Object:
		what = "a map"
	case *jq.Array:
		what = "an array"
	}
	return fmt.Errorf("%s cannot be written as %s", what, format)
}
