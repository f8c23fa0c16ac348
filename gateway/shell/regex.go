package shell

import (
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/text/regex"
)

// expandRegex expands the right side of =~ : quoted text matches itself.
func (sh *Shell) expandRegex(w *word) string {
	e := expander{sh: sh, record: true}
	e.parts(w.parts, false)
	if len(e.spans) == 0 {
		return string(e.buf)
	}
	var out []byte
	at := 0
	for i := 0; i < len(e.spans); i += 2 {
		out = append(out, e.buf[at:e.spans[i]]...)
		// A backslash means nothing inside brackets, so characters that need none get none.
		for _, c := range e.buf[e.spans[i]:e.spans[i+1]] {
			if strings.IndexByte(`\.[]{}()*+?^$|`, c) >= 0 {
				out = append(out, '\\')
			}
			out = append(out, c)
		}
		at = e.spans[i+1]
	}
	return string(append(out, e.buf[at:]...))
}

// matchRegex matches and sets BASH_REMATCH.
func (sh *Shell) matchRegex(re, s string) bool {
	k := regexKey{re, sh.opts.shopt(nocasematch), sh.bytes()}
	m := sh.regexes[k]
	if m == nil {
		tick := func(n int) {
			sh.ticks += int64(n)
			sh.tick()
		}
		var err error
		if m, err = regex.Compile(re, regex.Options{Extended: true, IgnoreCase: k.fold, Bytes: k.bytes,
			Tick: tick}); err != nil {
			sh.setRematch(nil)
			panic(abortPanic{status: 2, soft: true})
		}
		if sh.regexes == nil || len(sh.regexes) > 100 {
			sh.regexes = map[regexKey]*regex.Regexp{}
		}
		sh.regexes[k] = m
		m.SetTick(tick)
	}
	loc := m.FindSubmatchIndex([]byte(s), 0)
	if loc == nil {
		sh.setRematch(nil)
		return false
	}
	groups := make([]string, len(loc)/2)
	for i := range groups {
		if loc[2*i] >= 0 {
			groups[i] = s[loc[2*i]:loc[2*i+1]]
		}
	}
	sh.setRematch(groups)
	return true
}

func (sh *Shell) setRematch(groups []string) {
	if v := sh.vars["BASH_REMATCH"]; v != nil && v.attrs&aReadonly != 0 {
		return
	}
	if groups == nil {
		groups = []string{}
	}
	sh.setArray("BASH_REMATCH", groups)
}

type regexKey struct {
	re    string
	fold  bool
	bytes bool
}
