package extra

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"math/big"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/digest"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// opensslDigests are the digests by the name of their option, with the name that is printed.
var opensslDigests = map[string]struct {
	name string
	new  func() hash.Hash
}{
	"md5": {"MD5", md5.New}, "sha1": {"SHA1", sha1.New}, "sha224": {"SHA2-224", sha256.New224},
	"sha256": {"SHA2-256", sha256.New}, "sha384": {"SHA2-384", sha512.New384}, "sha512": {"SHA2-512", sha512.New},
	"sha512-224": {"SHA2-512/224", sha512.New512_224}, "sha512-256": {"SHA2-512/256", sha512.New512_256},
	"sha3-224": {"SHA3-224", func() hash.Hash { return sha3.New224() }},
	"sha3-256": {"SHA3-256", func() hash.Hash { return sha3.New256() }},
	"sha3-384": {"SHA3-384", func() hash.Hash { return sha3.New384() }},
	"sha3-512": {"SHA3-512", func() hash.Hash { return sha3.New512() }},
	"sm3":      {"SM3", digest.NewSM3}, "blake2b512": {"BLAKE2B-512", func() hash.Hash { return digest.NewBlake2b(512) }},
}

type opensslRun struct {
	p    *proc.Process
	name string
}

// openssl has the commands that scripts use on files: dgst, base64, enc with AES, rand, prime and version.
func openssl(_ context.Context, p *proc.Process) int {
	if len(p.Args) < 2 || p.Args[1] == "help" || p.Args[1] == "-help" || p.Args[1] == "--help" {
		p.Err.WriteString("help:\n\nStandard commands\nbase64            dgst              enc               help              \nprime             rand              version           \n")
		return 0
	}
	o := &opensslRun{p: p, name: p.Args[1]}
	args := p.Args[2:]
	switch o.name {
	case "version":
		p.Out.WriteString("OpenSSL 3.0.19 27 Jan 2026 (Library: OpenSSL 3.0.19 27 Jan 2026)\n")
		return 0
	case "dgst":
		return o.dgst("", args)
	case "base64":
		return o.enc("base64", args)
	case "enc":
		return o.enc("", args)
	case "rand":
		return o.rand(args)
	case "prime":
		return o.prime(args)
	}
	if _, ok := opensslDigests[o.name]; ok {
		return o.dgst(o.name, args)
	}
	if _, _, ok := opensslCipher(o.name); ok {
		return o.enc(o.name, args)
	}
	for known := range strings.FieldsSeq("asn1parse ca ciphers cms crl dhparam dsa ec ecparam gendsa genpkey genrsa list passwd pkcs12 pkcs7 pkcs8 pkey pkeyutl req rsa rsautl s_client s_server s_time sess_id smime speed spkac srp storeutl ts verify x509 kdf mac") {
		if o.name == known {
			p.Err.WriteString("openssl: " + known + " is not supported here; dgst, base64, enc, rand, prime and version are\n")
			return 1
		}
	}
	p.Err.WriteString("Invalid command '" + o.name + "'; type \"help\" for a list.\n")
	return 1
}

func (o *opensslRun) fail(format string, args ...any) int {
	o.p.Out.Flush()
	fmt.Fprintf(o.p.Err, o.name+": "+format+"\n"+o.name+": Use -help for summary.\n", args...)
	return 1
}

func (o *opensslRun) cannotOpen(name string, err error) int {
	o.p.Out.Flush()
	fmt.Fprintf(o.p.Err, "%s: %s\n", name, proc.Strerror(err))
	return 1
}

