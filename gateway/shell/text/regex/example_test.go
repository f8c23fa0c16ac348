package regex_test

import (
	"fmt"

	"github.com/pgbox/pgbox/gateway/shell/text/regex"
)

func Example() {
	re, err := regex.Compile(`([a-z]+)=([0-9]+)`, regex.Options{Extended: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	re.SetTick(func(int) {}) // counts the work of a script, and panics to end it
	line := []byte("status=200 took=17")
	for start := 0; ; {
		m := re.FindSubmatchIndex(line, start)
		if m == nil {
			break
		}
		fmt.Printf("%s: %s\n", line[m[2]:m[3]], line[m[4]:m[5]])
		start = m[1]
	}
	// Output:
	// status: 200
	// took: 17
}

// Errors have the words of the GNU tools.
func ExampleCompile_error() {
	_, err := regex.Compile(`a\(b`, regex.Options{})
	fmt.Println(err)
	// Output: Unmatched ( or \(
}
