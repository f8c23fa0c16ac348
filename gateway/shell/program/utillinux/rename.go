package utillinux

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/regex"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// rename is two programs: with an expression like s/a/b/ that of Perl, else util-linux's rename FROM TO FILE...
var renameSpec = getopt.New("valnosi0fde:E:u",
	"verbose=v all=a last=l no-act=n nono=n no-overwrite=o symlink=s interactive=i null=0 force=f filename=d nopath=d nofullpath=d path fullpath expr:=e version=V").
	WithUsage("[options] <expression> <to> <file>...\n or:   rename [options] <perlexpr> <file>...",
		"Rename files.").WithVersion("from util-linux 2.38.1")

func rename(_ context.Context, p *proc.Process) int {
	opts, args := renameSpec.Parse(p)
	r := &renameRun{p: p}
	var exprs []string
	for _, o := range opts {
		switch o.Key {
		case "v":
			r.verbose = true
		case "a":
			r.all = true
		case "l":
			r.last = true
		case "n":
			r.noAct = true
		case "o":
			r.keep = true
		case "s":
			r.symlink = true
		case "i":
			r.ask = true
		case "0":
			r.null = true
		case "f":
			r.force = true
		case "d":
			r.base = true
		case "e", "E":
			exprs = append(exprs, o.Value)
		case "V":
			p.Out.WriteString("rename from util-linux 2.38.1\n")
			return 0
		}
	}
	if exprs == nil && len(args) > 0 && isRenameExpr(args[0]) {
		exprs, args = args[:1], args[1:]
	}
	if exprs != nil {
		return r.perl(strings.Join(exprs, "\n"), args)
	}
	if len(args) < 3 {
		renameSpec.Fail(p, "not enough arguments")
	}
	return r.plain(args[0], args[1], args[2:])
}

type renameRun struct {
	p                                                                *proc.Process
	verbose, all, last, noAct, keep, symlink, ask, null, force, base bool
}

// isRenameExpr recognises s/…/…/, y/…/…/, tr/…/…/ and what assigns to $_.
func isRenameExpr(s string) bool {
	s = strings.TrimSpace(s)
	for _, op := range []string{"tr", "s", "y"} {
		if rest, ok := strings.CutPrefix(s, op); ok && rest != "" {
			c := rest[0]
			if c < utf8.RuneSelf && !program.IsAlpha(c) && !program.IsDigit(c) && c != '_' && c != ' ' && c != '.' && c != '-' &&
				strings.Count(rest, string(closing(c))) >= 2 {
				return true
			}
		}
	}
	return strings.Contains(s, "$_")
}

// plain replaces the first, the last or every occurrence of from in the names.
func (r *renameRun) plain(from, to string, files []string) int {
	p := r.p
	renamed, failed := 0, false
	for _, f := range files {
		p.Tick(1)
		st, err := p.Lstat(f)
		if err != nil {
			p.Errorf("%s: not accessible: %s", f, proc.Strerror(err))
			failed = true
			continue
		}
		subject := f
		if r.symlink {
			if st.Kind != vfs.Symlink {
				p.Errorf("%s: not a symbolic link", f)
				failed = true
				continue
			}
			if subject, err = p.FS.Readlink(p.Abs(f)); err != nil {
				p.Errorf("%s: readlink failed: %s", f, proc.Strerror(err))
				failed = true
				continue
			}
		}
		name, ok := r.substitute(subject, from, to)
		if !ok {
			continue
		}
		dest := name
		if _, err := p.Lstat(dest); err == nil && !r.symlink {
			if r.keep {
				if r.verbose {
					fmt.Fprintf(p.Out, "Skipping existing file: `%s'\n", dest)
				}
				continue
			}
			if r.ask {
				p.Out.Flush()
				question := fmt.Sprintf("overwrite `%s'? ", dest)
				if !program.Confirm(p, question) {
					p.Out.WriteString("n\n")
					continue
				}
			}
		}
		if !r.noAct {
			if r.symlink {
				if err = p.FS.Unlink(p.Abs(f)); err == nil {
					err = p.FS.Symlink(name, p.Abs(f))
				}
			} else {
				err = p.FS.Rename(p.Abs(f), p.Abs(dest))
			}
			if err != nil {
				if r.symlink {
					p.Errorf("%s: symlinking to %s failed: %s", f, name, proc.Strerror(err))
				} else {
					p.Errorf("%s: rename to %s failed: %s", f, dest, proc.Strerror(err))
				}
				failed = true
				continue
			}
		}
		renamed++
		if r.verbose {
			if r.symlink {
				fmt.Fprintf(p.Out, "%s: `%s' -> `%s'\n", f, subject, name)
			} else {
				fmt.Fprintf(p.Out, "`%s' -> `%s'\n", f, dest)
			}
		}
	}
	switch {
	case failed && renamed > 0:
		return 2
	case failed:
		return 1
	case renamed == 0:
		return 4
	}
	return 0
}

