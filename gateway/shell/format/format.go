package format

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/pgbox/pgbox/gateway/shell/jq"
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
	Encode func(v any, indent int) ([]byte, error)
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