// output writes to where -out says.
func (o *opensslRun) output(name string, data []byte) int {
	if name == "" || name == "-" {
		o.p.Out.Write(data)
		return 0
	}
	f, err := o.p.Open(name, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
	if err == nil {
		_, err = f.Write(data)
		_ = f.Close()
	}
	if err != nil {
		fmt.Fprintf(o.p.Err, "Can't open \"%s\" for writing, %s\n", name, proc.Strerror(err))
		return 1
	}
	return 0
}

func (o *opensslRun) dgst(digest string, args []string) int {
	out, key, keyed := "", []byte(nil), false
	binary, coreutils, colons := false, false, false
	shown := "SHA256"
	if digest != "" {
		shown = opensslDigests[digest].name
	} else {
		digest = "sha256"
	}
	var files []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		if len(a) < 2 || a[0] != '-' {
			files = args[i:]
			break
		}
		value := func() string {
			if i++; i < len(args) {
				return args[i]
			}
			o.p.Exit(o.fail("Option -%s needs a value", strings.TrimLeft(a, "-")))
			return ""
		}
		switch name := strings.TrimPrefix(strings.TrimPrefix(a, "-"), "-"); name {
		case "hex":
			binary = false
		case "binary":
			binary = true
		case "r":
			coreutils = true
		case "c":
			colons = true
		case "hmac":
			key, keyed = []byte(value()), true
		case "mac":
			if v := value(); !strings.EqualFold(v, "hmac") {
				return o.fail("MAC %s is not supported here", v)
			}
			keyed = true
		case "macopt":
			kind, v, _ := strings.Cut(value(), ":")
			key = []byte(v)
			if kind == "hexkey" {
				var err error
				if key, err = hex.DecodeString(v); err != nil {
					return o.fail("MAC parameter error \"hexkey:%s\"", v)
				}
			}
		case "out":
			out = value()
		case "list":
			o.p.Out.WriteString("Supported digests:\n")
			for _, n := range []string{"blake2b512", "md5", "sha1", "sha224", "sha256", "sha3-224", "sha3-256", "sha3-384",
				"sha3-512", "sha384", "sha512", "sha512-224", "sha512-256", "sm3"} {
				fmt.Fprintf(o.p.Out, "-%s\n", n)
			}
			return 0
		case "sign", "verify", "prverify", "signature", "sigopt", "keyform", "passin", "engine":
			return o.fail("-%s is not supported here", name)
		default:
			d, ok := opensslDigests[strings.ToLower(name)]
			if !ok {
				return o.fail("Unknown option or message digest: %s", name)
			}
			digest, shown = strings.ToLower(name), d.name
		}
	}
	var b bytes.Buffer
	status := 0
	names := files
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		h := opensslDigests[digest].new()
		if keyed {
			h = hmac.New(opensslDigests[digest].new, key)
		}
		if err := program.WithInput(o.p, name, func(_ string, r io.Reader) error {
			return program.ReadBlocks(o.p, r, func(block []byte) { _, _ = h.Write(block) })
		}); err != nil {
			status = o.cannotOpen(name, err)
			continue
		}
		if len(files) == 0 {
			name = "stdin"
		}
		sum := h.Sum(nil)
		text := hex.EncodeToString(sum)
		switch {
		case binary:
			b.Write(sum)
		case coreutils:
			fmt.Fprintf(&b, "%s *%s\n", text, name)
		default:
			if colons {
				text = strings.ReplaceAll(fmt.Sprintf("% x", sum), " ", ":")
			}
			label := shown
			if keyed {
				label = "HMAC-" + opensslDigests[digest].name
			}
			fmt.Fprintf(&b, "%s(%s)= %s\n", label, name, text)
		}
	}
	return max(o.output(out, b.Bytes()), status)
}

func (o *opensslRun) rand(args []string) int {
	out, form, count := "", "", ""
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-hex" || a == "-base64":
			form = a
		case a == "-out" && i+1 < len(args):
			i++
			out = args[i]
		case strings.HasPrefix(a, "-"):
			return o.fail("Unknown option: %s", strings.TrimLeft(a, "-"))
		default:
			count = a
		}
	}
	if count == "" {
		return o.fail("Extra arguments given.")
	}
	n, err := strconv.Atoi(count)
	if err != nil {
		return o.fail("Can't parse \"%s\" as a number", count)
	}
	if n <= 0 {
		o.p.Err.WriteString("rand: Use -help for summary.\n")
		return 1
	}
	if n > 64<<20 {
		return o.fail("at most %d bytes", 64<<20)
	}
	o.p.Hold(3 * n)
	defer o.p.Release(3 * n)
	data := make([]byte, n)
	_, _ = rand.Read(data)
	switch form {
	case "-hex":
		data = append(hex.AppendEncode(nil, data), '\n')
	case "-base64":
		data = opensslLines(data)
	}
	return o.output(out, data)
}

