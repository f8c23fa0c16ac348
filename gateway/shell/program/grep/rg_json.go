package grep

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"
)

// rgJSON prints what --json asks for: one object a line.
type rgJSON struct {
	g     *rgRun
	began bool
	from  int64 // bytes printed before the file
	at    time.Time
	bytes int64 // bytes searched before the file
	lines int64 // bytes printed of all files, without the ends
}

// rgText is a string, or base64 where it is not UTF-8.
type rgText struct {
	Text  *string `json:"text,omitempty"`
	Bytes *string `json:"bytes,omitempty"`
}

func newRgText(b []byte) rgText {
	s := string(b)
	if utf8.Valid(b) {
		return rgText{Text: &s}
	}
	s = base64.StdEncoding.EncodeToString(b)
	return rgText{Bytes: &s}
}

type rgSubmatch struct {
	Match rgText `json:"match"`
	Start int    `json:"start"`
	End   int    `json:"end"`
}

type rgElapsed struct {
	Secs  int64  `json:"secs"`
	Nanos int64  `json:"nanos"`
	Human string `json:"human"`
}

func newRgElapsed(d time.Duration) rgElapsed {
	return rgElapsed{int64(d / time.Second), int64(d % time.Second), fmt.Sprintf("%.6fs", d.Seconds())}
}

type rgFileStats struct {
	Elapsed     rgElapsed `json:"elapsed"`
	Searches    int       `json:"searches"`
	WithMatch   int       `json:"searches_with_match"`
	Searched    int64     `json:"bytes_searched"`
	Printed     int64     `json:"bytes_printed"`
	MatchedLine int       `json:"matched_lines"`
	Matches     int       `json:"matches"`
}

func (j *rgJSON) print(v any) {
	enc := json.NewEncoder(j.g.out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the writer does not fail
}

func (j *rgJSON) event(kind string, data any) {
	j.print(struct {
		Type string `json:"type"`
		Data any    `json:"data"`
	}{kind, data})
}

func (j *rgJSON) begin() {
	j.began, j.from, j.at = true, j.g.out.n, j.g.p.Now()
	j.event("begin", struct {
		Path rgText `json:"path"`
	}{newRgText([]byte(j.g.name))})
}

func (j *rgJSON) line(kind string, b []byte, s, e int, number int64) {
	g := j.g
	subs := []rgSubmatch{}
	if kind == "match" && !g.invert {
		text := g.bare(b, s, e)
		g.eachMatch(text, func(loc []int) {
			subs = append(subs, rgSubmatch{newRgText(text[loc[0]:loc[1]]), loc[0], loc[1]})
		})
	}
	j.event(kind, struct {
		Path   rgText       `json:"path"`
		Lines  rgText       `json:"lines"`
		Number int64        `json:"line_number"`
		Offset int          `json:"absolute_offset"`
		Subs   []rgSubmatch `json:"submatches"`
	}{newRgText([]byte(g.name)), newRgText(b[s:e]), number, s, subs})
}

// end closes a file that had matches.
func (j *rgJSON) end(nul int) {
	g := j.g
	searched := g.total.bytes - j.bytes
	j.bytes = g.total.bytes
	if !j.began {
		return
	}
	j.began = false
	var binary *int
	if nul >= 0 {
		binary = &nul
	}
	printed := g.out.n - j.from
	j.lines += printed
	j.event("end", struct {
		Path   rgText      `json:"path"`
		Binary *int        `json:"binary_offset"`
		Stats  rgFileStats `json:"stats"`
	}{newRgText([]byte(g.name)), binary, rgFileStats{
		newRgElapsed(g.p.Now().Sub(j.at)), 1, 1, searched, printed, g.selected, g.matches,
	}})
}

func (j *rgJSON) summary() {
	t := j.g.total
	took := newRgElapsed(j.g.p.Now().Sub(j.g.began))
	// The summary has its keys in another order than the other objects.
	type elapsed struct {
		Human string `json:"human"`
		Nanos int64  `json:"nanos"`
		Secs  int64  `json:"secs"`
	}
	type stats struct {
		Printed     int64   `json:"bytes_printed"`
		Searched    int64   `json:"bytes_searched"`
		Elapsed     elapsed `json:"elapsed"`
		MatchedLine int     `json:"matched_lines"`
		Matches     int     `json:"matches"`
		Searches    int     `json:"searches"`
		WithMatch   int     `json:"searches_with_match"`
	}
	type summary struct {
		Total elapsed `json:"elapsed_total"`
		Stats stats   `json:"stats"`
	}
	el := elapsed{took.Human, took.Nanos, took.Secs}
	j.print(struct {
		Data summary `json:"data"`
		Type string  `json:"type"`
	}{summary{el, stats{j.lines, t.bytes, el, t.lines, t.matches, t.searched, t.matched}}, "summary"})
}
