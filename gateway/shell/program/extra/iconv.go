package extra

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var iconvSpec = getopt.New("f:t:lco:sV",
	"from-code:=f to-code:=t list=l output:=o silent=s verbose usage").WithStatus(64).
	WithHint("Try `%[1]s --help' or `%[1]s --usage' for more information.").
	WithUsage("[OPTION...] [FILE...]",
		"Convert encoding of given files from one encoding to another.").WithVersion("(Debian GLIBC 2.36) 2.36")

// charsets by the name in capitals without punctuation. nil is UTF-8, asciiSet has no more than 128 characters.
var charsets = map[string]encoding.Encoding{
	"UTF8": nil, "ASCII": asciiSet{}, "USASCII": asciiSet{}, "ANSIX341968": asciiSet{}, "646": asciiSet{}, "C": asciiSet{},
	"POSIX":         asciiSet{},
	"UTF16":         unicode.UTF16(unicode.LittleEndian, unicode.UseBOM),
	"UTF16LE":       unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM),
	"UTF16BE":       unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM),
	"UCS2":          unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM),
	"UCS2LE":        unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM),
	"UCS2BE":        unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM),
	"UNICODE":       unicode.UTF16(unicode.LittleEndian, unicode.UseBOM),
	"UNICODELITTLE": unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM),
	"UNICODEBIG":    unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM),
	"UTF32":         utf32.UTF32(utf32.LittleEndian, utf32.UseBOM),
	"UTF32LE":       utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM),
	"UTF32BE":       utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM),
	"UCS4":          utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM),
	"UCS4LE":        utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM),
	"UCS4BE":        utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM),
	"LATIN1":        charmap.ISO8859_1, "L1": charmap.ISO8859_1, "ISO88591": charmap.ISO8859_1,
	"IBM819": charmap.ISO8859_1, "CP819": charmap.ISO8859_1, "88591": charmap.ISO8859_1,
	"LATIN2": charmap.ISO8859_2, "L2": charmap.ISO8859_2, "ISO88592": charmap.ISO8859_2, "LATIN3": charmap.ISO8859_3,
	"ISO88593": charmap.ISO8859_3,
	"LATIN4":   charmap.ISO8859_4, "ISO88594": charmap.ISO8859_4, "CYRILLIC": charmap.ISO8859_5,
	"ISO88595": charmap.ISO8859_5, "ARABIC": charmap.ISO8859_6, "ISO88596": charmap.ISO8859_6,
	"GREEK": charmap.ISO8859_7, "ISO88597": charmap.ISO8859_7, "HEBREW": charmap.ISO8859_8, "ISO88598": charmap.ISO8859_8,
	"LATIN5": charmap.ISO8859_9, "ISO88599": charmap.ISO8859_9,
	"LATIN6": charmap.ISO8859_10, "ISO885910": charmap.ISO8859_10, "ISO885913": charmap.ISO8859_13,
	"LATIN7": charmap.ISO8859_13, "ISO885914": charmap.ISO8859_14, "LATIN8": charmap.ISO8859_14,
	"ISO885915": charmap.ISO8859_15, "LATIN9": charmap.ISO8859_15, "ISO885916": charmap.ISO8859_16,
	"LATIN10": charmap.ISO8859_16,
	"CP1250":  charmap.Windows1250, "WINDOWS1250": charmap.Windows1250, "CP1251": charmap.Windows1251,
	"WINDOWS1251": charmap.Windows1251, "CP1252": charmap.Windows1252, "WINDOWS1252": charmap.Windows1252,
	"CP1253": charmap.Windows1253, "WINDOWS1253": charmap.Windows1253, "CP1254": charmap.Windows1254,
	"WINDOWS1254": charmap.Windows1254, "CP1255": charmap.Windows1255, "WINDOWS1255": charmap.Windows1255,
	"CP1256": charmap.Windows1256, "WINDOWS1256": charmap.Windows1256, "CP1257": charmap.Windows1257,
	"WINDOWS1257": charmap.Windows1257, "CP1258": charmap.Windows1258, "WINDOWS1258": charmap.Windows1258,
	"CP437": charmap.CodePage437, "IBM437": charmap.CodePage437, "437": charmap.CodePage437, "CP850": charmap.CodePage850,
	"IBM850": charmap.CodePage850, "850": charmap.CodePage850,
	"CP852": charmap.CodePage852, "IBM852": charmap.CodePage852, "CP855": charmap.CodePage855,
	"CP858": charmap.CodePage858, "CP860": charmap.CodePage860, "CP862": charmap.CodePage862, "CP863": charmap.CodePage863,
	"CP865": charmap.CodePage865, "CP866": charmap.CodePage866, "IBM866": charmap.CodePage866, "866": charmap.CodePage866,
	"CP037": charmap.CodePage037, "IBM037": charmap.CodePage037, "EBCDICUS": charmap.CodePage037,
	"CP1047": charmap.CodePage1047, "IBM1047": charmap.CodePage1047, "CP1140": charmap.CodePage1140,
	"KOI8R": charmap.KOI8R, "KOI8U": charmap.KOI8U, "MACINTOSH": charmap.Macintosh, "MAC": charmap.Macintosh,
	"MACCYRILLIC": charmap.MacintoshCyrillic,
	"SHIFTJIS":    japanese.ShiftJIS, "SJIS": japanese.ShiftJIS, "MSKANJI": japanese.ShiftJIS, "CP932": japanese.ShiftJIS,
	"EUCJP": japanese.EUCJP, "ISO2022JP": japanese.ISO2022JP,
	"EUCKR": korean.EUCKR, "CP949": korean.EUCKR, "UHC": korean.EUCKR, "GBK": simplifiedchinese.GBK,
	"CP936": simplifiedchinese.GBK, "GB2312": simplifiedchinese.GBK, "EUCCN": simplifiedchinese.GBK,
	"GB18030": simplifiedchinese.GB18030, "BIG5": traditionalchinese.Big5, "CP950": traditionalchinese.Big5,
}

