package datetime

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"encoding/binary"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"
)

// The IANA database as the Go distribution carries it. time.LoadLocation would look on the host first.
//
//go:embed zoneinfo.zip
var zoneinfo []byte

var zones = sync.OnceValue(func() map[string]*zip.File {
	r, err := zip.NewReader(bytes.NewReader(zoneinfo), int64(len(zoneinfo)))
	if err != nil {
		return nil
	}
	m := make(map[string]*zip.File, len(r.File))
	for _, f := range r.File {
		m[f.Name] = f
	}
	return m
})

var loaded sync.Map // name → *time.Location; the database bounds its size

var posixZone = regexp.MustCompile(`^([A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)[+-]?\d{1,3}(:\d{1,2}){0,2}`)

// Zone resolves a value of TZ: a name of the database, or a POSIX rule such as "EST5EDT,M3.2.0,M11.1.0".
// Like in glibc the empty value is UTC, and an unknown name is UTC under another label.
func Zone(tz string) *time.Location {
	tz = strings.TrimPrefix(tz, ":")
	if tz == "" || tz == "UTC" {
		return time.UTC
	}
	if l, ok := loaded.Load(tz); ok {
		return l.(*time.Location)
	}
	if f, ok := zones()[tz]; ok {
		if l, err := load(tz, f); err == nil {
			loaded.Store(tz, l)
			return l
		}
	}
	if len(tz) <= 128 && posixZone.MatchString(tz) {
		if l, err := time.LoadLocationFromTZData("Local", ruleData(tz)); err == nil {
			return l
		}
	}
	n := 0
	for n < len(tz) && (tz[n]|0x20 >= 'a' && tz[n]|0x20 <= 'z') {
		n++
	}
	if n < 3 {
		return time.UTC
	}
	return time.FixedZone(tz[:n], 0)
}

func load(name string, f *zip.File) (*time.Location, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return time.LoadLocationFromTZData(name, data)
}

// ruleData is a TZif file (RFC 8536) that holds nothing but a POSIX rule in its footer.
func ruleData(rule string) []byte {
	header := func(transitions uint32) []byte {
		b := append([]byte("TZif2"), make([]byte, 15)...)
		for _, n := range []uint32{0, 0, 0, transitions, 1, 4} { // isutc, isstd, leap, time, type, char
			b = binary.BigEndian.AppendUint32(b, n)
		}
		return b
	}
	zoneType := []byte{0, 0, 0, 0, 0, 0} // offset 0, no DST, label 0
	b := append(header(0), zoneType...)
	b = append(b, "UTC\x00"...)
	b = append(b, header(1)...)
	// One transition long ago makes every later time look at the rule.
	b = binary.BigEndian.AppendUint64(b, uint64(1<<63))
	b = append(b, 0)
	b = append(b, zoneType...)
	b = append(b, "UTC\x00"...)
	return append(b, "\n"+rule+"\n"...)
}
