package format

import (
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/pgbox/pgbox/gateway/shell/lang/jq"
)

// TestTOMLLikeTheLibrary holds the parser against another one: what that refuses is refused, and the values are the
// same.
func TestTOMLLikeTheLibrary(t *testing.T) {
	none := func(int) {}
	for _, text := range []string{
		"", "a = 1", "a=1 # c\nb = 'x'\r\n", "a = 1 b = 2", "= 1", "a = ", "a", "a = 1\na = 2", "a.b = 1\na.c = 2",
		"a = 1\na.b = 2",
		"[a]\nx=1\n[b]\ny=2", "[a]\n[a]", "[a.b]\n[a]", "[[a]]\nx=1\n[[a]]\nx=2\n[a.b]\ny=1", "[a]\n[[a]]",
		"[[a]]\n[a]", "a = [1]\n[[a]]", "a = {b.c=1, d=[1,{e=2}]}", "a = {b=1 c=2}", "a = [\n1,\n2, # x\n]",
		"a = [1 2]", "a = [,]", "a = []", "a = {}", "[ a . 'b c' . \"d\" ]\nx=1", "[a", "[[a]", "[]", "[a]x", "'' = 1",
		`"a\nb" = 1`, "a..b = 1", ".a = 1",
		"a = 0x1F\nb = 0o17\nc = 0b11\nd = 1_000\ne = -0\nf = +5", "a = 01", "a = 1__0", "a = _1", "a = 1_", "a = 0x",
		"a = -0x1", "a = 1.5\nb = -1e3\nc = 6.02E+23\nd = 1_0.5_0",
		"a = .5", "a = 5.", "a = 1.e3", "a = inf\nb = -inf\nc = +inf", "a = Inf", "a = 0e0", "a = 9223372036854775808",
		"a = true\nb = false", "a = True",
		"a = 1979-05-27T07:32:00Z\nb = 1979-05-27 07:32:00.5-07:00\nc = 1979-05-27T07:32:00\nd = 1979-05-27\ne = 07:32:00.25",
		"a = 1979-13-27", "a = 25:00:00",
		`a = "x\u00e9\U0001F600\t\\\""`, `a = "\z"`, `a = "\ud800"`, "a = \"x\ny\"", "a = \"\"\"\nx\n  y \\\n   z\"\"\"",
		`a = """a""b"""""`, "a = '''\n'x'''''", "a = '''x", `a = "x`,
		"a = 'x\ty'", "a = 'x\x01y'", "# x\x01", "a = \"\xff\"", "\ufeffa = 1", `a = [[1],["x"]]`,
		"a = 1\n\n\n[b]\n  c = 2\n[b.d]\ne = [ { f = 1 } ]", "a = 1979-05-27 # c", "a = 1 \r\nb = 2",
	} {
		var m map[string]any
		_, want := toml.Decode(text, &m)
		got, err := decodeTOML([]byte(text), none, none)
		if (err == nil) != (want == nil) {
			t.Errorf("%q: %v, the library says %v", text, err, want)
		}
		if err == nil && want == nil {
			if g, w := string(jq.Style{Sort: true}.Append(nil, got)),
				string(jq.Style{Sort: true}.Append(nil, plainValue(m))); g != w {
				t.Errorf("%q: %s, the library has %s", text, g, w)
			}
		}
	}
}

// TestTOMLDefinesOnce has what the specification refuses and the library takes.
func TestTOMLDefinesOnce(t *testing.T) {
	for _, text := range []string{"a.b = 1\na = 2", "[a]\nb.c=1\n[a.b]", "[a.b]\nx=1\n[a]\nb.y=1", "a = {b=1}\n[a.c]",
		"a = {b=1}\na.c=2"} {
		if v, err := decodeTOML([]byte(text), func(int) {}, func(int) {}); err == nil {
			t.Errorf("%q is %v", text, v)
		}
	}
}

func plainValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		o := jq.NewObject()
		for k, x := range v {
			o = o.Set(k, plainValue(x))
		}
		return o
	case []map[string]any:
		list := make([]any, len(v))
		for i, x := range v {
			list[i] = plainValue(x)
		}
		return jq.NewArray(list)
	case []any:
		list := make([]any, len(v))
		for i, x := range v {
			list[i] = plainValue(x)
		}
		return jq.NewArray(list)
	case int64:
		return float64(v)
	case time.Time:
		switch v.Location().String() {
		case "datetime-local":
			return v.Format("2006-01-02T15:04:05.999999999")
		case "date-local":
			return v.Format(time.DateOnly)
		case "time-local":
			return v.Format("15:04:05.999999999")
		}
		return v.Format(time.RFC3339Nano)
	}
	return v
}

// TestTOMLCountsItsWork doubles what took the library a square of it: the steps only double.
func TestTOMLCountsItsWork(t *testing.T) {
	steps := func(text string) (n int) {
		_, _ = decodeTOML([]byte(text), func(k int) { n += k }, func(int) {})
		return n
	}
	for name, text := range map[string]func(n int) string{
		"tables":    func(n int) string { return strings.Repeat("[[a.b.c.d.e.f.g.h]]\nx.y.z = 1\n", n) },
		"long keys": func(n int) string { return strings.Repeat("[["+strings.Repeat("a.", 200)+"a]]\n", n) },
		"arrays":    func(n int) string { return "a = [" + strings.Repeat("1,\n", n) + "]" },
	} {
		if one, two := steps(text(1000)), steps(text(2000)); two > one*5/2 || one < 1000 {
			t.Errorf("%s: %d steps, then %d", name, one, two)
		}
	}
	for _, text := range []string{"a" + strings.Repeat(".a", 10*maxParts) + " = 1",
		"a = " + strings.Repeat("[", 10*maxInline), "a = " + strings.Repeat("{a=", 10*maxInline)} {
		if _, err := decodeTOML([]byte(text), func(int) {}, func(int) {}); err == nil ||
			!strings.Contains(err.Error(), "deep") {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}