func (r *renameRun) substitute(name, from, to string) (string, bool) {
	dir, base := "", name
	// Only the last component changes, unless a slash is meant.
	if i := strings.LastIndexByte(name, '/'); i >= 0 && !strings.Contains(from, "/") && !strings.Contains(to, "/") {
		dir, base = name[:i+1], name[i+1:]
	}
	switch {
	case !strings.Contains(base, from):
		return "", false
	case r.all && from != "":
		return dir + strings.ReplaceAll(base, from, to), true
	case r.last:
		i := strings.LastIndex(base, from)
		return dir + base[:i] + to + base[i+len(from):], true
	}
	return dir + strings.Replace(base, from, to, 1), true
}

// renameOp is one statement of a Perl expression.
type renameOp func(string) string

func closing(c byte) byte {
	switch c {
	case '(':
		return ')'
	case '[':
		return ']'
	case '{':
		return '}'
	case '<':
		return '>'
	}
	return c
}

// perl applies an expression to each name (of standard input without any).
func (r *renameRun) perl(expr string, files []string) int {
	p := r.p
	ops, ok := parseRename(p, expr)
	if !ok {
		p.Err.WriteString("rename: cannot use this expression: " + expr + "\n")
		return 2
	}
	if len(files) == 0 {
		data, err := p.ReadAll(p.Stdin)
		if err != nil {
			p.Errorf("%s", proc.Strerror(err))
			return 1
		}
		sep := "\n"
		if r.null {
			sep = "\x00"
		}
		for f := range strings.SplitSeq(strings.TrimSuffix(string(data), sep), sep) {
			if f != "" {
				files = append(files, f)
			}
		}
	}
	for _, f := range files {
		p.Tick(1)
		dir, name := "", f
		if i := strings.LastIndexByte(f, '/'); i >= 0 && r.base {
			dir, name = f[:i+1], f[i+1:]
		}
		for _, op := range ops {
			name = op(name)
		}
		name = dir + name
		if name == f {
			continue
		}
		if _, err := p.Lstat(name); err == nil && !r.force {
			fmt.Fprintf(p.Err, "%s not renamed: %s already exists\n", f, name)
			continue
		}
		if r.noAct {
			fmt.Fprintf(p.Out, "rename(%s, %s)\n", f, name)
			continue
		}
		err := error(vfs.ENOENT)
		if name != "" {
			err = p.FS.Rename(p.Abs(f), p.Abs(name))
		}
		if err != nil {
			p.Out.Flush()
			fmt.Fprintf(p.Err, "Can't rename %s %s: %s\n", f, name, proc.Strerror(err))
			continue
		}
		if r.verbose {
			fmt.Fprintf(p.Out, "%s renamed as %s\n", f, name)
		}
	}
	return 0
}

// parseRename reads s///, tr/// and y/// statements, `$_ = lc`, `$_ = uc`, lcfirst, ucfirst and `$_ .= "text"`.
func parseRename(p *proc.Process, src string) ([]renameOp, bool) {
	var ops []renameOp
	for {
		src = strings.TrimLeft(src, " \t\n;")
		if src == "" {
			return ops, len(ops) > 0
		}
		op, rest, ok := renameStatement(p, src)
		if !ok {
			return nil, false
		}
		ops = append(ops, op)
		if rest = strings.TrimLeft(rest, " \t"); rest != "" && rest[0] != ';' && rest[0] != '\n' {
			return nil, false
		}
		src = rest
	}
}

