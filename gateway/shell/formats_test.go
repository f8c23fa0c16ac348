// Times are measured here, and the race detector changes them.

//go:build !race

package shell_test

import (
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// hostileTexts is input that costs much more than its size, for a number of repetitions.
var hostileTexts = map[string]func(n int) string{
	"toml dotted key":      func(n int) string { return "a" + strings.Repeat(".a", n) + " = 1\n" },
	"toml dotted keys":     func(n int) string { return strings.Repeat("a.a.a.a.a.a.a.a.b = 1\n", n/8) },
	"toml dotted inline":   func(n int) string { return "x = {" + strings.Repeat("a.", n) + "a = 1}\n" },
	"toml table":           func(n int) string { return "[a" + strings.Repeat(".a", n) + "]\n" },
	"toml tables":          func(n int) string { return numbered("[t#.a.b.c.d]\nx = 1\n", n/8) },
	"toml array of tables": func(n int) string { return strings.Repeat("[[a]]\nx = 1\n", n/4) },
	"toml deep tables":     func(n int) string { return strings.Repeat("[[a"+strings.Repeat(".a", 100)+"]]\n", n/200) },
	"toml arrays":          func(n int) string { return "a = " + strings.Repeat("[", n) },
	"toml tables inline":   func(n int) string { return "a = " + strings.Repeat("{a=", n) },
	"toml keys":            func(n int) string { return numbered("k# = 1\n", n/4) },
	"toml string":          func(n int) string { return `a = "` + strings.Repeat(`\u0041`, n) + "\"\n" },
	"toml text":            func(n int) string { return `a = """` + strings.Repeat("\\\n \n", n) + "\"\"\"\n" },
	"toml array":           func(n int) string { return "a = [" + strings.Repeat("1,", n) + "]\n" },
	"toml array lines":     func(n int) string { return "a = [\n" + strings.Repeat("1,\n#x\n", n) + "]\n" },
	"toml number":          func(n int) string { return "a = " + strings.Repeat("1_", n) + "1\n" },
	"csv commas":           func(n int) string { return strings.Repeat(",", n) + "\n" + strings.Repeat(",", n) + "\n" },
	"csv empty rows":       func(n int) string { return "a\n" + strings.Repeat(",\n", n) },
	"csv wide rows":        func(n int) string { return strings.Repeat(strings.Repeat(",", 1000)+"\n", n/500) },
	"csv columns":          func(n int) string { return numbered("c#,", n/4) + "\n" + numbered("#,", n/4) + "\n" },
	"csv quotes":           func(n int) string { return "a,b\n\"" + strings.Repeat(`""`, n) },
	"csv open quote":       func(n int) string { return "a,b\n" + strings.Repeat("\"x\n", n) },
	"csv lazy quotes":      func(n int) string { return "a,b\n" + strings.Repeat("a\"b\"c,", n) },
	"xml depth":            func(n int) string { return strings.Repeat("<a>", n) },
	"xml closed depth":     func(n int) string { return strings.Repeat("<a>", n) + strings.Repeat("</a>", n) },
	"xml attributes":       func(n int) string { return "<a " + numbered(`a#="" `, n/4) + "/>" },
	"xml same attribute":   func(n int) string { return "<a " + strings.Repeat(`a="" `, n) + "/>" },
	"xml namespaces":       func(n int) string { return numbered(`<a xmlns:n#="u">`, n/8) },
	"xml children":         func(n int) string { return "<r>" + strings.Repeat("<a/>", n) + "</r>" },
	"xml names":            func(n int) string { return "<r>" + numbered("<a#/>", n/4) + "</r>" },
	"xml entities":         func(n int) string { return "<a>" + strings.Repeat("&amp;", n) + "</a>" },
	"xml laughs":           func(int) string { return laughs },
	"xml comments":         func(n int) string { return "<a>" + strings.Repeat("<!---->", n) + "</a>" },
	"xml text pieces":      func(n int) string { return "<a>" + strings.Repeat("x<b/>", n) + "</a>" },
	"xml directive":        func(n int) string { return "<!DOCTYPE a [" + strings.Repeat("<", n) },
	"html attributes":      func(n int) string { return "<p " + numbered("a# ", n/4) + ">x</p>" },
	"html depth":           func(n int) string { return strings.Repeat("<div>", n) + "x" },
	"html lists":           func(n int) string { return strings.Repeat("<ul><li>", n/2) + "x" },
	"html quotes":          func(n int) string { return strings.Repeat("<blockquote>", n/2) + "x" },
	"html bold":            func(n int) string { return strings.Repeat("<b>", n) + "x" },
	"html misnested":       func(n int) string { return strings.Repeat("<b><p>", n/2) + "x" },
	"html links":           func(n int) string { return strings.Repeat("<a href=x>", n/2) + "x" },
	"html table":           func(n int) string { return "<table>" + strings.Repeat("<tr><td>x", n/2) + "</table>" },
	"html tables":          func(n int) string { return strings.Repeat("<table><tr><td>", n/4) },
	"html colspan": func(n int) string {
		return "<table>" + strings.Repeat("<tr><td colspan=1000 rowspan=1000>x", n/8)
	},
	"html entities":      func(n int) string { return strings.Repeat("&notanentity", n/4) },
	"html brackets":      func(n int) string { return strings.Repeat("<", n) },
	"html spaces":        func(n int) string { return "<pre>" + strings.Repeat(" \n", n) },
	"html line breaks":   func(n int) string { return strings.Repeat("<br>", n) },
	"yaml flow":          func(n int) string { return strings.Repeat("[", n) },
	"yaml closed flow":   func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) },
	"yaml flow maps":     func(n int) string { return strings.Repeat("{a: ", n) },
	"yaml sequences":     func(n int) string { return strings.Repeat("- ", n) + "a" },
	"yaml keys":          func(n int) string { return strings.Repeat("? ", n) + "a" },
	"yaml key and value": func(n int) string { return strings.Repeat("? - ", n/2) + "a" },
	"yaml indentation":   func(n int) string { return indented(min(n, 3000)) },
	"yaml laughs":        func(int) string { return yamlLaughs },
	"yaml merges": func(n int) string {
		return "a: &a {x: 1}\n" + numbered("b#: {<<: [*a, *a, *a, *a]}\n", n/16)
	},
	"yaml merge chain":     func(n int) string { return "k0: &k0 {x: 1}\n" + chained("k#: &k# {<<: [*k@, *k@]}\n", n/32) },
	"yaml alias chain":     func(n int) string { return "k0: &k0 [1]\n" + chained("k#: &k# [*k@, *k@]\n", n/32) },
	"yaml anchors":         func(n int) string { return numbered("- &a# x\n", n/4) },
	"yaml aliases":         func(n int) string { return "- &a x\n" + strings.Repeat("- *a\n", n) },
	"yaml documents":       func(n int) string { return strings.Repeat("---\n", n) },
	"yaml comments":        func(n int) string { return strings.Repeat("# c\n", n) + "a: 1\n" },
	"yaml comments within": func(n int) string { return "a:\n" + strings.Repeat("  # c\n", n) + "  b: 1\n" },
	"yaml same keys":       func(n int) string { return strings.Repeat("a: 1\n", n) },
	"yaml map":             func(n int) string { return numbered("k#: 1\n", n/4) },
	"yaml flow map":        func(n int) string { return "{" + numbered("k#: 1, ", n/4) + "}" },
	"yaml list":            func(n int) string { return strings.Repeat("- 1\n", n) },
	"yaml literal":         func(n int) string { return "a: |\n" + strings.Repeat("  x\n", n) },
	"yaml folded":          func(n int) string { return "a: >\n" + strings.Repeat("  x\n\n", n) },
	"yaml plain lines":     func(n int) string { return "a: x\n" + strings.Repeat("  x\n", n) },
	"yaml double quotes":   func(n int) string { return `a: "` + strings.Repeat("\\x41\n ", n) + `"` },
	"yaml single quotes":   func(n int) string { return "a: '" + strings.Repeat("''\n ", n) + "'" },
	"yaml colons":          func(n int) string { return strings.Repeat("a: ", n) },
	"yaml questions":       func(n int) string { return strings.Repeat("?", n) },
	"yaml tags":            func(n int) string { return numbered("- !t# x\n", n/4) },
	"yaml long tag":        func(n int) string { return "!" + strings.Repeat("t", n) + " x\n" },
	"yaml directives":      func(n int) string { return numbered("%TAG !t#! tag:x\n", n/8) + "---\na" },
	"yaml blank lines":     func(n int) string { return "a: 1" + strings.Repeat("\n", n) + "b: 2\n" },
	"yaml tabs":            func(n int) string { return "a:" + strings.Repeat(" \t", n) + "b\n" },
	"yaml long key":        func(n int) string { return strings.Repeat("k", n) + ": 1\n" },
	"props depth":          func(n int) string { return strings.Repeat("a.", n) + "a = 1\n" },
	"props depths":         func(n int) string { return numbered(strings.Repeat("a.", 500)+"k# = 1\n", n/500) },
	"props keys":           func(n int) string { return numbered("k# = 1\n", n/4) },
	"props numbers":        func(n int) string { return numbered("k.# = 1\n", n/4) },
	"props lines":          func(n int) string { return "a = 1" + strings.Repeat("\\\n1", n) },
	"json arrays":          func(n int) string { return strings.Repeat("[", n) },
	"json closed arrays":   func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) },
	"json objects":         func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) },
	"json keys":            func(n int) string { return `{` + numbered(`"k#":1,`, n/4) + `"x":1}` },
	"json same keys":       func(n int) string { return `{` + strings.Repeat(`"k":1,`, n/4) + `"x":1}` },
	"json list":            func(n int) string { return "[" + strings.Repeat("1,", n) + "1]" },
	"json string":          func(n int) string { return `"` + strings.Repeat(`\u00e9`, n) + `"` },
	"json number":          func(n int) string { return strings.Repeat("1", n) },
	"json values":          func(n int) string { return strings.Repeat("1 ", n) },
}