// asciiSet marks ASCII, which needs no tables.
type asciiSet struct{ encoding.Encoding }

func charset(name string) (encoding.Encoding, bool) {
	if name == "" {
		return nil, true // that of the locale
	}
	key := strings.NewReplacer("-", "", "_", "", ".", "", ":", "", " ", "").Replace(strings.ToUpper(name))
	if e, ok := charsets[key]; ok {
		return e, true
	}
	if e, err := ianaindex.IANA.Encoding(name); err == nil && e != nil {
		return e, true
	}
	return nil, false
}

type iconvRun struct {
	p              *proc.Process
	from, to       encoding.Encoding
	skip, translit bool
	ignore         bool
	encoder        *encoding.Encoder
	out            io.Writer
	at             int // bytes of input of this file that were converted
	lost           bool
	unit           int
}

var (
	errIllegal         = errors.New("illegal input sequence")
	errShiftIncomplete = errors.New("incomplete character or shift sequence at end of buffer")
)

func iconv(_ context.Context, p *proc.Process) int {
	opts, args := iconvSpec.Parse(p)
	c := &iconvRun{p: p, out: p.Out}
	var from, to, output string
	for _, o := range opts {
		switch o.Key {
		case "f":
			from = o.Value
		case "t":
			to = o.Value
		case "o":
			output = o.Value
		case "c":
			c.skip = true
		case "l":
			return listCharsets(p)
		case "V":
			p.Out.WriteString("iconv (Debian GLIBC 2.36) 2.36\n")
			return 0
		}
	}
	from, _, _ = strings.Cut(from, "//")
	to, suffix, _ := strings.Cut(to, "//")
	for s := range strings.FieldsFuncSeq(strings.ToUpper(suffix), func(r rune) bool { return r == '/' || r == ',' }) {
		switch s {
		case "TRANSLIT":
			c.translit = true
		case "IGNORE":
			c.ignore = true
		}
	}
	var ok1, ok2 bool
	c.from, ok1 = charset(from)
	c.to, ok2 = charset(to)
	if !ok1 || !ok2 {
		p.Errorf("failed to start conversion processing: No such file or directory")
		return 1
	}
	// UTF-16 and UTF-32 end in the middle of a character when they end in the middle of a unit.
	switch name := strings.ToUpper(from); {
	case strings.HasPrefix(name, "UTF-16"), strings.HasPrefix(name, "UTF16"), strings.HasPrefix(name, "UCS-2"):
		c.unit = 2
	case strings.HasPrefix(name, "UTF-32"), strings.HasPrefix(name, "UTF32"), strings.HasPrefix(name, "UCS-4"):
		c.unit = 4
	}
	if c.to != nil && c.to != (asciiSet{}) {
		c.encoder = c.to.NewEncoder()
	}
	var held bytes.Buffer
	if output != "" && output != "-" {
		c.out = &held // the file may be one of those that are read
	}
	status := 0
	if len(args) == 0 {
		args = []string{"-"}
	}
	for _, name := range args {
		r, err := p.OpenInput(name)
		if err != nil {
			p.Errorf("cannot open input file `%s': %s", name, proc.Strerror(err))
			status = 1
			continue
		}
		data, err := p.ReadAll(r)
		_ = r.Close()
		if err != nil {
			p.Errorf("error while reading the input: %s", proc.Strerror(err))
			return 1
		}
		err = c.convert(data)
		p.Release(cap(data))
		if err != nil {
			p.Out.Flush()
			if errors.Is(err, errIllegal) {
				p.Errorf("illegal input sequence at position %d", c.at)
			} else {
				p.Errorf("%v", err)
			}
			status = 1
			break
		}
		if c.lost {
			p.Errorf("illegal input sequence at position %d", len(data))
			status = 1
			break
		}
	}
	if c.out == &held {
		f, err := p.Open(output, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
		if err == nil {
			_, err = f.Write(held.Bytes())
			_ = f.Close()
		}
		if err != nil {
			p.Errorf("cannot open output file: %s", proc.Strerror(err))
			return 1
		}
	}
	return status
}

// convert goes by way of UTF-8, piece by piece.
func (c *iconvRun) convert(data []byte) error {
	c.at, c.lost = 0, false
	var decoder *encoding.Decoder
	if c.from != nil && c.from != (asciiSet{}) {
		decoder = c.from.NewDecoder()
		// Without a mark at its beginning UTF-16 is in the machine's order.
		decoder.Reset()
	}
	if decoder == nil {
		return c.decodeUTF8(data, c.from != nil)
	}
	buf := make([]byte, 16<<10)
	for rest := data; ; {
		piece := rest[:min(len(rest), 4<<10)]
		nd, ns, err := decoder.Transform(buf, piece, len(piece) == len(rest))
		c.p.Tick(1 + ns>>6)
		start := c.at
		for text := buf[:nd]; len(text) > 0; {
			// Decoders put the replacement for what they cannot read; nothing but Unicode has one of its own.
			good := bytes.IndexRune(text, utf8.RuneError)
			if good < 0 {
				good = len(text)
			}
			if err := c.put(text[:good]); err != nil {
				return err
			}
			if text = text[good:]; len(text) > 0 {
				c.at = start + ns
				if c.unit > 0 && len(data)%c.unit != 0 && c.at == len(data) {
					return errShiftIncomplete
				}
				if !c.skip {
					return errIllegal
				}
				text = text[utf8.RuneLen(utf8.RuneError):]
			}
		}
		c.at = start + ns
		rest = rest[ns:]
		switch {
		case errors.Is(err, transform.ErrShortSrc) && len(piece) < len(rest)+ns || errors.Is(err, transform.ErrShortDst):
			continue
		case err != nil && !errors.Is(err, transform.ErrShortSrc):
			return errIllegal
		case errors.Is(err, transform.ErrShortSrc):
			return errShiftIncomplete
		case len(rest) == 0:
			return nil
		}
	}
}

func (c *iconvRun) decodeUTF8(data []byte, ascii bool) error {
	for len(data) > 0 {
		n := 0
		for n < len(data) && n < 4096 {
			if data[n] < utf8.RuneSelf {
				n++
				continue
			}
			r, w := utf8.DecodeRune(data[n:])
			if ascii || r == utf8.RuneError && w == 1 {
				break
			}
			n += w
		}
		c.p.Tick(1 + n>>6)
		if n > 0 {
			if err := c.put(data[:n]); err != nil {
				return err
			}
			c.at += n
			data = data[n:]
			continue
		}
		if !ascii && !utf8.FullRune(data) {
			return errShiftIncomplete
		}
		if !c.skip && !c.ignore {
			return errIllegal
		}
		c.lost = c.lost || c.ignore && !c.skip
		c.at++
		data = data[1:]
	}
	return nil
}

// put writes UTF-8 text in the other encoding. When that fails, c.at is the place of the character that has none.
func (c *iconvRun) put(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	out, ok := c.encode(text)
	if r, n := utf8.DecodeRune(text); !ok && n < len(text) {
		start := c.at
		for i := 0; i < len(text); i += n {
			_, n = utf8.DecodeRune(text[i:])
			c.at = start + i
			if err := c.put(text[i : i+n]); err != nil {
				return err
			}
		}
		c.at = start
		return nil
	} else if !ok && c.translit {
		out, ok = c.encode([]byte(transliterate(r)))
	}
	if !ok {
		if !c.skip && !c.ignore {
			return errIllegal
		}
		c.lost = c.lost || c.ignore && !c.skip
		return nil
	}
	_, err := c.out.Write(out)
	return err
}

func (c *iconvRun) encode(text []byte) ([]byte, bool) {
	switch {
	case c.to == nil:
		return text, true
	case c.encoder == nil:
		for _, b := range text {
			if b >= utf8.RuneSelf {
				return nil, false
			}
		}
		return text, true
	}
	dst := make([]byte, 4*len(text)+16)
	nd, _, err := c.encoder.Transform(dst, text, true)
	if err != nil {
		return nil, false
	}
	return dst[:nd], true
}

var transliterations = map[rune]string{
	'‘': "'", '’': "'", '‚': ",", '‛': "'", '“': "\"", '”': "\"", '„': ",,", '‐': "-", '‑': "-", '‒': "-", '–': "-",
	'—': "--", '―': "-", '…': "...", '€': "EUR", '£': "GBP", '¥': "JPY", '¢': "c",
	'ß': "ss", 'æ': "ae", 'Æ': "AE", 'œ': "oe", 'Œ': "OE", 'ø': "o", 'Ø': "O", 'ł': "l", 'Ł': "L", 'đ': "d", 'Đ': "D",
	'ð': "d", 'Ð': "D", 'þ': "th", 'Þ': "TH", 'ı': "i",
	'™': "(TM)", '©': "(C)", '®': "(R)", '«': "<<", '»': ">>", '‹': "<", '›': ">", '→': "->", '←': "<-", '↔': "<->",
	'⇒': "=>", '½': " 1/2 ", '¼': " 1/4 ", '¾': " 3/4 ", '•': "o", '·': ".",
	'\u00a0': " ", '\u2009': " ", '\u202f': " ", '×': "x", '−': "-", '¡': "?", '¿': "?", 'µ': "u", '\u00ad': "-",
	'≤': "<=", '≥': ">=", '≠': "?",
}

// transliterate is what comes near a character, "?" when nothing does.
func transliterate(r rune) string {
	if s, ok := transliterations[r]; ok {
		return s
	}
	// The letter without its marks.
	if d := norm.NFKD.String(string(r)); d != "" {
		first, n := utf8.DecodeRuneInString(d)
		if first < utf8.RuneSelf {
			s := string(first)
			for _, m := range d[n:] {
				if m < utf8.RuneSelf {
					s += string(m)
				}
			}
			return s
		}
	}
	return "?"
}

func listCharsets(p *proc.Process) int {
	for _, e := range []string{"ASCII", "BIG5", "CP037", "CP1250", "CP1251", "CP1252", "CP1253", "CP1254", "CP1255",
		"CP1256", "CP1257", "CP1258", "CP437", "CP850", "CP852", "CP866", "CP932", "CP936", "CP949", "EUC-CN",
		"EUC-JP", "EUC-KR", "GB18030", "GB2312", "GBK", "ISO-2022-JP", "ISO-8859-1", "ISO-8859-10", "ISO-8859-13",
		"ISO-8859-14", "ISO-8859-15", "ISO-8859-16", "ISO-8859-2", "ISO-8859-3", "ISO-8859-4", "ISO-8859-5",
		"ISO-8859-6", "ISO-8859-7", "ISO-8859-8", "ISO-8859-9", "KOI8-R", "KOI8-U", "LATIN1", "MACINTOSH", "SHIFT_JIS",
		"SJIS", "UCS-2", "UCS-4", "UTF-16", "UTF-16BE", "UTF-16LE", "UTF-32", "UTF-32BE", "UTF-32LE", "UTF-8",
		"WINDOWS-1252"} {
		fmt.Fprintf(p.Out, "%s//\n", e)
	}
	return 0
}