// opensslLines is base64 in lines of 64 characters.
func opensslLines(data []byte) []byte {
	text := base64.StdEncoding.EncodeToString(data)
	var b bytes.Buffer
	for len(text) > 0 {
		n := min(64, len(text))
		b.WriteString(text[:n] + "\n")
		text = text[n:]
	}
	return b.Bytes()
}

func (o *opensslRun) prime(args []string) int {
	base := 10
	for _, a := range args {
		if a == "-hex" {
			base = 16
			continue
		}
		n, ok := new(big.Int).SetString(a, base)
		if !ok || len(a) > 2000 {
			return o.fail("Failed to process value (%s)", a)
		}
		is := "is not"
		if n.ProbablyPrime(20) {
			is = "is"
		}
		fmt.Fprintf(o.p.Out, "%s (%s) %s prime\n", strings.ToUpper(n.Text(16)), a, is)
	}
	return 0
}

// opensslCipher reads aes-256-cbc and its like.
func opensslCipher(name string) (bits int, mode string, ok bool) {
	name = strings.ToLower(name)
	if n, known := map[string]int{"aes128": 128, "aes192": 192, "aes256": 256}[name]; known {
		return n, "cbc", true
	}
	rest, ok := strings.CutPrefix(name, "aes-")
	size, mode, ok2 := strings.Cut(rest, "-")
	bits, err := strconv.Atoi(size)
	if !ok || !ok2 || err != nil || bits != 128 && bits != 192 && bits != 256 ||
		mode != "cbc" && mode != "ctr" && mode != "ecb" {
		return 0, "", false
	}
	return bits, mode, true
}

type opensslEnc struct {
	decrypt, base64, oneLine, noSalt, printKey, noPad bool
	cipher, in, out                                   string
	pass, key, iv, salt                               string
	hasPass                                           bool
	pbkdf2                                            bool
	iter                                              int
	digest                                            string
}

