package shell_test

import (
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// Debian has no yq to record from: this is what the manual of mikefarah's says.
func TestYq(t *testing.T) {
	const file = "printf '# c\\na:\\n  b: 1 # n\\n  l: [x, y]\\ns: \"q\"\\n' > f.yaml; "
	for _, c := range []struct{ script, want string }{
		{`yq .a.b f.yaml`, "1\n"},
		{`yq '.a.b' < f.yaml`, "1\n"},
		{`yq f.yaml`, "# c\na:\n  b: 1 # n\n  l: [x, y]\ns: \"q\"\n"},
		{`yq e '.a.l[]' f.yaml`, "x\ny\n"},
		{`yq -o json . f.yaml`, "{\n  \"a\": {\n    \"b\": 1,\n    \"l\": [\n      \"x\",\n      \"y\"\n    ]\n  },\n  \"s\": \"q\"\n}\n"},
		{`yq -o=json -I0 .a f.yaml`, "{\"b\":1,\"l\":[\"x\",\"y\"]}\n"},
		{`yq -i '.a.b = 5 | .new = "z" | del(.s)' f.yaml; cat f.yaml`, "# c\na:\n  b: 5 # n\n  l: [x, y]\nnew: z\n"},
		{`yq .s f.yaml; yq --unwrapScalar=false .s f.yaml`, "q\nq\n"},
		{`echo '{"a":[1,{"b":2.5}],"c":null}' | yq -P .`, "a:\n  - 1\n  - b: 2.5\nc: null\n"},
		{`yq -n '.a.b = "true" | .c = true'`, "a:\n  b: \"true\"\nc: true\n"},
		{`printf 'a: 1\n---\na: 2\n' | yq .a`, "1\n---\n2\n"},
		{`printf 'a: 1\n---\na: 2\n' | yq -N .a`, "1\n2\n"},
		{`printf 'base: &b {x: 1}\nd:\n  <<: *b\n  y: 2\n' | yq -o json -I0 .d`, "{\"x\":1,\"y\":2}\n"},
		{`X=5 yq -n 'env.X'`, "5\n"},
		{`yq -e .nosuch f.yaml; echo $?`, "null\n1\n"},
		{`yq '.x[' f.yaml; yq . nosuch.yaml; echo $?`, "1\n"},
		{`printf 'a: [1\n' | yq .; echo $?`, "1\n"},
	} {
		o := runLimited(t, proc.Limits{}, time.Minute, file+c.script)
		if o.err != nil || o.out != c.want {
			t.Errorf("%s: got %q, %v (%q); want %q", c.script, o.out, o.err, o.errs, c.want)
		}
	}
}
