package awk

import (
	"strings"
	"unsafe"

	re "github.com/pgbox/pgbox/gateway/shell/text/regex"
)

// regex is a compiled regular expression of one run.
type regex struct{ re *re.Regexp }

const maxRegexes = 500

// regexOf compiles a pattern, once for each setting of IGNORECASE.
func (in *interp) regexOf(src string) *regex {
	cache := in.regexes[0]
	if in.ignoreCase {
		cache = in.regexes[1]
	}
	if r, ok := cache[src]; ok {
		return r
	}
	x, err := re.Compile(src, re.Options{Dialect: re.Awk, IgnoreCase: in.ignoreCase, Bytes: in.bytes})
	if err != nil {
		in.fatal("invalid regexp: %v: /%s/", err, src)
	}
	x.SetTick(in.p.Tick)
	r := &regex{x}
	if len(cache) >= maxRegexes {
		clear(cache)
	}
	cache[strings.Clone(src)] = r
	return r
}

// match reports whether the expression matches somewhere in s.
func (r *regex) match(s string) bool { return r.re.Match(bytesOf(s)) }

// find returns the leftmost longest match in s at or after from, -1 when there is none; ^ matches
// at the beginning of s only.
func (r *regex) find(s string, from int) (start, end int) {
	a, b, ok := r.re.FindIndex(bytesOf(s), from)
	if !ok {
		return -1, -1
	}
	return a, b
}

// submatches is find with the bounds of the groups; the slice is good until the next call.
func (r *regex) submatches(s string, from int) []int {
	return r.re.FindSubmatchIndex(bytesOf(s), from)
}

// bytesOf views a string as bytes, which must not be written.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
