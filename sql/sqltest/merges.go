package sqltest

import (
	"fmt"
	"strings"
)

// MergeCase is what three sides of a merge are and what comes of it: with the default strategy, which does what `git
// merge` does, but that directories count, too. Each side is a list of changes: w FILE TEXT, rm PATH, mv FROM TO, mkdir
// PATH, ln FILE NAME, sym TARGET PATH, chmod MODE PATH; in texts | is a newline and _ nothing. All paths lie in the
// directory w.
type MergeCase struct {
	Name               string
	Base, Ours, Theirs string
	// what is there afterwards: f=text, d/, l->target; "": there are conflicts, and all is as it was
	Want      string
	Conflicts string // their paths
}

// MergeCases are the situations, in no order.
var MergeCases = []MergeCase{
	{"nothing", "w f 1|", "", "", "f=1|", ""},
	{"edited there", "w f 1|", "", "w f 2|", "f=2|", ""},
	{"edited here", "w f 1|", "w f 2|", "", "f=2|", ""},
	{"the same edit", "w f 1|", "w f 2|", "w f 2|", "f=2|", ""},
	{"edits far apart", "w f 1|2|3|4|5|6|", "w f one|2|3|4|5|6|", "w f 1|2|3|4|5|six|", "f=one|2|3|4|5|six|", ""},
	{"edits of one line", "w f 1|2|3|", "w f 1|x|3|", "w f 1|y|3|", "", "f"},
	{"edits of lines side by side", "w f 1|2|3|4|", "w f 1|x|3|4|", "w f 1|2|y|4|", "", "f"},
	{"one line between the edits", "w f 1|2|3|4|5|", "w f 1|x|3|4|5|", "w f 1|2|3|y|5|", "f=1|x|3|y|5|", ""},
	{"before and behind", "w f 1|2|", "w f 0|1|2|", "w f 1|2|3|", "f=0|1|2|3|", ""},
	{"both append", "w f 1|", "w f 1|x|", "w f 1|y|", "", "f"},
	{"both append the same", "w f 1|", "w f 1|x|", "w f 1|x|", "f=1|x|", ""},
	{"both remove a line", "w f 1|2|3|", "w f 1|3|", "w f 1|3|", "f=1|3|", ""},
	{"a line removed and edited", "w f 1|2|3|", "w f 1|x|3|", "w f 1|3|", "", "f"},
	{"a line removed, another edited", "w f 1|2|3|4|5|", "w f 1|2|3|4|x|", "w f 1|3|4|5|", "f=1|3|4|x|", ""},
	{"the same edit and another", "w f 1|2|3|4|5|", "w f x|2|3|4|5|", "w f x|2|3|4|y|", "f=x|2|3|4|y|", ""},
	{"lines that repeat", "w f a|{|1|}|b|{|2|}|", "w f z|{|0|}|a|{|1|}|b|{|2|}|", "w f a|{|1|}|b|{|2|}|c|{|3|}|",
		"f=z|{|0|}|a|{|1|}|b|{|2|}|c|{|3|}|", ""},
	{"only lines that repeat", "w f {|{|}|}|{|}|", "w f x|{|{|}|}|{|}|", "w f {|{|}|}|{|}|y|", "f=x|{|{|}|}|{|}|y|", ""},
	{"no newline at the end", "w f 1|2|3|4", "w f x|2|3|4", "w f 1|2|3|y", "f=x|2|3|y", ""},
	{"emptied there", "w f 1|", "", "w f _", "f=", ""},
	{"emptied there, edited here", "w f 1|2|3|", "w f 1|x|3|", "w f _", "", "f"},
	{"deleted there", "w f 1|", "", "rm f", ".", ""},
	{"deleted here", "w f 1|", "rm f", "", ".", ""},
	{"deleted on both sides", "w f 1|", "rm f", "rm f", ".", ""},
	{"deleted there, edited here", "w f 1|", "w f 2|", "rm f", "", "f"},
	{"deleted here, edited there", "w f 1|", "rm f", "w f 2|", "", "f"},
	{"added there", "", "", "w f 1|", "f=1|", ""},
	{"added on both sides, the same", "", "w f 1|", "w f 1|", "f=1|", ""},
	{"added on both sides", "", "w f 1|", "w f 2|", "", "f"},
	{"added on both sides, empty here", "", "w f _", "w f 2|", "f=2|", ""},
	{"a file there, a directory here", "", "mkdir f", "w f 1|", "", "f"},
	{"renamed there", "w f 1|", "", "mv f g", "g=1|", ""},
	{"renamed there, edited here", "w f 1|", "w f 2|", "mv f g", "g=2|", ""},
	{"renamed here, edited there", "w f 1|", "mv f g", "w f 2|", "g=2|", ""},
	{"renamed here, edited on both sides", "w f 1|2|3|4|", "mv f g; w g x|2|3|4|", "w f 1|2|3|y|", "g=x|2|3|y|", ""},
	{"renamed there, edited on both sides", "w f 1|2|3|4|", "w f x|2|3|4|", "mv f g; w g 1|2|3|y|", "g=x|2|3|y|", ""},
	{"renamed to the same", "w f 1|", "mv f g", "mv f g", "g=1|", ""},
	{"renamed on both sides", "w f 1|", "mv f g", "mv f h", "", "h"},
	{"moved on both sides", "w f 1|; mkdir a; mkdir b", "mv f a/f", "mv f b/f", "", "b/f"},
	{"renamed there, deleted here", "w f 1|", "rm f", "mv f g", "", "g"},
	{"renamed here, deleted there", "w f 1|", "mv f g", "rm f", "", "g"},
	{"renamed there to what was added here", "w f 1|", "w g 2|", "mv f g", "", "g"},
	{"names swapped there", "w a 1|; w b 2|", "", "mv a t; mv b a; mv t b", "a=2| b=1|", ""},
	{"names swapped there, one edited here", "w a 1|; w b 2|", "w a x|", "mv a t; mv b a; mv t b", "", "a"},
	{"a chain of names there", "w a 1|; w b 2|; w c 3|", "", "mv c d; mv b c; mv a b", "b=1| c=2| d=3|", ""},
	{"a directory renamed there, added to here", "mkdir d; w d/f 1|", "w d/n 2|", "mv d e", "e/ e/f=1| e/n=2|", ""},
	{"a directory renamed here, added to there", "mkdir d; w d/f 1|", "mv d e", "w d/n 2|", "e/ e/f=1| e/n=2|", ""},
	{"a directory renamed here, added to below there", "mkdir d; w d/f 1|", "mv d e", "mkdir d/s; w d/s/n 2|",
		"e/ e/f=1| e/s/ e/s/n=2|", ""},
	{"a directory renamed here, edited in there", "mkdir d; w d/f 1|", "mv d e", "w d/f 2|", "e/ e/f=2|", ""},
	{"a directory renamed here, moved into there", "mkdir d; w f 1|", "mv d e", "mv f d/f", "e/ e/f=1|", ""},
	{"a directory renamed and made anew there", "mkdir d; w d/f 1|", "", "mv d e; mkdir d; w d/n 2|",
		"d/ d/n=2| e/ e/f=1|", ""},
	{"a directory takes the place of the one it was in", "mkdir a; mkdir a/b; w a/b/f 1|", "", "mv a/b t; rm a; mv t a",
		"a/ a/f=1|", ""},
	{"a directory takes the place of the one it was in, which was renamed", "mkdir a; w a/n 2|; mkdir a/b; w a/b/f 1|", "",
		"mv a/b t; mv a c; mv t a", "a/ a/f=1| c/ c/n=2|", ""},
	{"a file takes the place of the directory it was in", "mkdir a; w a/f 1|", "", "mv a/f t; rm a; mv t a", "a=1|", ""},
	{"a directory takes the place of the one it was in, added to here", "mkdir a; w a/n 2|; mkdir a/b; w a/b/f 1|",
		"w a/m 3|", "mv a/b t; rm a; mv t a", "", "a"},
	{"a directory renamed on both sides", "mkdir d; w d/f 1|", "mv d e", "mv d g", "", "g"},
	{"a directory removed there, added to here", "mkdir d; w d/f 1|", "w d/n 2|", "rm d", "d/ d/n=2|", ""},
	{"a directory removed here, added to there", "mkdir d; w d/f 1|", "rm d", "w d/n 2|", "", "d/n"},
	{"a symlink has taken the place of a directory, edited in there", "mkdir d; w d/f 1|; mkdir e; w e/f 1|",
		"rm d; sym e d", "w d/f 2|", "", "d/f"},
	{"a symlink has taken the place of a directory, added to there", "mkdir d; mkdir e", "rm d; sym e d", "w d/n 2|", "",
		"d/n"},
	{"a symlink has taken the place of a directory, removed from there", "mkdir d; w d/f 1|; mkdir e; w e/f 1|",
		"rm d; sym e d", "rm d/f", "d->e e/ e/f=1|", ""},
	{"a file has taken the place of a directory", "mkdir d", "rm d; w d 1|", "w d/n 2|", "", "d/n"},
	{"a directory takes the place of a file", "w f 1|", "", "rm f; mkdir f; w f/n 2|", "f/ f/n=2|", ""},
	{"a directory takes the place of a file edited here", "w f 1|", "w f 2|", "rm f; mkdir f", "", "f"},
	{"a symlink led elsewhere there", "sym a l", "", "rm l; sym b l", "l->b", ""},
	{"a symlink led elsewhere on both sides", "sym a l", "rm l; sym c l", "rm l; sym b l", "", "l"},
	{"another file of the same name there", "w f 1|2|3|4|", "w f x|2|3|4|", "rm f; w f 1|2|3|y|", "f=x|2|3|y|", ""},
	{"mode there, text here", "w f 1|", "w f 2|", "chmod 600 f", "f=2|", ""},
	{"modes of both", "w f 1|", "chmod 640 f", "chmod 600 f", "", "f"},
}

