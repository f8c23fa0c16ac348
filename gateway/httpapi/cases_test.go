package httpapi

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/casetest"
)

var everyCase = flag.Int("every", 50, "TestCasesOnTheRoutes replays one of so many recorded cases")

// looksAround are commands that look at LANG, TERM and SHELL, which every sandbox has and the shells that recorded the
// cases had not.
var looksAround = regexp.MustCompile(`\b(locale|dircolors|tput|clear|ul|tree -C)\b`)

// asksInput are scripts that can tell an empty pipe from /dev/null.
var asksInput = regexp.MustCompile(`\b(rg|stdin|fd/0|diff|stat)\b`)

// TestCasesOnTheRoutes replays recorded cases of the shell over each route that executes, each in a sandbox of its own.
func TestCasesOnTheRoutes(t *testing.T) {
	a := newAPI(t)
	body := func(c casetest.Case) object {
		if c.NoStdin {
			return object{"script": c.Script}
		}
		return object{"script": c.Script, "stdin": c.Stdin}
	}
	routes := []func(t *testing.T, id string, c casetest.Case) casetest.Result{
		func(t *testing.T, id string, c casetest.Case) casetest.Result {
			r := into[execResult](t, a.do(http.MethodPost, "/v1/sandboxes/"+id+"/exec-sync", body(c)))
			return casetest.Result{Stdout: r.Stdout, Stderr: r.Stderr, Exit: r.ExitCode}
		},
		func(t *testing.T, id string, c casetest.Case) casetest.Result {
			events, hangUp := a.open(id, body(c))
			defer hangUp()
			var r casetest.Result
			for _, e := range sse(t, events) {
				switch e.T {
				case "stdout":
					r.Stdout += *e.Data
				case "stderr":
					r.Stderr += *e.Data
				case "error":
					r.Err = fmt.Errorf("%s: %s", e.Code, e.Error)
				case "exit":
					r.Exit = *e.ExitCode
				}
			}
			return r
		},
		func(t *testing.T, id string, c casetest.Case) casetest.Result {
			r := into[struct{ Results []batchResult }](t, a.do(http.MethodPost, "/v1/sandboxes/"+id+"/exec-sync-batch",
				object{"scripts": []object{{"id": "1", "script": c.Script}}})).Results[0]
			res := casetest.Result{Stdout: r.Stdout, Stderr: r.Stderr, Exit: r.ExitCode}
			if r.Error != "" {
				res.Err = fmt.Errorf("%s", r.Error)
			}
			return res
		},
	}
	seen := 0
	wanted := func(c casetest.Case) bool {
		if !utf8.ValidString(c.Script) || looksAround.MatchString(c.Script) {
			return false // JSON has no place for a script that is not UTF-8
		}
		seen++
		return seen%*everyCase == 0
	}
	var turn atomic.Int64
	casetest.ReplayOn(t, wanted, func(_ context.Context, c casetest.Case) casetest.Result {
		n := int(turn.Add(1)) % len(routes)
		if !c.NoStdin && (c.Stdin != "" || asksInput.MatchString(c.Script)) {
			n %= 2 // what a batch runs is given no standard input
		}
		id := a.sandbox(object{"env": casetest.Env(casetest.Home)})
		for _, f := range c.Files {
			if got := a.do(http.MethodPut, "/v1/sandboxes/"+id+"/files"+casetest.Home+"/"+f.Path,
				[]byte(f.Content)); got.status != http.StatusNoContent {
				return casetest.Result{Err: fmt.Errorf("%s: %s", f.Path, got.body)}
			}
		}
		r := routes[n](t, id, c)
		r.Stdout, r.Stderr = jsonText(c.Stdout, r.Stdout), jsonText(c.Stderr, r.Stderr)
		return r
	}, "../shell/testdata/cases/*.cases")
}

// jsonText is want where got is what JSON makes of it: a replacement character for each byte that is not UTF-8.
func jsonText(want, got string) string {
	if strings.Map(func(r rune) rune { return r }, want) == got {
		return want
	}
	return got
}
