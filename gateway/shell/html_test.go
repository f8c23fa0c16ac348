package shell_test

import (
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// There is no such program on Debian to record from.
func TestHTMLToMarkdown(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{`echo '<h1>T</h1><p>a <b>b</b> <em>c</em> <a href="/x">l</a></p>' | html-to-markdown`,
			"# T\n\na **b** *c* [l](/x)\n"},
		{`echo '<ul><li>a<li>b</ul><ol><li>x<li>y</ol>' | html-to-markdown`, "- a\n- b\n\n1. x\n2. y\n"},
		{`echo '<ul><li>a</ul><hr>' | html-to-markdown -b '*' -r '***'`, "* a\n\n***\n"},
		{`echo '<h1>T</h1><h2>U</h2>' | html-to-markdown --heading-style=setext`, "T\n===\n\nU\n---\n"},
		{`printf '<pre><code class="language-go">x := 1\n</code></pre>' | html-to-markdown`, "```go\nx := 1\n```\n"},
		{`printf '<pre><code>x\n</code></pre>' | html-to-markdown -c '~~~'`, "~~~\nx\n~~~\n"},
		{`echo '<table><tr><th>a<th>b<tr><td>1<td>2</table>' | html-to-markdown`, "| a | b |\n|---|---|\n| 1 | 2 |\n"},
		{`echo '<blockquote>q</blockquote><del>d</del><script>x()</script>' | html-to-markdown`, "> q\n\n~~d~~\n"},
		{`echo '<a href="x">l</a>' > f; html-to-markdown --domain https://h.example/d/ f f`,
			"[l](https://h.example/d/x)\n[l](https://h.example/d/x)\n"},
		{`html-to-markdown nofile; echo $?`, "1\n"},
		{`echo x | html-to-markdown -b foo; echo $?`, "1\n"},
		{`html-to-markdown </dev/null; echo $?`, "0\n"},
		{`printf '<div>%.0s' {1..3000} | html-to-markdown; echo $?`, "1\n"},
	} {
		o := runLimited(t, proc.Limits{}, time.Minute, c.script)
		if o.err != nil || o.out != c.want {
			t.Errorf("%s: got %q, %v (%q); want %q", c.script, o.out, o.err, o.errs, c.want)
		}
	}
}
