package data

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/lang/jq"
	"github.com/pgbox/pgbox/gateway/shell/lang/xan"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// xanTo prints the table in another format; cells that are numbers become numbers.
func xanTo(x *xanRun) error {
	format := x.words[0]
	if format != "json" && format != "jsonl" && format != "ndjson" {
		return fmt.Errorf("unknown format %q: json and jsonl are known", format)
	}
	style := jq.Style{}
	first := true
	if format == "json" {
		style.Indent = "  "
		x.out.WriteString("[")
	}
	err := x.each(nil, func(row []string) error {
		o := jq.NewObject()
		for i, h := range x.headers {
			c := cellAt(row, i)
			var v any = c
			if f, ok := xan.Number(c); ok && xan.FormatNumber(f) == c {
				v = f
			} else if c == "" {
				v = nil
			}
			o = o.Set(h, v)
		}
		text := style.Append(nil, o)
		if format != "json" {
			x.out.Write(append(text, '\n'))
			return nil
		}
		if !first {
			x.out.WriteString(",")
		}
		first = false
		x.out.WriteString("\n  " + strings.ReplaceAll(string(text), "\n", "\n  "))
		return nil
	})
	if format == "json" {
		if !first {
			x.out.WriteByte('\n')
		}
		x.out.WriteString("]\n")
	}
	return err
}

// xanFrom makes a table of JSON: an array of objects, or objects one after the other. The columns are all keys in order
// of appearance.
func xanFrom(x *xanRun) error {
	switch f := x.opts["f"]; f {
	case "", "json", "jsonl", "ndjson":
	default:
		return fmt.Errorf("unknown format %q: json and jsonl are known", f)
	}
	name := "-"
	if len(x.files) > 0 {
		name = x.files[0]
	}
	f, err := x.p.OpenInput(name)
	if err != nil {
		return fmt.Errorf("%s: %s", name, proc.Strerror(err))
	}
	defer f.Close()
	d := jq.NewDecoder(f, x.p.Tick, x.hold)
	var objects []*jq.Object
	var names []string
	known := map[string]bool{}
	add := func(v any) error {
		o, ok := v.(*jq.Object)
		if !ok {
			return errors.New("objects are expected")
		}
		objects = append(objects, o)
		for k := range o.All() {
			if !known[k] {
				known[k] = true
				names = append(names, k)
			}
		}
		return nil
	}
	for {
		v, err := d.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if list, ok := v.(*jq.Array); ok {
			for _, e := range list.Values() {
				if err := add(e); err != nil {
					return err
				}
			}
			continue
		}
		if err := add(v); err != nil {
			return err
		}
	}
	x.head(names)
	for _, o := range objects {
		x.p.Tick(1)
		row := make([]string, len(names))
		for i, n := range names {
			switch v, _ := o.Get(n); v := v.(type) {
			case nil:
			case string:
				row[i] = v
			default:
				row[i] = string(jq.Style{}.Append(nil, v))
			}
		}
		x.write(row)
	}
	return nil
}
