package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"sort"
)

var (
	levels = []string{"INFO ", "INFO ", "INFO ", "DEBUG", "WARN ", "ERROR"}
	verbs  = []string{"GET", "POST", "PUT", "DELETE"}
	notes  = []string{"ok", "cache hit", "cache miss", "retry after timeout", "Timeout reached", "connection refused",
		"naïve café", "deadlock found", "user said: \"hello\"", "nothing to do"}
	words = []string{"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"}
)

// appendLogLine adds a line of about 110 bytes that looks like a web server's log.
func appendLogLine(b []byte, r *rand.Rand, i int) []byte {
	status := 200
	if r.IntN(10) == 0 {
		status = []int{201, 304, 404, 500, 503}[r.IntN(5)]
	}
	return fmt.Appendf(b,
		"2026-03-%02dT%02d:%02d:%02d.%03dZ %s worker-%d %s path=/api/v1/items/%d user=%c%02d%c status=%d took=%dms %s\n",
		1+i/50_000%28, i/3600%24, i/60%60, i%60, r.IntN(1000), levels[r.IntN(len(levels))], r.IntN(16),
		verbs[r.IntN(len(verbs))],
		r.IntN(100_000), 'a'+rune(r.IntN(26)), r.IntN(100), 'p'+rune(r.IntN(10)), status, r.IntN(2000),
		notes[r.IntN(len(notes))])
}

// writeLog writes size bytes of log lines.
func writeLog(w io.Writer, size int64) error {
	r := rand.New(rand.NewPCG(2, 3))
	var b []byte
	for i := 0; size > 0; i++ {
		if b = appendLogLine(b, r, i); int64(len(b)) < min(size, 1<<20) {
			continue
		}
		b = b[:min(int64(len(b)), size)]
		if _, err := w.Write(b); err != nil {
			return err
		}
		size -= int64(len(b))
		b = b[:0]
	}
	return nil
}

// shellFiles is what the scripts of the shell's table read: texts of size bytes, and trees of small files. It is the
// same in every run.
func shellFiles(size, found, packed int) map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	files := map[string][]byte{}
	var b []byte
	for i := 0; len(b) < size; i++ {
		b = appendLogLine(b, r, i)
	}
	files["log"] = b
	var packedLog bytes.Buffer
	z := gzip.NewWriter(&packedLog)
	_, _ = z.Write(b)
	_ = z.Close()
	files["log.gz"] = packedLog.Bytes()
	b = nil
	for len(b) < size {
		b = fmt.Appendf(b, "key%06d\t%d\t%d.%02d\t%s%d\n", r.IntN(500_000), r.IntN(1_000_000), r.IntN(1000), r.IntN(100),
			words[r.IntN(len(words))], r.IntN(1000))
	}
	files["table"] = b
	var lines, array bytes.Buffer
	array.WriteByte('[')
	for i := 0; lines.Len() < size; i++ {
		object := fmt.Sprintf(`{"id":%d,"user":"%s%d","status":%d,"took":%d.%d,"tags":["%s","%s"],"geo":{"lat":%.4f,"lon":%.4f},"active":%t,"note":"%s"}`,
			i, words[r.IntN(len(words))], r.IntN(100), []int{200, 200, 200, 404, 503}[r.IntN(5)], r.IntN(1000), r.IntN(10),
			words[r.IntN(len(words))], words[r.IntN(len(words))], r.Float64()*180-90, r.Float64()*360-180, r.IntN(2) == 0,
			words[r.IntN(len(words))])
		lines.WriteString(object + "\n")
		if i > 0 {
			array.WriteString(", ")
		}
		array.WriteString(object)
	}
	array.WriteString("]\n")
	files["ndjson"], files["array"] = lines.Bytes(), array.Bytes()
	b = nil
	for i := range 100_000 {
		b = fmt.Appendf(b, "line%d some words here %d\n", i, i*7)
	}
	files["lines"], files["few"] = b, b[:bytes.Index(b, []byte("line20 "))]
	for _, name := range []string{"sorted1", "sorted2"} {
		var keys []string
		for n := 0; n < size/2; n += 24 {
			keys = append(keys, fmt.Sprintf("k%08d value of %6d\n", r.IntN(3_000_000), r.IntN(1_000_000)))
		}
		sort.Strings(keys)
		for _, k := range keys {
			files[name] = append(files[name], k...)
		}
	}
	for i := range found {
		files[fmt.Sprintf("tree/d%d/e%d/file%d.txt", i%20, i/20%10, i)] = []byte("x\n")
	}
	for i := range packed {
		files[fmt.Sprintf("small/d%d/file%d.go", i%10, i)] = []byte(sourceText(i, 2000))
	}
	return files
}
