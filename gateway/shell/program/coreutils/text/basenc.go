package text

import (
	"context"
	"encoding/base32"
	"encoding/base64"
	"math/bits"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var basencSpec = getopt.New("diw:",
	"base64 base64url base32 base32hex base16 base2msbf base2lsbf z85 decode=d ignore-garbage=i wrap:=w").
	WithUsage("[OPTION]... [FILE]", "basenc encode or decode FILE, or standard input, to standard output.")

const z85Digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"

func isUpperHex(c byte) bool { return program.IsDigit(c) || c >= 'A' && c <= 'F' }

func isBit(c byte) bool { return c == '0' || c == '1' }

// radixes are the encodings of basenc by option.
var radixes = map[string]radix{
	"base64": base64Radix,
	"base64url": {
		in: 3, out: 4, encode: base64.URLEncoding.Encode, decode: base64.URLEncoding.Decode,
		valid: func(c byte) bool { return program.IsAlpha(c) || program.IsDigit(c) || c == '-' || c == '_' },
	},
	"base32": base32Radix,
	"base32hex": {
		in: 5, out: 8, encode: base32.HexEncoding.Encode, decode: base32.HexEncoding.Decode,
		valid: func(c byte) bool { return program.IsDigit(c) || c >= 'A' && c <= 'V' },
	},
	"base16": {in: 1, out: 2, encode: encodeHex, decode: decodeHex, valid: isUpperHex},
	"base2msbf": {in: 1, out: 8, encode: func(dst, src []byte) { encodeBits(dst, src, false) },
		decode: func(dst, src []byte) (int, error) { return decodeBits(dst, src, false) }, valid: isBit},
	"base2lsbf": {in: 1, out: 8, encode: func(dst, src []byte) { encodeBits(dst, src, true) },
		decode: func(dst, src []byte) (int, error) { return decodeBits(dst, src, true) }, valid: isBit},
	"z85": {in: 4, out: 5, encode: encodeZ85, decode: decodeZ85,
		valid: func(c byte) bool { return strings.IndexByte(z85Digits, c) >= 0 }, whole: true},
}

func basenc(_ context.Context, p *proc.Process) int {
	opts, _ := basencSpec.Parse(p)
	kind := ""
	for _, o := range opts {
		if _, ok := radixes[o.Key]; ok {
			kind = o.Key
		}
	}
	if kind == "" {
		basencSpec.Fail(p, "missing encoding type")
	}
	return baseEncode(p, basencSpec, radixes[kind])
}

func encodeHex(dst, src []byte) {
	for i, c := range src {
		dst[2*i], dst[2*i+1] = "0123456789ABCDEF"[c>>4], "0123456789ABCDEF"[c&15]
	}
}

func decodeHex(dst, src []byte) (int, error) {
	var v [2]byte
	for i := range v {
		k := strings.IndexByte("0123456789ABCDEF", src[i])
		if k < 0 {
			return 0, errIncomplete
		}
		v[i] = byte(k)
	}
	dst[0] = v[0]<<4 | v[1]
	return 1, nil
}

func encodeBits(dst, src []byte, low bool) {
	for i, c := range src {
		if low {
			c = bits.Reverse8(c)
		}
		for k := range 8 {
			dst[8*i+k] = '0' + c>>(7-k)&1
		}
	}
}

func decodeBits(dst, src []byte, low bool) (int, error) {
	var v byte
	for _, c := range src {
		if !isBit(c) {
			return 0, errIncomplete
		}
		v = v<<1 | (c - '0')
	}
	if low {
		v = bits.Reverse8(v)
	}
	dst[0] = v
	return 1, nil
}

func encodeZ85(dst, src []byte) {
	for ; len(src) > 0; dst, src = dst[5:], src[4:] {
		v := uint32(src[0])<<24 | uint32(src[1])<<16 | uint32(src[2])<<8 | uint32(src[3])
		for k := 4; k >= 0; k-- {
			dst[k] = z85Digits[v%85]
			v /= 85
		}
	}
}

func decodeZ85(dst, src []byte) (int, error) {
	var v uint64
	for _, c := range src {
		k := strings.IndexByte(z85Digits, c)
		if k < 0 {
			return 0, errIncomplete
		}
		v = v*85 + uint64(k)
	}
	if v > 1<<32-1 {
		return 0, errIncomplete
	}
	dst[0], dst[1], dst[2], dst[3] = byte(v>>24), byte(v>>16), byte(v>>8), byte(v)
	return 4, nil
}