func (o *opensslRun) enc(kind string, args []string) int {
	e := &opensslEnc{digest: "sha256", iter: 10000}
	if kind == "base64" {
		e.base64 = true
	} else {
		e.cipher = kind
	}
	for i := 0; i < len(args); i++ {
		a := args[i]
		if len(a) < 2 || a[0] != '-' {
			return o.fail("Extra option: \"%s\"", a)
		}
		value := func() string {
			if i++; i < len(args) {
				return args[i]
			}
			o.p.Exit(o.fail("Option %s needs a value", a))
			return ""
		}
		switch name := strings.TrimPrefix(strings.TrimPrefix(a, "-"), "-"); name {
		case "d":
			e.decrypt = true
		case "e":
			e.decrypt = false
		case "a", "base64":
			e.base64 = true
		case "A":
			e.oneLine = true
		case "in":
			e.in = value()
		case "out":
			e.out = value()
		case "pass":
			v := value()
			from, rest, _ := strings.Cut(v, ":")
			switch from {
			case "pass":
				e.pass = rest
			case "env":
				e.pass = o.p.Getenv(rest)
			case "file":
				data, err := o.p.ReadFile(rest)
				if err != nil {
					return o.cannotOpen(rest, err)
				}
				e.pass, _, _ = strings.Cut(string(data), "\n")
			case "stdin":
				l := program.NewLineReader(o.p, o.p.Stdin, '\n')
				line, _ := l.Next()
				e.pass = string(program.Chomp(line, '\n'))
				l.Close()
			default:
				return o.fail("Error getting password")
			}
			e.hasPass = true
		case "k":
			e.pass, e.hasPass = value(), true
		case "K":
			e.key = value()
		case "iv":
			e.iv = value()
		case "S":
			e.salt = value()
		case "nosalt":
			e.noSalt = true
		case "salt", "v":
		case "nopad":
			e.noPad = true
		case "p", "P":
			e.printKey = true
		case "pbkdf2":
			e.pbkdf2 = true
		case "iter":
			n, err := strconv.Atoi(value())
			if err != nil || n < 1 || n > 10_000_000 {
				return o.fail("Non-positive number \"%s\" for option -iter", args[i])
			}
			e.pbkdf2, e.iter = true, n
		case "md":
			e.digest = strings.ToLower(value())
			if _, ok := opensslDigests[e.digest]; !ok {
				return o.fail("Unknown message digest: %s", e.digest)
			}
		default:
			if _, _, ok := opensslCipher(name); !ok {
				return o.fail("Unknown option or cipher: %s", name)
			}
			e.cipher = name
		}
	}
	in := e.in
	if in == "" {
		in = "-"
	}
	var data []byte
	if err := program.WithInput(o.p, in, func(_ string, r io.Reader) (err error) {
		data, err = o.p.ReadAll(r)
		return err
	}); err != nil {
		fmt.Fprintf(o.p.Err, "Can't open \"%s\" for reading, %s\n", in, proc.Strerror(err))
		return 1
	}
	held := 4*len(data) + 256
	o.p.Hold(held)
	defer o.p.Release(held)
	if e.base64 && e.decrypt {
		data = opensslDecode(data)
	}
	if e.cipher != "" {
		var status int
		if data, status = o.crypt(e, data); status != 0 {
			return status
		}
	}
	if e.base64 && !e.decrypt {
		if e.oneLine {
			data = base64.StdEncoding.AppendEncode(nil, data)
		} else {
			data = opensslLines(data)
		}
	}
	return o.output(e.out, data)
}

// opensslDecode reads base64 up to the first thing that is none, without a word.
func opensslDecode(data []byte) []byte {
	text := bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == ' ' || r == '\t' {
			return -1
		}
		return r
	}, data)
	out, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		return nil
	}
	return out
}