// changes are the parts of a side.
func changes(side string) (out [][]string) {
	for c := range strings.SplitSeq(side, "; ") {
		if c != "" {
			out = append(out, strings.Fields(c))
		}
	}
	return out
}

func mergeText(s string) string { return strings.NewReplacer("|", "\n", "_", "").Replace(s) }

// SQL are the statements of a side, in the directory /w.
func (MergeCase) SQL(side string) (out []string) {
	for _, c := range changes(side) {
		switch c[0] {
		case "w":
			out = append(out, fmt.Sprintf("SELECT fs.write_file('/w/%s', convert_to('%s', 'UTF8'))", c[1], mergeText(c[2])))
		case "rm":
			out = append(out, fmt.Sprintf("SELECT fs.rm('/w/%s', true)", c[1]))
		case "mv":
			out = append(out, fmt.Sprintf("SELECT fs.mv('/w/%s', '/w/%s')", c[1], c[2]))
		case "mkdir":
			out = append(out, fmt.Sprintf("SELECT fs.mkdir('/w/%s')", c[1]))
		case "ln":
			out = append(out, fmt.Sprintf("SELECT fs.link('/w/%s', '/w/%s')", c[1], c[2]))
		case "sym":
			out = append(out, fmt.Sprintf("SELECT fs.symlink('%s', '/w/%s')", c[1], c[2]))
		case "chmod":
			out = append(out, fmt.Sprintf("SELECT fs.chmod('/w/%s', %d)", c[2], mode(c[1])))
		}
	}
	return out
}

// Shell is the script of a side, in the directory w.
func (MergeCase) Shell(side string) string {
	var out strings.Builder
	out.WriteString("cd ~/w || exit 1\n")
	for _, c := range changes(side) {
		switch c[0] {
		case "w":
			fmt.Fprintf(&out, "printf '%%s' '%s' > %s\n", mergeText(c[2]), c[1])
		case "rm":
			fmt.Fprintf(&out, "rm -r %s\n", c[1])
		case "mv":
			fmt.Fprintf(&out, "mv -T %s %s\n", c[1], c[2])
		case "sym":
			fmt.Fprintf(&out, "ln -s %s %s\n", c[1], c[2])
		default:
			out.WriteString(strings.Join(c, " ") + "\n")
		}
	}
	return out.String() + "cd\n"
}

func mode(octal string) (n int) {
	_, _ = fmt.Sscanf(octal, "%o", &n)
	return n
}
