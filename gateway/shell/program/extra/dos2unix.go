package extra

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var dos2unixSpec = getopt.New("7bc:feFhi::klLmnNoOqrRsSuUvV",
	"ascii keep-bom=b convmode:=c force=f add-eol=e follow-symlink=F help=h info::=i keepdate=k newline=l license=L add-bom=m newfile=n oldfile=o to-stdout=O quiet=q "+
		"remove-bom=r replace-symlink=R safe=s skip-symlink=S keep-utf16=u assume-utf16le=ul assume-utf16be=ub verbose=v version=V allow-chown no-allow-chown gb18030 iso=iso").
	WithUsage("[options] [file ...] [-n infile outfile ...]", "").WithVersion("7.4.3 (2022-06-05)")

const dos2unixUsage = "Usage: %s [options] [file ...] [-n infile outfile ...]\n -ascii                convert only line breaks (default)\n -b, --keep-bom        keep Byte Order Mark\n" +
	" -c, --convmode        conversion mode\n   convmode            ascii, 7bit, iso, mac, default to ascii\n -f, --force           force conversion of binary files\n -h, --help            display this help text\n" +
	" -i, --info[=FLAGS]    display file information\n -k, --keepdate        keep output file date\n -l, --newline         add additional newline\n -m, --add-bom         add Byte Order Mark (default UTF-8)\n" +
	" -n, --newfile         write to new file\n -o, --oldfile         write to old file (default)\n -q, --quiet           quiet mode, suppress all warnings\n -r, --remove-bom      remove Byte Order Mark\n" +
	" -s, --safe            skip binary files (default)\n -F, --follow-symlink  follow symbolic links and convert the targets\n -S, --skip-symlink    keep symbolic links and targets unchanged (default)\n -v, --verbose         verbose operation\n -V, --version         display version number\n"

// newlineRun is one run of dos2unix, unix2dos, mac2unix or unix2mac.
type newlineRun struct {
	p                                 *proc.Process
	toDOS                             bool
	mac, seven, force, quiet, verbose bool
	keepBOM, addBOM, removeBOM        bool
	double, keepDate, follow, replace bool
	info                              bool
	infoFlags                         string
}

func dos2unix(_ context.Context, p *proc.Process) int {
	n := &newlineRun{p: p, toDOS: strings.HasPrefix(p.Name(), "unix"), mac: strings.Contains(p.Name(), "mac")}
	n.keepBOM = n.toDOS
	args := p.Args[1:]
	pairs := false
	var files []string
	status := 0
	flush := func() {
		if n.info {
			for _, f := range files {
				if !n.describe(f) {
					status = 2
				}
			}
		} else if pairs {
			for len(files) > 1 {
				if !n.file(files[0], files[1]) {
					status = 2
				}
				files = files[2:]
			}
			if len(files) == 1 {
				p.Errorf("target of file %s not specified in new-file mode", files[0])
				status = 1
			}
		} else {
			for _, f := range files {
				if !n.file(f, f) {
					status = 2
				}
			}
		}
		files = nil
	}
	used := false
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			files = append(files, args[i+1:]...)
			used = used || len(files) > 0
			break
		}
		if len(a) < 2 || a[0] != '-' {
			files = append(files, a)
			used = true
			continue
		}
		switch a {
		case "-ascii", "-iso", "-1252", "-437", "-850", "-860", "-863", "-865", "-ul", "-ub":
			continue
		}
		opts, _, err := dos2unixSpec.Scan([]string{a})
		if err != nil && strings.Contains(err.Error(), "requires an argument") && i+1 < len(args) {
			i++
			opts, _, err = dos2unixSpec.Scan([]string{a, args[i]})
		}
		if err != nil {
			fmt.Fprintf(p.Out, dos2unixUsage, p.Name())
			return 1
		}
		for _, o := range opts {
			switch o.Key {
			case "7":
				n.seven = true
			case "b":
				n.keepBOM = true
			case "c":
				switch o.Value {
				case "ascii", "iso":
				case "7bit":
					n.seven = true
				case "mac":
					n.mac = true
				default:
					p.Errorf("invalid %s conversion mode specified", o.Value)
					return 1
				}
			case "f":
				n.force = true
			case "F":
				n.follow = true
			case "R":
				n.replace = true
			case "S":
				n.follow, n.replace = false, false
			case "h", "help":
				fmt.Fprintf(p.Out, dos2unixUsage, p.Name())
				return 0
			case "i":
				n.info, n.infoFlags = true, strings.TrimPrefix(o.Value, "=")
			case "k":
				n.keepDate = true
			case "l":
				n.double = true
			case "L":
				p.Out.WriteString("Redistribution and use in source and binary forms, with or without\nmodification, are permitted.\n")
				return 0
			case "m":
				n.addBOM = true
			case "n":
				flush()
				pairs = true
			case "o":
				flush()
				pairs = false
			case "e", "N", "O", "U":
				fmt.Fprintf(p.Out, dos2unixUsage, p.Name())
				return 1
			case "q":
				n.quiet = true
			case "r":
				n.removeBOM, n.keepBOM = true, false
			case "s":
				n.force = false
			case "v":
				n.verbose = true
			case "V", "version":
				p.Out.WriteString(p.Name() + " 7.4.3 (2022-06-05)\nWith Unicode UTF-16 support.\nWith native language support.\n")
				return 0
			}
		}
	}
	if len(files) > 0 || used {
		flush()
		if n.quiet && status == 2 {
			return 0
		}
		return status
	}
	data, err := p.ReadAll(p.Stdin)
	if err != nil {
		p.Errorf("%s", proc.Strerror(err))
		return 1
	}
	defer p.Release(cap(data))
	if n.info {
		n.show(data, "")
		return 0
	}
	out, _, _, binary := n.convert(data)
	if binary != "" {
		p.Errorf("%s", binary)
		p.Errorf("Skipping binary file stdin")
		return 1
	}
	p.Out.Write(out)
	return 0
}