func renameStatement(p *proc.Process, src string) (op renameOp, rest string, ok bool) {
	for prefix, f := range map[string]renameOp{
		"$_ = lc $_": strings.ToLower, "$_=lc": strings.ToLower, "$_ = lc($_)": strings.ToLower, "$_ = lc": strings.ToLower,
		"$_=lc($_)":  strings.ToLower,
		"$_ = uc $_": strings.ToUpper, "$_=uc": strings.ToUpper, "$_ = uc($_)": strings.ToUpper, "$_ = uc": strings.ToUpper,
		"$_=uc($_)":    strings.ToUpper,
		"$_ = ucfirst": upperFirst, "$_ = ucfirst($_)": upperFirst,
		"$_ = ucfirst lc": func(s string) string { return upperFirst(strings.ToLower(s)) },
	} {
		if tail, found := strings.CutPrefix(src, prefix); found &&
			(tail == "" || strings.IndexByte(" ;\n", tail[0]) >= 0 && strings.TrimLeft(tail, " ;\n") == "") {
			return f, tail, true
		}
	}
	for _, c := range []struct{ op, name string }{{"$_ .= ", "after"}, {"$_ .=", "after"}, {"$_.=", "after"},
		{"$_ = ", "before"}} {
		tail, found := strings.CutPrefix(src, c.op)
		if !found || tail == "" || tail[0] != '"' && tail[0] != '\'' {
			continue
		}
		text, after, ok := delimited(tail[1:], tail[0], tail[0])
		if !ok {
			return nil, "", false
		}
		if c.name == "after" {
			return func(s string) string { return s + text }, after, true
		}
		joined := strings.TrimLeft(after, " ")
		if next, ok := strings.CutPrefix(joined, "."); ok && strings.HasPrefix(strings.TrimLeft(next, " "), "$_") {
			return func(s string) string { return text + s }, strings.TrimLeft(next, " ")[2:], true
		}
		if strings.Contains(text, "$_") {
			return func(s string) string { return strings.ReplaceAll(text, "$_", s) }, after, true
		}
		return nil, "", false
	}
	kind := ""
	for _, k := range []string{"tr", "s", "y"} {
		if strings.HasPrefix(src, k) && len(src) > len(k) {
			kind = k
			break
		}
	}
	if kind == "" {
		return nil, "", false
	}
	open := src[len(kind)]
	if program.IsAlpha(open) || program.IsDigit(open) || open == ' ' {
		return nil, "", false
	}
	from, rest, ok := delimited(src[len(kind)+1:], open, closing(open))
	if !ok {
		return nil, "", false
	}
	if closing(open) != open {
		rest = strings.TrimLeft(rest, " \t\n")
		if rest == "" {
			return nil, "", false
		}
		open, rest = rest[0], rest[1:]
	}
	to, rest, ok := delimited(rest, open, closing(open))
	if !ok {
		return nil, "", false
	}
	n := 0
	for n < len(rest) && program.IsAlpha(rest[n]) {
		n++
	}
	flags := rest[:n]
	if kind == "s" {
		op, ok = renameSubstitution(p, from, to, flags)
	} else {
		op, ok = renameTransliteration(from, to, flags)
	}
	return op, rest[n:], ok
}

func upperFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return string(unicode.ToUpper(r)) + s[n:]
}

// delimited reads up to an unescaped end; pairs of brackets nest.
func delimited(s string, open, end byte) (text, rest string, ok bool) {
	var b strings.Builder
	depth := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s):
			if s[i+1] != end || open != end || !isPunctuation(end) || end == '|' || end == '.' {
				b.WriteByte(c)
			}
			i++
			b.WriteByte(s[i])
			continue
		case open != end && c == open:
			depth++
		case c == end:
			if depth == 0 {
				return b.String(), s[i+1:], true
			}
			depth--
		}
		b.WriteByte(c)
	}
	return "", "", false
}

func isPunctuation(c byte) bool {
	return c > ' ' && c < 127 && !program.IsAlpha(c) && !program.IsDigit(c)
}

func renameSubstitution(p *proc.Process, from, to, flags string) (renameOp, bool) {
	if strings.Trim(flags, "gixmsr") != "" {
		return nil, false
	}
	inline := ""
	for _, f := range "ixms" {
		if strings.ContainsRune(flags, f) {
			inline += string(f)
		}
	}
	if inline != "" {
		from = "(?" + inline + ")" + from
	}
	re, err := regex.Compile(from, regex.Options{Perl: true})
	if err != nil {
		p.Errorf("%v", err)
		return nil, false
	}
	re.SetTick(p.Tick)
	global := strings.Contains(flags, "g")
	return func(name string) string {
		b := []byte(name)
		var out strings.Builder
		at, copied := 0, 0
		for at <= len(b) {
			loc := re.FindSubmatchIndex(b, at)
			if loc == nil {
				break
			}
			out.Write(b[copied:loc[0]])
			out.WriteString(expandReplacement(to, b, loc))
			copied, at = loc[1], loc[1]
			if loc[0] == loc[1] {
				if at < len(b) {
					out.WriteByte(b[at])
				}
				at++
				copied = min(at, len(b))
			}
			if !global {
				break
			}
		}
		out.Write(b[min(copied, len(b)):])
		return out.String()
	}, true
}

