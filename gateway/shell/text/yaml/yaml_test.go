package yaml

import (
	"strings"
	"testing"

	"github.com/pgbox/pgbox/gateway/shell/lang/jq"
)

func TestChangedPartsOnly(t *testing.T) {
	const text = "# head\na: 1 # one\nb:\n  - x\n  - 'y' # why\nc: &anchor {k: v}\nd: *anchor\n"
	docs, err := Parse([]byte(text), func(int) {}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	none := func(int) {}
	v, err := docs[0].Value(none)
	if err != nil {
		t.Fatal(err)
	}
	changed, err := docs[0].With(v.(*jq.Object).Set("a", 2.0).Set("new", "true"), none)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Encode([]Document{changed}, 2, func(int) {}, func(int) {})
	if want := strings.Replace(text, "a: 1", "a: 2", 1) + "new: \"true\"\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestAnchorsAreCounted(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x]\n")
	for i := 1; i < 40; i++ {
		last := "*a" + string(rune('0'+(i-1)/10)) + string(rune('0'+(i-1)%10))
		if i == 1 {
			last = "*a0"
		}
		name := "a" + string(rune('0'+i/10)) + string(rune('0'+i%10))
		b.WriteString(name + ": &" + name + " [" + last + ", " + last + "]\n")
	}
	docs, err := Parse([]byte(b.String()), func(int) {}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("an anchor that doubles forty times became a value")
		}
	}()
	held := 0
	_, _ = docs[0].Value(func(n int) {
		if held += n; held > 64<<20 {
			panic("too much")
		}
	})
}
