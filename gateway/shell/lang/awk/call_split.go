package awk

// splitterArg compiles the separator argument of split.
func (c *compiler) splitterArg(e expr) func(in *interp) *splitter {
	if re, ok := unparen(e).(*regexLit); ok {
		if re.src == "" {
			return func(in *interp) *splitter { return in.separator("", false) }
		}
		r := c.constRegex(re.src)
		return func(in *interp) *splitter { return &splitter{kind: splitRegex, re: r(in)} }
	}
	s := c.val(e)
	return func(in *interp) *splitter { return in.separatorOf(s(in), false) }
}

func (c *compiler) split(args []expr) numFn {
	s, arr := c.str(args[0]), c.arr(unparen(args[1]))
	sep := func(in *interp) *splitter {
		if in.splitBy != vFS || in.fs.nl {
			return in.separatorOf(in.specials[vFS], false)
		}
		return in.fs
	}
	if len(args) > 2 {
		sep = c.splitterArg(args[2])
	}
	var seps arrFn
	if len(args) > 3 {
		seps = c.arr(unparen(args[3]))
	}
	return func(in *interp) float64 {
		text := s(in)
		sp := sep(in)
		a := arr(in)
		in.clear(a)
		var sa *array
		if seps != nil {
			if sa = seps(in); sa == a {
				in.fatal("split: cannot use the same array for second and fourth args")
			}
			in.clear(sa)
		}
		n, pos, end := 0, 0, 0
		keep := func(f float64, t string, k kind) value { return value{s: t, k: k, view: true, n: f} }
		for pos >= 0 {
			from, to, next := sp.next(text, pos)
			if from < 0 {
				break
			}
			if sa != nil && (n > 0 || sp.kind == splitSpace && from > 0) {
				in.store(&in.getNum(sa, float64(n)).v, keep(0, text[end:from], kStr))
			}
			n++
			in.p.Tick(1)
			in.store(&in.getNum(a, float64(n)).v, keep(0, text[from:to], kInput))
			pos, end = next, to
		}
		if sa != nil && sp.kind == splitSpace && end < len(text) && n > 0 {
			in.store(&in.getNum(sa, float64(n)).v, keep(0, text[end:], kStr))
		}
		return float64(n)
	}
}

func (c *compiler) patsplit(args []expr) numFn {
	s, arr := c.str(args[0]), c.arr(unparen(args[1]))
	pat := func(in *interp) *regex { return in.regexOf(in.str(in.specials[vFPAT])) }
	if len(args) > 2 {
		pat = c.regexArg(args[2])
	}
	var seps arrFn
	if len(args) > 3 {
		seps = c.arr(unparen(args[3]))
	}
	return func(in *interp) float64 {
		text := s(in)
		re := pat(in)
		a := arr(in)
		in.clear(a)
		var sa *array
		if seps != nil {
			sa = seps(in)
			in.clear(sa)
		}
		n, last := 0, 0
		eachPattern(text, re, func(sep, from, to int) {
			if sa != nil {
				in.store(&in.getNum(sa, float64(n)).v, value{s: text[sep:from], k: kStr, view: true})
			}
			n++
			last = to
			in.store(&in.getNum(a, float64(n)).v, value{s: text[from:to], k: kInput, view: true})
		})
		if sa != nil {
			in.store(&in.getNum(sa, float64(n)).v, value{s: text[last:], k: kStr, view: true})
		}
		return float64(n)
	}
}
