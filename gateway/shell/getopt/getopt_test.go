package getopt_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
)

func TestScan(t *testing.T) {
	const short, longs = "ab:c::", "all=a almost-all=A bytes:=b color:: colour::=color sort:"
	for _, tc := range []struct{ short, args, want string }{
		{short, "x -a y -- -b z", "a | x y -b z"},
		{short, "-ab 3 x", "a b=3 | x"},
		{short, "-ab3 -c -c5 x", "a b=3 c c=5 | x"},
		{short, "--all --bytes=7 --bytes 8 --color --color=x", "a b=7 b=8 color color=x |"},
		{short, "--by 1 --so=2", "b=1 sort=2 |"},
		{short, "--colo=1", "color=1 |"},
		{short, "- x", "| - x"},
		{"+" + short, "-a x -b 1", "a | x -b 1"},
		{short, "-b", "option requires an argument -- 'b'"},
		{short, "-ax", "invalid option -- 'x'"},
		{short, "--nope=1", "unrecognized option '--nope=1'"},
		{short, "--all=1", "option '--all' doesn't allow an argument"},
		{short, "--sort", "option '--sort' requires an argument"},
		{short, "--al", "option '--al' is ambiguous; possibilities: '--all' '--almost-all'"},
	} {
		opts, operands, err := getopt.New(tc.short, longs).Scan(strings.Fields(tc.args))
		var got []string
		for _, o := range opts {
			s := o.Key
			if o.Has {
				s += "=" + o.Value
			}
			got = append(got, s)
		}
		res := strings.Join(append(append(got, "|"), operands...), " ")
		if err != nil {
			var u *getopt.UsageError
			if !errors.As(err, &u) {
				t.Fatalf("%q: not a UsageError: %v", tc.args, err)
			}
			res = fmt.Sprint(err)
		}
		if res != tc.want {
			t.Errorf("%q %q: got %q, want %q", tc.short, tc.args, res, tc.want)
		}
	}
}