func (n *newlineRun) say(format string, args ...any) {
	if !n.quiet {
		n.p.Errorf(format, args...)
	}
}

// read says why a file is left out, and whether that is an error.
func (n *newlineRun) read(name string) (data []byte, st vfs.Stat, ok, fine bool) {
	link, err := n.p.Lstat(name)
	if err == nil && link.Kind == vfs.Symlink && !n.follow && !n.replace {
		n.say("Skipping symbolic link %s.", name)
		return nil, st, false, true
	}
	if err == nil {
		st, err = n.p.Stat(name)
	}
	if err != nil || st.Kind != vfs.Regular {
		if err != nil {
			n.say("%s: %s", name, proc.Strerror(err))
		}
		n.say("Skipping %s, not a regular file.", name)
		return nil, st, false, err == nil || !errors.Is(err, vfs.ENOENT)
	}
	data, err = n.p.ReadFile(name)
	if err != nil {
		n.say("%s: %s", name, proc.Strerror(err))
		return nil, st, false, false
	}
	return data, st, true, true
}

func (n *newlineRun) file(name, to string) bool {
	data, st, ok, fine := n.read(name)
	if !ok {
		return fine
	}
	out, changed, from, binary := n.convert(data)
	if binary != "" {
		n.say("%s", binary)
		n.say("Skipping binary file %s", name)
		return true
	}
	f, err := n.p.Open(to, vfs.WriteOnly|vfs.Create|vfs.Trunc, st.Mode&0o777)
	if err == nil {
		_, err = f.Write(out)
		_ = f.Close()
	}
	if err != nil {
		n.say("%s: %s", to, proc.Strerror(err))
		return false
	}
	if n.keepDate {
		if err := n.p.FS.Utimes(n.p.Abs(to), st.Mtime, true); err != nil {
			n.say("%s: %s", to, proc.Strerror(err))
		}
	}
	format := "Unix"
	if n.toDOS && n.mac {
		format = "Mac"
	} else if n.toDOS {
		format = "DOS"
	}
	if from != "" {
		from += " "
		format = "UTF-8 " + format
	}
	if n.verbose {
		n.say("Converted %d out of %d line breaks.", changed[0], changed[1])
	}
	if to == name {
		n.say("converting %sfile %s to %s format...", from, name, format)
	} else if from != "" {
		n.say("converting %sfile %s to %sfile %s in %s format...", from, name, "", to, format)
	} else {
		n.say("converting file %s to file %s in %s format...", name, to, format)
	}
	return true
}

