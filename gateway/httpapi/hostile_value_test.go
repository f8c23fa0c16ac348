package httpapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// What no route expects, in a query or a path, and as JSON.
var (
	hostileTexts = []string{
		"", " ", "-1", "0", "1e9", "9223372036854775808", "-9223372036854775809", "NaN", "infinity", "\x00", "a\x00b",
		"\xff\xfe", "\ud7ff\uffff", "'", `"`, `\`, "%", "..", "../../etc", "[", "[!", "{a,b", "***", "(",
		"$1", ";SELECT 1", "0001-01-01T00:00:00Z", "9999999-12-31T00:00:00Z", "2026-13-45", "@99999999999999999999", "@-1",
		"@base", "00000000-0000-0000-0000-000000000000",
		strings.Repeat("n", 300), strings.Repeat("/a", 3000), "null", "true", "{}", "\u202e", "1.5.7",
		"99999999999.99999999999", "99999999999999_00000000-0000-0000-0000-000000000000",
		"0000-01-01T00:00:00Z_00000000-0000-0000-0000-000000000000",
	}
	hostileJSON = []string{
		`null`, `true`, `-1`, `0`, `1.5`, `1e400`, `9223372036854775807`, `-9223372036854775808`, `""`, `"\u0000"`,
		`"a\u0000b"`, `"\ud800"`, `"\udfff\ud800"`, `[]`, `{}`, `[null]`, `{"":""}`, `{"a":null}`,
		`{"\u0000":"\u0000"}`, `{"\ud800":"\ud800"}`, `{"/a\u0000":"x"}`, `"@-1"`, `"@99999999999999999999"`,
		`"9999999-01-01"`, `"../.."`, `"/` + strings.Repeat("a/", 3000) + `"`,
		`"` + strings.Repeat("é", 255) + `"`, `"` + strings.Repeat("n", 256) + `"`,
		`{"maxBytes":9223372036854775807,"maxInodes":0}`, `{"commits":1000000,"seconds":1000000000,"keep":10000}`,
	}
)

// No value of any parameter or field of any route is a fault of the server.
func FuzzEveryRoute(f *testing.F) {
	g := newTarget(f)
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
			Body       struct {
				Content map[string]struct{ Schema map[string]any }
			} `json:"requestBody"`
		}
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	server := g.Handler.(*server)
	if err := json.Unmarshal(server.document, &doc); err != nil {
		f.Fatal(err)
	}
	type field struct{ method, path, in, name string }
	var fields []field
	for path, methods := range doc.Paths {
		if !strings.HasPrefix(path, "/v1/sandboxes") && !strings.HasPrefix(path, "/v1/images") && path != quotaPath {
			continue
		}
		for method, op := range methods {
			for _, p := range op.Parameters {
				fields = append(fields, field{strings.ToUpper(method), path, p.In, p.Name})
			}
			for name := range doc.Components.Schemas[bodyOf(op.Body.Content["application/json"].Schema)].Properties {
				fields = append(fields, field{strings.ToUpper(method), path, "body", name})
			}
		}
	}
	if len(fields) < 100 {
		f.Fatalf("%d fields: the document is not read", len(fields))
	}
	slices.SortFunc(fields, func(a, b field) int {
		return strings.Compare(a.path+a.method+a.in+a.name, b.path+b.method+b.in+b.name)
	})
	for i := range fields {
		values := hostileTexts
		if fields[i].in == "body" {
			values = hostileJSON
		}
		for _, v := range values {
			f.Add(uint16(i), v)
		}
	}
	// Fields that a body has to have for the others to be looked at.
	needed := map[string]string{"script": `"true"`, "scripts": `[{"id":"1","script":"true"}]`, "files": `{}`,
		"path": `"/tmp/x"`, "oldString": `"a"`, "newString": `"b"`, "value": `1`, "from": `"` + g.id + `"`,
		"sandbox": `"` + g.id + `"`, "image": `"fuzz"`, "as": `"fuzz:2"`, "at": `"@base"`}
	f.Fuzz(func(t *testing.T, i uint16, value string) {
		c := fields[int(i)%len(fields)]
		switch {
		case strings.HasSuffix(c.path, "/events") || c.in == "header" ||
			c.method == http.MethodDelete && c.path == sandboxesPath+"/{id}":
			return // does not end; is not of the body; would take the sandbox away
		case c.in == "body" && !json.Valid([]byte(value)):
			return
		}
		fill := map[string]string{"{id}": g.id, "{path}": "home/user/f", "{key}": "k", "{snapshot}": "none"}
		if c.in == "path" {
			fill["{"+c.name+"}"] = url.PathEscape(value)
		}
		path := c.path
		for name, v := range fill {
			path = strings.ReplaceAll(path, name, v)
		}
		if c.in == "query" {
			path += "?" + c.name + "=" + url.QueryEscape(value)
		}
		body := ""
		if c.in == "body" {
			all := map[string]json.RawMessage{c.name: json.RawMessage(value)}
			for name := range doc.Components.Schemas[bodyOf(doc.Paths[c.path][strings.ToLower(c.method)].Body.Content["application/json"].Schema)].Properties {
				if v, ok := needed[name]; ok && name != c.name {
					all[name] = json.RawMessage(v)
				}
			}
			b, err := json.Marshal(all)
			if err != nil {
				return
			}
			body = string(b)
		}
		began := time.Now()
		g.send(t, c.method, path, body, "Bearer "+g.token)
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s %s %s: %v", c.method, path, body, took)
		}
	})
}

// bodyOf is the name of the schema that a description refers to.
func bodyOf(schema map[string]any) string {
	ref, _ := schema["$ref"].(string)
	return ref[strings.LastIndexByte(ref, '/')+1:]
}
