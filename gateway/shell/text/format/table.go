package format

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/pgbox/pgbox/gateway/shell/lang/jq"
)

// table is comma- or tab-separated values: a header and an object for each line.
func table(comma rune) Codec {
	return Codec{
		Decode: func(text []byte, tick, hold func(int)) (any, error) {
			if err := size(text); err != nil {
				return nil, err
			}
			// A row is read at once, and so may be the text.
			hold(24 * bytes.Count(text, []byte(string(comma))))
			r := csv.NewReader(counted(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), tick))
			r.Comma, r.FieldsPerRecord, r.LazyQuotes = comma, -1, true
			header, err := r.Read()
			list := []any{}
			for err == nil {
				var row []string
				if row, err = r.Read(); err != nil {
					break
				}
				hold(64)
				o := jq.NewObject()
				for j, cell := range row[:min(len(row), len(header))] {
					tick(1)
					hold(160)
					o = put(o, header[j], cellValue(cell), tick)
				}
				list = append(list, o)
			}
			if !errors.Is(err, io.EOF) {
				return nil, err
			}
			return jq.NewArray(list), nil
		},
		Encode: func(v any, _ int, tick, hold func(int)) ([]byte, error) {
			a, ok := v.(*jq.Array)
			if !ok {
				if s, ok := scalar(v); ok {
					return []byte(s + "\n"), nil
				}
				return nil, unfit("a table", v)
			}
			b := &buffer{tick: tick, hold: hold}
			w := csv.NewWriter(b)
			w.Comma = comma
			if err := writeRows(w, a.Values()); err != nil {
				return nil, err
			}
			w.Flush()
			return b.Bytes(), w.Error()
		},
	}
}

// cellValue is what a cell looks like.
func cellValue(s string) any {
	switch s {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && s[0] != '+' && (len(s) == 1 || s[0] != '0' || s[1] == '.') &&
		s[len(s)-1] >= '0' && s[len(s)-1] <= '9' {
		return f
	}
	return s
}

func writeRows(w *csv.Writer, rows []any) error {
	if len(rows) == 0 {
		return nil
	}
	switch first := rows[0].(type) {
	case *jq.Object:
		var header []string
		for k := range first.All() {
			header = append(header, k)
		}
		if err := w.Write(header); err != nil {
			return err
		}
		for i, x := range rows {
			o, ok := x.(*jq.Object)
			if !ok {
				return fmt.Errorf("row %d: %w", i, unfit("a row of a table of maps", x))
			}
			cells := make([]any, len(header))
			for j, k := range header {
				cells[j], _ = o.Get(k)
			}
			if err := writeRow(w, cells); err != nil {
				return err
			}
		}
		return nil
	case *jq.Array:
		for i, x := range rows {
			a, ok := x.(*jq.Array)
			if !ok {
				return fmt.Errorf("row %d: %w", i, unfit("a row of a table of arrays", x))
			}
			if err := writeRow(w, a.Values()); err != nil {
				return err
			}
		}
		return nil
	}
	return writeRow(w, rows)
}

func writeRow(w *csv.Writer, cells []any) error {
	row := make([]string, len(cells))
	for i, c := range cells {
		s, ok := scalar(c)
		if !ok {
			return unfit("a cell", c)
		}
		row[i] = s
	}
	return w.Write(row)
}
