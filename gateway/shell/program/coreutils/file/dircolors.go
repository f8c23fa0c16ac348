package file

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var dircolorsSpec = getopt.New("bcp", "bourne-shell=b sh=b csh=c c-shell=c print-database=p print-ls-colors").
	WithUsage("[OPTION]... [FILE]", "Output commands to set the LS_COLORS environment variable.")

// colorTerms are the terminals GNU's table of colours is made for.
var colorTerms = []string{
	"Eterm", "ansi", "*color*", "con[0-9]*x[0-9]*", "cons25", "console", "cygwin", "*direct*", "dtterm", "gnome", "hurd",
	"jfbterm",
	"konsole", "kterm", "linux", "linux-c", "mlterm", "putty", "rxvt*", "screen*", "st", "terminator", "tmux*", "vt100",
	"xterm*",
}

// colorDefaults are the colours of the kinds of files, in the order they are printed.
var colorDefaults = []struct{ keyword, color string }{
	{"RESET", "0"}, {"DIR", "01;34"}, {"LINK", "01;36"}, {"MULTIHARDLINK", "00"}, {"FIFO", "40;33"}, {"SOCK", "01;35"},
	{"DOOR", "01;35"},
	{"BLK", "40;33;01"}, {"CHR", "40;33;01"}, {"ORPHAN", "40;31;01"}, {"MISSING", "00"}, {"SETUID", "37;41"},
	{"SETGID", "30;43"},
	{"CAPABILITY", "00"}, {"STICKY_OTHER_WRITABLE", "30;42"}, {"OTHER_WRITABLE", "34;42"}, {"STICKY", "37;44"},
	{"EXEC", "01;32"},
}

// colorSuffixes are the names that have a colour of their own.
var colorSuffixes = []struct{ color, names string }{
	{"01;31", `.tar .tgz .arc .arj .taz .lha .lz4 .lzh .lzma .tlz .txz .tzo .t7z .zip .z .dz .gz .lrz .lz .lzo .xz .zst .tzst .bz2 .bz .tbz .tbz2 .tz .deb .rpm .jar
		.war .ear .sar .rar .alz .ace .zoo .cpio .7z .rz .cab .wim .swm .dwm .esd`},
	{"01;35", `.avif .jpg .jpeg .mjpg .mjpeg .gif .bmp .pbm .pgm .ppm .tga .xbm .xpm .tif .tiff .png .svg .svgz .mng .pcx .mov .mpg .mpeg .m2v .mkv .webm .webp .ogm
		.mp4 .m4v .mp4v .vob .qt .nuv .wmv .asf .rm .rmvb .flc .avi .fli .flv .gl .dl .xcf .xwd .yuv .cgm .emf .ogv .ogx`},
	{"00;36", `.aac .au .flac .m4a .mid .midi .mka .mp3 .mpc .ogg .ra .wav .oga .opus .spx .xspf`},
	{"00;90", `*~ *# .bak .old .orig .part .rej .swp .tmp .dpkg-dist .dpkg-old .ucf-dist .ucf-new .ucf-old .rpmnew .rpmorig .rpmsave`},
}

// colorCodes are the keys of LS_COLORS by keyword.
var colorCodes = map[string]string{
	"NO": "no", "NORMAL": "no", "NORM": "no", "FILE": "fi", "RESET": "rs", "DIR": "di", "LNK": "ln", "LINK": "ln",
	"SYMLINK": "ln", "ORPHAN": "or",
	"MISSING": "mi", "FIFO": "pi", "PIPE": "pi", "SOCK": "so", "BLK": "bd", "BLOCK": "bd", "CHR": "cd", "CHAR": "cd",
	"DOOR": "do", "EXEC": "ex",
	"LEFT": "lc", "LEFTCODE": "lc", "RIGHT": "rc", "RIGHTCODE": "rc", "END": "ec", "ENDCODE": "ec", "SUID": "su",
	"SETUID": "su", "SGID": "sg",
	"SETGID": "sg", "STICKY": "st", "OTHER_WRITABLE": "ow", "OWR": "ow", "STICKY_OTHER_WRITABLE": "tw", "OWT": "tw",
	"CAPABILITY":    "ca",
	"MULTIHARDLINK": "mh", "CLRTOEOL": "cl",
}

// colorDatabase is the built-in table in the form that dircolors reads and prints.
func colorDatabase() string {
	var b strings.Builder
	b.WriteString("COLORTERM ?*\n")
	for _, t := range colorTerms {
		b.WriteString("TERM " + t + "\n")
	}
	for _, c := range colorDefaults {
		b.WriteString(c.keyword + " " + c.color + "\n")
	}
	for _, s := range colorSuffixes {
		for name := range strings.FieldsSeq(s.names) {
			b.WriteString(name + " " + s.color + "\n")
		}
	}
	return b.String()
}