// expandReplacement is Perl's double-quoted text with groups and changes of case.
func expandReplacement(to string, b []byte, loc []int) string {
	var out strings.Builder
	mode, once := byte(0), byte(0)
	put := func(s string) {
		switch mode {
		case 'U':
			s = strings.ToUpper(s)
		case 'L':
			s = strings.ToLower(s)
		}
		if once != 0 && s != "" {
			r, n := utf8.DecodeRuneInString(s)
			if once == 'u' {
				r = unicode.ToUpper(r)
			} else {
				r = unicode.ToLower(r)
			}
			s, once = string(r)+s[n:], 0
		}
		out.WriteString(s)
	}
	group := func(n int) {
		if 2*n+1 < len(loc) && loc[2*n] >= 0 {
			put(string(b[loc[2*n]:loc[2*n+1]]))
		}
	}
	for i := 0; i < len(to); i++ {
		c := to[i]
		next := byte(0)
		if i+1 < len(to) {
			next = to[i+1]
		}
		switch {
		case c == '\\' && next != 0:
			i++
			switch {
			case next == 'U' || next == 'L':
				mode = next
			case next == 'E' || next == 'Q':
				mode = 0
			case next == 'u' || next == 'l':
				once = next
			case next == 'n':
				put("\n")
			case next == 't':
				put("\t")
			case program.IsDigit(next):
				group(int(next - '0'))
			default:
				put(string(next))
			}
		case c == '$' && program.IsDigit(next):
			n := 0
			for i+1 < len(to) && program.IsDigit(to[i+1]) && n < 1000 {
				i++
				n = n*10 + int(to[i]-'0')
			}
			group(n)
		case c == '$' && next == '&':
			i++
			group(0)
		case c == '$' && next == '{':
			end := strings.IndexByte(to[i:], '}')
			n, ok := 0, end > 2
			for k := i + 2; ok && k < i+end; k++ {
				ok = program.IsDigit(to[k]) && n < 1000
				n = n*10 + int(to[k]-'0')
			}
			if !ok {
				put("$")
				continue
			}
			group(n)
			i += end
		default:
			n := 1
			if c >= utf8.RuneSelf {
				_, n = utf8.DecodeRuneInString(to[i:])
			}
			put(to[i : i+n])
			i += n - 1
		}
	}
	return out.String()
}

func renameTransliteration(from, to, flags string) (renameOp, bool) {
	if strings.Trim(flags, "dscr") != "" {
		return nil, false
	}
	list := func(s string) []rune {
		var out []rune
		r := []rune(s)
		for i := 0; i < len(r); i++ {
			if r[i] == '\\' && i+1 < len(r) {
				i++
			} else if r[i] == '-' && len(out) > 0 && i+1 < len(r) {
				i++
				for c := out[len(out)-1] + 1; c <= r[i]; c++ {
					out = append(out, c)
				}
				continue
			}
			out = append(out, r[i])
		}
		return out
	}
	f, t := list(from), list(to)
	remove, squeeze, complement := strings.Contains(flags, "d"), strings.Contains(flags, "s"), strings.Contains(flags, "c")
	if len(t) == 0 && !remove {
		t = f
	}
	return func(name string) string {
		var out []rune
		last := rune(-1)
		for _, c := range name {
			at := -1
			for i, x := range f {
				if x == c {
					at = i
					break
				}
			}
			if complement {
				if at >= 0 {
					at = -1
				} else {
					at = len(t)
				}
			}
			switch {
			case at < 0:
				out = append(out, c)
				last = -1
				continue
			case at >= len(t) && remove:
				continue
			case complement && len(to) == 0:
			default:
				c = t[min(at, len(t)-1)]
			}
			if squeeze && c == last {
				continue
			}
			out = append(out, c)
			last = c
		}
		return string(out)
	}, true
}
