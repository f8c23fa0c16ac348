package shell_test

import (
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/casetest"
	"github.com/pgbox/pgbox/gateway/shell/command"
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
		{`yq -o json . f.yaml`,
			"{\n  \"a\": {\n    \"b\": 1,\n    \"l\": [\n      \"x\",\n      \"y\"\n    ]\n  },\n  \"s\": \"q\"\n}\n"},
		{`yq -o=json -I0 .a f.yaml`, "{\"b\":1,\"l\":[\"x\",\"y\"]}\n"},
		{`yq -i '.a.b = 5 | .new = "z" | del(.s)' f.yaml; cat f.yaml`, "# c\na:\n  b: 5 # n\n  l: [x, y]\nnew: z\n"},
		{`yq .s f.yaml; yq --unwrapScalar=false .s f.yaml`, "q\n\"q\"\n"},
		{`echo '{"a":[1,{"b":2.5}],"c":null}' | yq -P .`, "a:\n  - 1\n  - b: 2.5\nc: null\n"},
		{`yq -n '.a.b = "true" | .c = true'`, "a:\n  b: \"true\"\nc: true\n"},
		{`printf 'a: 1\n---\na: 2\n' | yq .a`, "1\n---\n2\n"},
		{`printf 'a: 1\n---\na: 2\n' | yq -N .a`, "1\n2\n"},
		{`printf 'base: &b {x: 1}\nd:\n  <<: *b\n  y: 2\n' | yq -o json -I0 .d`, "{\"x\":1,\"y\":2}\n"},
		{`X=5 yq -n 'env.X'`, "5\n"},
		{`yq -e .nosuch f.yaml; echo $?`, "null\n1\n"},
		{`yq '.x[' f.yaml; yq . nosuch.yaml; echo $?`, "1\n"},
		{`printf 'a: [1\n' | yq .; echo $?`, "1\n"},
		{`printf '# c\nname = "Tom"\nn = 3\nok = true\nwhen = 2024-05-06T07:08:09Z\nd = 2024-05-06\n[z.owner]\nl = [1, 2.5, "x"]\n[a]\nx.y = 1\n[[p]]\nk = 1\n[[p]]\nk = 2\n' > f.toml; yq -p toml -o json -I0 . f.toml; yq .z.owner.l[1] f.toml`,
			`{"name":"Tom","n":3,"ok":true,"when":"2024-05-06T07:08:09Z","d":"2024-05-06","z":{"owner":{"l":[1,2.5,"x"]}},"a":{"x":{"y":1}},"p":[{"k":1},{"k":2}]}` + "\n2.5\n"},
		{`yq -p json -o toml . <<< '{"t":{"y":[1,2],"s":{"q":"a\"b"}},"a":"x","p":[{"k":1},{"k":{"z":true}}],"e":[],"my key":1.5}'`,
			"a = \"x\"\ne = []\n\"my key\" = 1.5\n\n[t]\ny = [1, 2]\n\n[t.s]\nq = \"a\\\"b\"\n\n[[p]]\nk = 1\n\n[[p]]\n\n[p.k]\nz = true\n"},
		{`printf 'name = "Tom"\nn = 3\n' > f.toml; yq -i '.n = 4' f.toml; yq -o yaml .n f.toml; cat f.toml`,
			"4\nname = \"Tom\"\nn = 4\n"},
		{`printf '<?xml version="1.0"?>\n<cat kind="a&amp;b"><says>meow</says><legs>4</legs><kid/><n>1</n><n>2</n>text</cat>' > f.xml; yq -p xml . f.xml; yq -p=xml -o=json -I0 .cat.n f.xml`,
			"+p_xml: version=\"1.0\"\ncat:\n  +@kind: a&b\n  says: meow\n  legs: \"4\"\n  kid: null\n  n:\n    - \"1\"\n    - \"2\"\n  +content: text\n[\"1\",\"2\"]\n"},
		{`printf 'cat:\n  +@name: t"x\n  +content: hi\n  legs: [1, 2]\n  e:\n' | yq -o xml .; echo '<?xml version="1.0"?><cat kind="a&amp;b">text</cat>' > f.xml; yq . f.xml`,
			"<cat name=\"t&#34;x\">hi\n  <legs>1</legs>\n  <legs>2</legs>\n  <e></e>\n</cat>\n<?xml version=\"1.0\"?>\n<cat kind=\"a&amp;b\">text</cat>\n"},
		{`printf 'name,n,ok,z\nGary,1,true,007\n"a, b",2.5,false,\n' > f.csv; yq -p csv -o json -I0 . f.csv; yq -p csv -o tsv 'map({name, n})' f.csv; yq '.[1].name' f.csv`,
			`[{"name":"Gary","n":1,"ok":true,"z":"007"},{"name":"a, b","n":2.5,"ok":false,"z":""}]` +
				"\nname\tn\nGary\t1\na, b\t2.5\na, b\n"},
		{`yq -n -o csv '[["a", 1], ["b c", "x,y"]]'`, "a,1\nb c,\"x,y\"\n"},
		{`printf '# c\nperson.name = Mike\nperson.pets.0: cat\nperson.pets.1=dog\nlong = a \\\n  b\n' | yq -p props -o json -I0 .`, `{"person":{"name":"Mike","pets":["cat","dog"]},"long":"a b"}` + "\n"},
		{`yq -o props . f.yaml`, "# c\n# n\na.b = 1\na.l.0 = x\na.l.1 = y\ns = q\n"},
		{`yq -p xml . <<< '<a><b></a>'; echo $?; yq -p toml . <<< 'a = '; echo $?; yq -o csv . f.yaml; echo $?; yq -p nosuch . f.yaml; echo $?; yq -n -o xml '{"a b":1}'; echo $?`, "1\n1\n1\n1\n1\n"},
		{`head -c 100000 /dev/zero | tr '\0' '[' > deep; (printf 'a = '; cat deep) | yq -p toml .; echo $?; for i in {1..2000}; do printf '<a>'; done | yq -p xml .; echo $?`, "1\n1\n"},
		{`printf 'a: 1 # one\nl: [1]\nm: {x: 1}\n' > a.yml; printf 'b: 2\nl: [2]\nm: {y: 2}\n' > b.yml; yq ea 'select(fileIndex == 0) * select(fileIndex == 1)' a.yml b.yml; yq eval-all -o json -I0 'select(fi==0) *+ select(fi==1)' a.yml b.yml`,
			"a: 1 # one\nl: [2]\nm: {x: 1, y: 2}\nb: 2\n" + `{"a":1,"l":[1,2],"m":{"x":1,"y":2},"b":2}` + "\n"},
		{`printf 'a: 1\n' > a.yml; printf 'b: 2\n' > b.yml; yq ea -o json -I0 '. as $item ireduce ({}; . * $item)' a.yml b.yml; yq ea -o json -I0 '[.]' a.yml b.yml; yq -o json -I0 '. as $x ireduce (0; . + 1)' a.yml`, `{"a":1,"b":2}` + "\n" + `[{"a":1},{"b":2}]` + "\n1\n"},
		{`yq -n -o json -I0 '{"a":1,"l":[{"x":1}]} *n {"a":2,"b":3}, ({"a":1} *? {"a":2,"b":3}), ({"l":[{"x":1}]} *d {"l":[{"y":2}]})'`, `{"a":1,"l":[{"x":1}],"b":3}` + "\n" + `{"a":2}` + "\n" + `{"l":[{"x":1,"y":2}]}` + "\n"},
		{`N=3 S=3 yq -n -o json -I0 '{"n": env(N), "s": strenv(S)}'; printf 'b: 1\na: {d: 1, c: 2}\n' | yq -o json -I0 'sort_keys(..)'; yq 'with(.a; .b = 2 | .n = 1)' f.yaml`, `{"n":3,"s":"3"}` + "\n" + `{"a":{"c":2,"d":1},"b":1}` + "\n# c\na:\n  b: 2 # n\n  l: [x, y]\n  n: 1\ns: \"q\"\n"},
		{`printf 'a: x\n---\na: y\n' > d.yml; yq -s .a d.yml; cat x.yml y.yml; yq -s '"f" + ($index | tostring)' d.yml; cat f1.yml; yq 'select(di == 1) | .a' d.yml; yq 'filename, .a | tag' d.yml | head -2`, "a: x\n---\na: y\n---\na: y\ny\nd.yml\n!!str\n"},
	} {
		o := runLimited(t, proc.Limits{}, time.Minute, file+c.script)
		if o.err != nil || o.out != c.want {
			t.Errorf("%s: got %q, %v (%q); want %q", c.script, o.out, o.err, o.errs, c.want)
		}
	}
}

// What the real one answers, version 4.50.1, where the two agree on purpose.
func TestYqExpressions(t *testing.T) {
	casetest.Replay(t, command.All(), "testdata/yq/*.cases")
}