// convert returns the text with other line ends, how many were changed of how many, what UTF-16 it was in, and why it
// looks binary.
func (n *newlineRun) convert(data []byte) (out []byte, counts [2]int, from, binary string) {
	bom := false
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")):
		from = "UTF-16LE"
		if data[0] == 0xfe {
			from = "UTF-16BE"
		}
		units := make([]uint16, 0, len(data)/2)
		for i := 2; i+1 < len(data); i += 2 {
			lo, hi := uint16(data[i]), uint16(data[i+1])
			if data[0] == 0xfe {
				lo, hi = hi, lo
			}
			units = append(units, hi<<8|lo)
		}
		data, bom = []byte(string(utf16.Decode(units))), true
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		data, bom = data[3:], true
	}
	n.p.Hold(len(data) + len(data)/8)
	out = make([]byte, 0, len(data)+len(data)/8+3)
	if (bom && n.keepBOM || n.addBOM) && !n.removeBOM {
		out = append(out, 0xef, 0xbb, 0xbf)
	}
	line := 1
	for i := 0; i < len(data); i++ {
		if i&4095 == 0 {
			n.p.Tick(4)
		}
		c := data[i]
		if c == '\n' {
			line++
		}
		switch {
		case c < 32 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && !n.force:
			return nil, counts, from, fmt.Sprintf("Binary symbol 0x%02X found at line %d", c, line)
		case n.seven && c >= 0x80:
			c = ' '
		}
		next := byte(0)
		if i+1 < len(data) {
			next = data[i+1]
		}
		switch {
		case n.mac && !n.toDOS && c == '\r' && next != '\n':
			counts[0]++
			out = append(out, '\n')
			if n.double {
				out = append(out, '\n')
			}
		case n.mac && n.toDOS && c == '\n' && (i == 0 || data[i-1] != '\r'):
			counts[0]++
			out = append(out, '\r')
			if n.double {
				out = append(out, '\r')
			}
		case n.mac:
			out = append(out, c)
		case !n.toDOS && c == '\r' && next == '\n':
			counts[0]++
		case !n.toDOS && c == '\n':
			counts[1]++
			out = append(out, '\n')
			if n.double {
				out = append(out, '\n')
			}
		case n.toDOS && c == '\n':
			counts[1]++
			if i == 0 || data[i-1] != '\r' {
				counts[0]++
				out = append(out, '\r')
			}
			out = append(out, '\n')
			if n.double {
				out = append(out, '\r', '\n')
			}
		default:
			out = append(out, c)
		}
	}
	return out, counts, from, ""
}

func (n *newlineRun) describe(name string) bool {
	data, _, ok, fine := n.read(name)
	if ok {
		n.show(data, name)
	}
	return fine
}

// show prints the numbers of line ends, as -i asks for.
func (n *newlineRun) show(data []byte, name string) {
	bom, text := "no_bom", "text"
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		bom = "UTF-8"
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		bom = "UTF-16LE"
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		bom = "UTF-16BE"
	}
	var dos, unix, mac int
	for i, c := range data {
		if i&4095 == 0 {
			n.p.Tick(4)
		}
		switch {
		case c == '\n' && i > 0 && data[i-1] == '\r':
			dos++
		case c == '\n':
			unix++
		case c == '\r' && (i+1 >= len(data) || data[i+1] != '\n'):
			mac++
		case c < 32 && c != '\r' && c != '\t' && c != '\f' && !strings.HasPrefix(bom, "UTF-16"):
			text = "binary"
		}
	}
	flags := n.infoFlags
	end := "\n"
	if strings.Contains(flags, "0") {
		end, flags = "\x00", strings.ReplaceAll(flags, "0", "")
	}
	if strings.Contains(flags, "c") {
		wanted := dos > 0
		if n.toDOS && n.mac || n.toDOS {
			wanted = unix > 0
		} else if n.mac {
			wanted = mac > 0
		}
		if wanted && text == "text" {
			n.p.Out.WriteString(name + end)
		}
		return
	}
	heading := strings.Contains(flags, "h")
	if p := strings.Contains(flags, "p"); p {
		name = name[strings.LastIndexByte(name, '/')+1:]
	}
	flags = strings.NewReplacer("h", "", "p", "").Replace(flags)
	if flags == "" {
		flags = "dumbt"
	}
	if heading {
		titles := ""
		for _, f := range []struct {
			key   string
			title string
		}{{"d", "     DOS"}, {"u", "    UNIX"}, {"m", "     MAC"}, {"b", "  BOM     "}, {"t", "  TXTBIN"}} {
			if strings.Contains(flags, f.key) {
				titles += f.title
			}
		}
		n.p.Out.WriteString(titles + "  FILE" + end)
	}
	row := ""
	for _, f := range []struct {
		key   string
		value string
	}{{"d", fmt.Sprintf("%8d", dos)}, {"u", fmt.Sprintf("%8d", unix)}, {"m", fmt.Sprintf("%8d", mac)},
		{"b", fmt.Sprintf("  %-8s", bom)}, {"t", fmt.Sprintf("  %-6s", text)}} {
		if strings.Contains(flags, f.key) {
			row += f.value
		}
	}
	if name != "" {
		row += "  " + name
	}
	n.p.Out.WriteString(row + end)
}
