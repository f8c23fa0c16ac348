package jq_test

import (
	"fmt"

	"github.com/pgbox/pgbox/gateway/shell/lang/jq"
)

func Example() {
	count := func(int) {} // counts steps or bytes of a script, and panics to end it
	prog, err := jq.Compile(`.users | map(select(.age >= $min).name)`, []string{"$min"}, []any{18.0}, nil, false,
		jq.Meter{Tick: count, Hold: count})
	if err != nil {
		fmt.Println(err)
		return
	}
	input, err := jq.ParseText(`{"users": [{"name": "ann", "age": 31}, {"name": "bo", "age": 7}]}`, count, count)
	if err != nil {
		fmt.Println(err)
		return
	}
	m := &jq.Machine{Tick: count, Hold: count, Release: count, Env: jq.NewObject()}
	err = m.Eval(prog, input, func(result any) error {
		fmt.Printf("%s\n", jq.Style{}.Append(nil, result))
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: ["ann"]
}