// crypt encrypts or decrypts with a key that is given or comes from a password.
func (o *opensslRun) crypt(e *opensslEnc, data []byte) ([]byte, int) {
	bits, mode, _ := opensslCipher(e.cipher)
	size := bits / 8
	var key, iv []byte
	var err error
	header := []byte(nil)
	if e.key != "" {
		if key, err = hex.DecodeString(e.key); err != nil {
			return nil, o.fail("invalid hex key value")
		}
		key = append(key, make([]byte, size)...)[:size]
		if e.iv == "" && mode != "ecb" {
			o.p.Err.WriteString("iv undefined\n")
			return nil, 1
		}
	} else {
		if !e.hasPass {
			o.p.Err.WriteString("enter " + e.cipher + " encryption password: there is no terminal; use -pass or -K\n")
			return nil, 1
		}
		var salt []byte
		switch {
		case e.noSalt:
		case e.salt != "":
			if salt, err = hex.DecodeString(e.salt); err != nil {
				return nil, o.fail("invalid hex salt value")
			}
			salt = append(salt, make([]byte, 8)...)[:8]
		case e.decrypt:
			if len(data) < 16 || string(data[:8]) != "Salted__" {
				o.p.Err.WriteString("bad magic number\n")
				return nil, 1
			}
			salt, data = data[8:16], data[16:]
		default:
			salt = make([]byte, 8)
			_, _ = rand.Read(salt)
			header = append([]byte("Salted__"), salt...)
		}
		key, iv = o.derive(e, salt, size)
	}
	if e.iv != "" {
		if iv, err = hex.DecodeString(e.iv); err != nil {
			return nil, o.fail("invalid hex iv value")
		}
		iv = append(iv, make([]byte, 16)...)[:16]
	}
	if e.printKey {
		if len(header) > 0 {
			fmt.Fprintf(o.p.Out, "salt=%X\n", header[8:])
		}
		fmt.Fprintf(o.p.Out, "key=%X\n", key)
		if mode != "ecb" {
			fmt.Fprintf(o.p.Out, "iv =%X\n", iv)
		}
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, o.fail("%v", err)
	}
	if mode == "ctr" {
		data = bytes.Clone(data)
		stream := cipher.NewCTR(block, iv)
		for rest := data; len(rest) > 0; {
			n := min(len(rest), 64<<10)
			o.p.Tick(64)
			stream.XORKeyStream(rest[:n], rest[:n])
			rest = rest[n:]
		}
		return append(header, data...), 0
	}
	if !e.decrypt && !e.noPad {
		pad := aes.BlockSize - len(data)%aes.BlockSize
		data = append(data[:len(data):len(data)], bytes.Repeat([]byte{byte(pad)}, pad)...)
	}
	if len(data)%aes.BlockSize != 0 || e.decrypt && len(data) == 0 {
		o.p.Err.WriteString("bad decrypt\n")
		return nil, 1
	}
	data = bytes.Clone(data)
	for at := 0; at < len(data); at += aes.BlockSize {
		if at%4096 == 0 {
			o.p.Tick(4)
		}
		piece := data[at : at+aes.BlockSize]
		switch {
		case mode == "ecb" && e.decrypt:
			block.Decrypt(piece, piece)
		case mode == "ecb":
			block.Encrypt(piece, piece)
		case e.decrypt:
			next := bytes.Clone(piece)
			cipher.NewCBCDecrypter(block, iv).CryptBlocks(piece, piece)
			iv = next
		default:
			cipher.NewCBCEncrypter(block, iv).CryptBlocks(piece, piece)
			iv = piece
		}
	}
	if e.decrypt && !e.noPad {
		pad := int(data[len(data)-1])
		if pad < 1 || pad > aes.BlockSize || !bytes.HasSuffix(data, bytes.Repeat([]byte{byte(pad)}, pad)) {
			o.p.Err.WriteString("bad decrypt\n")
			return nil, 1
		}
		data = data[:len(data)-pad]
	}
	return append(header, data...), 0
}

// derive makes key and iv of a password: with PBKDF2, or as EVP_BytesToKey does with one round.
func (o *opensslRun) derive(e *opensslEnc, salt []byte, size int) (key, iv []byte) {
	digest := opensslDigests[e.digest].new
	if e.pbkdf2 {
		out := o.pbkdf2(digest, e.pass, salt, e.iter, size+16)
		return out[:size], out[size:]
	}
	o.p.Err.WriteString("*** WARNING : deprecated key derivation used.\nUsing -iter or -pbkdf2 would be better.\n")
	var out, last []byte
	for len(out) < size+16 {
		h := digest()
		_, _ = h.Write(last)
		_, _ = h.Write([]byte(e.pass))
		_, _ = h.Write(salt)
		last = h.Sum(nil)
		out = append(out, last...)
	}
	return out[:size], out[size : size+16]
}

// pbkdf2 is RFC 8018, section 5.2; the rounds may be many, so that they are counted.
func (o *opensslRun) pbkdf2(digest func() hash.Hash, pass string, salt []byte, rounds, size int) []byte {
	mac := hmac.New(digest, []byte(pass))
	var out []byte
	for n := uint32(1); len(out) < size; n++ {
		mac.Reset()
		_, _ = mac.Write(salt)
		_, _ = mac.Write(binary.BigEndian.AppendUint32(nil, n))
		u := mac.Sum(nil)
		t := bytes.Clone(u)
		for range rounds - 1 {
			o.p.Tick(1)
			mac.Reset()
			_, _ = mac.Write(u)
			u = mac.Sum(u[:0])
			for i := range t {
				t[i] ^= u[i]
			}
		}
		out = append(out, t...)
	}
	return out[:size]
}