// numbered repeats a text with a number in the place of #.
func numbered(text string, n int) string {
	var b strings.Builder
	before, after, _ := strings.Cut(text, "#")
	for i := range n {
		b.WriteString(before)
		b.WriteString(strconv.Itoa(i))
		b.WriteString(after)
	}
	return b.String()
}

// chained is numbered with the number before in the place of @.
func chained(text string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.NewReplacer("#", strconv.Itoa(i+1), "@", strconv.Itoa(i)).Replace(text))
	}
	return b.String()
}

func indented(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

const laughs = `<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">
<!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;"><!ENTITY e "&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;"><!ENTITY f "&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;">
<!ENTITY g "&f;&f;&f;&f;&f;&f;&f;&f;&f;&f;"><!ENTITY h "&g;&g;&g;&g;&g;&g;&g;&g;&g;&g;">]><l>&h;&h;</l>`

const yamlLaughs = "a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\n" +
	"d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e]\n" +
	"g: &g [*f, *f, *f, *f, *f, *f, *f, *f, *f]\nh: [*g, *g, *g, *g, *g, *g, *g, *g, *g]\n"

// readers are the commands for the inputs whose names begin with a word.
var readers = map[string][]string{
	"toml":  {"yq -p toml -o json ."},
	"csv":   {"yq -p csv -o json .", "csvlook", "xan stats"},
	"xml":   {"yq -p xml -o xml .", "xmllint --format -"},
	"html":  {"html-to-markdown"},
	"yaml":  {"yq -o json .", "yq -o props .", "yq 'explode(.)'"},
	"props": {"yq -p props -o json ."},
	"json":  {"yq -p json -o yaml .", "gron", "json_pp"},
}

// processorTime is what this process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestHostileFormatsStopInTime gives readers of formats what takes them longest, on a stack that deep recursion would
// overflow: they have ended soon after the exec's time. Processor time is measured, because the clock depends on what
// else the machine does.
func TestHostileFormatsStopInTime(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(64 << 20))
	for name, text := range hostileTexts {
		kind, _, _ := strings.Cut(name, " ")
		for _, command := range readers[kind] {
			t.Run(name+"/"+command, func(t *testing.T) {
				input := text(40_000)
				before := processorTime(t)
				o := runInput(t, proc.Limits{}, 200*time.Millisecond, command+" > /dev/null 2>&1", input)
				if used := processorTime(t) - before; used > 2*time.Second {
					t.Errorf("%v of processor time: %v", used, o.err)
				}
			})
		}
	}
}

// TestYqAnchorsWithinThemselves compares, searches and writes values without end.
func TestYqAnchorsWithinThemselves(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(64 << 20))
	for _, expression := range []string{".a == .a", ".a == .b", ".a | contains([[[1]]])", ".a - .b", ".a | flatten",
		". | @props", "explode(.)", ".. style=\"\"", ".a * .b", "[.a, .b] | unique", ".a | to_entries"} {
		for _, format := range []string{"yaml", "json", "props", "shell", "lua", "xml", "toml"} {
			o := runInput(t, proc.Limits{}, 200*time.Millisecond, "yq -o "+format+" '"+expression+
				"' > /dev/null 2>&1; echo alive", "a: &a [*a, *a]\nb: &b [*b, *b]\n")
			if o.err == nil && o.out != "alive\n" {
				t.Errorf("%s %s: %q", format, expression, o.out)
			}
		}
	}
}
