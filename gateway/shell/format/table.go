package format

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"

	"github.com/pgbox/pgbox/gateway/shell/jq"
)

// table is comma- or tab-separated values: a header and an object for each line.
func table(comma rune) Codec {
	return Codec{
		Decode: func(text []byte, tick, hold func(int)) (any, error) {
			if err := size(text); err != nil {
				return nil, err
			}
			r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))
			r.Comma, r.FieldsPerRecord, r.LazyQuotes = comma, -1, true
			tick(1 + len(text)>>3)
			rows, err := r.ReadAll()
			if err != nil {
				return nil, err
			}
			list := []any{}
			for i, row := range rows {
				tick(len(row))
				hold(64 * (1 + len(row)))
				if i == 0 {
					continue
				}
				o := jq.NewObject()
				for j, cell := range row {
					if j < len(rows[0]) {
						o = o.Set(rows[0][j], cellValue(cell))
					}
				}
				list = append(list, o)
			}
			return jq.NewArray(list), nil
		},
		Encode: func(v any, _ int) ([]byte, error) {
			a, ok := v.(*jq.Array)
			if !ok {
				if s, ok := scalar(v); ok {
					return []byte(s + "\n"), nil
				}
				return nil, unfit("a table", v)
			}
			var b bytes.Buffer
			w := csv.NewWriter(&b)
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
	if f, err := strconv.ParseFloat(s, 64); err == nil && s[0] != '+' && (len(s) == 1 || s[0] != '0' || s[1] == '.') && s[len(s)-1] >= '0' && s[len(s)-1] <= '9' {
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