func dircolors(_ context.Context, p *proc.Process) int {
	opts, args := dircolorsSpec.Parse(p)
	syntax, database, show := "", false, false
	for _, o := range opts {
		switch o.Key {
		case "b", "c":
			syntax = o.Key
		case "p":
			database = true
		default:
			show = true
		}
	}
	if (database || show) && syntax != "" {
		dircolorsSpec.Fail(p, "the options to output non shell syntax,\nand to select a shell syntax are mutually exclusive")
	}
	if database && show {
		dircolorsSpec.Fail(p, "options --print-database and --print-ls-colors are mutually exclusive")
	}
	most := 1
	if database {
		most = 0
	}
	if len(args) > most {
		p.Errorf("extra operand %s", program.Quote(args[most]))
		if database {
			fmt.Fprintf(p.Err, "file operands cannot be combined with --print-database (-p)\n")
		}
		dircolorsSpec.Hint(p)
	}
	if database {
		p.Out.WriteString(colorDatabase())
		return 0
	}
	if syntax == "" && !show {
		sh := p.Getenv("SHELL")
		if sh == "" {
			p.Errorf("no SHELL environment variable, and no shell type option given")
			return 1
		}
		syntax = "b"
		if base := program.BaseName(sh); base == "csh" || base == "tcsh" {
			syntax = "c"
		}
	}
	text, name := colorDatabase(), "<internal>"
	if len(args) > 0 {
		err := program.WithInput(p, args[0], func(_ string, r io.Reader) error {
			data, _ := p.ReadAll(r) // a directory is an empty table
			text, name = string(data), args[0]
			return nil
		})
		if err != nil {
			p.Errorf("%s: %s", program.QuoteColon(args[0]), proc.Strerror(err))
			return 1
		}
	}
	entries, ok := parseColors(p, text, name)
	if !ok {
		return 1
	}
	switch {
	case show:
		for _, e := range entries {
			key, value, _ := strings.Cut(e, "\x00")
			fmt.Fprintf(p.Out, "\x1b[%sm%s\t%s\x1b[0m\n", value, key, value)
		}
		return 0
	case syntax == "b":
		p.Out.WriteString("LS_COLORS='")
	default:
		p.Out.WriteString("setenv LS_COLORS '")
	}
	for _, e := range entries {
		key, value, _ := strings.Cut(e, "\x00")
		p.Out.WriteString(quoteColors(key) + "=" + quoteColors(value) + ":")
	}
	p.Out.WriteString("'")
	if syntax == "b" {
		p.Out.WriteString(";\nexport LS_COLORS")
	}
	p.Out.WriteByte('\n')
	return 0
}

// parseColors reads a table: key NUL value of every line that is for this terminal.
func parseColors(p *proc.Process, text, name string) (entries []string, ok bool) {
	term := p.Getenv("TERM")
	if term == "" {
		term = "none"
	}
	colorTerm := p.Getenv("COLORTERM")
	const (
		global = iota // before the first TERM
		others        // after one that does not match
		ours
		sure // just after one that does
	)
	state, number := global, 0
	ok = true
	for line := range strings.Lines(text) {
		p.Tick(1)
		number++
		key, value := colorLine(strings.TrimSuffix(line, "\n"))
		if key == "" {
			continue
		}
		if value == "" {
			p.Errorf("%s:%d: invalid line;  missing second token", program.QuoteColon(name), number)
			ok = false
			continue
		}
		upper := strings.ToUpper(key)
		if upper == "TERM" || upper == "COLORTERM" {
			if state != sure {
				wanted := term
				if upper == "COLORTERM" {
					wanted = colorTerm
				}
				state = others
				if program.Fnmatch(p, value, wanted, false) {
					state = sure
				}
			}
			continue
		}
		if state == sure {
			state = ours
		}
		if state == others {
			continue
		}
		switch {
		case key[0] == '.':
			key = "*" + key
		case key[0] == '*':
		case upper == "OPTIONS" || upper == "COLOR" || upper == "EIGHTBIT":
			continue
		default:
			code := colorCodes[upper]
			if code == "" {
				if state == ours {
					p.Errorf("%s:%d: unrecognized keyword %s", program.QuoteColon(name), number, key)
					ok = false
				}
				continue
			}
			key = code
		}
		p.Hold(len(key) + len(value) + 17)
		entries = append(entries, key+"\x00"+value)
	}
	return entries, ok
}

// colorLine splits a line into keyword and value; a comment begins with a # that is not inside a word.
func colorLine(line string) (key, value string) {
	line = strings.TrimLeft(line, " \t\n\v\f\r")
	if line == "" || line[0] == '#' {
		return "", ""
	}
	end := strings.IndexAny(line, " \t\n\v\f\r")
	if end < 0 {
		return line, ""
	}
	key, value = line[:end], strings.TrimLeft(line[end:], " \t\n\v\f\r")
	if end := strings.IndexByte(value, '#'); end >= 0 {
		value = value[:end]
	}
	return key, strings.TrimRight(value, " \t\n\v\f\r")
}

// quoteColors quotes a part of LS_COLORS for a shell's single quotes and for ls, to which colon and equals sign are
// special.
func quoteColors(s string) string {
	var b strings.Builder
	plain := true // no backslash before it
	for i := range len(s) {
		switch c := s[i]; c {
		case '\'':
			b.WriteString(`'\'`)
			plain = true
		case '\\':
			plain = !plain
		case ':', '=':
			if plain {
				b.WriteByte('\\')
			}
			plain = true
		default:
			plain = true
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
