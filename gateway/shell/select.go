package shell

import (
	"strconv"
	"strings"

	"github.com/mattn/go-runewidth"
)

// selectLoop is select: a menu on stderr, the choice from stdin.
func (sh *Shell) selectLoop(c *forCmd) {
	if sh.opts.get('x') {
		sh.traceFor("select ", c)
	}
	words := sh.args
	if c.in {
		words = sh.fields(c.words)
	}
	if len(words) == 0 {
		sh.status = 0
		return
	}
	sh.enter()
	sh.loops++
	menu := true
	for {
		sh.tick()
		if menu {
			sh.eprint(sh.menu(words))
			menu = false
		}
		ps3, ok := sh.get("PS3")
		if !ok {
			ps3 = "#? "
		}
		sh.eprint(ps3)
		d := sh.fds.get(0)
		if d == nil {
			sh.status = 1
			break
		}
		line, err := sh.readLine(d, '\n')
		if err != nil && line == "" {
			sh.out("\n")
			sh.flush("select")
			sh.status = 1
			break
		}
		line = strings.TrimSuffix(line, "\n")
		sh.setVar("REPLY", line)
		if strings.TrimSpace(line) == "" {
			menu = true
			continue
		}
		choice := ""
		n := 0
		for _, ch := range []byte(strings.TrimSpace(line)) {
			if ch < '0' || ch > '9' || n > 1<<20 {
				n = 0
				break
			}
			n = n*10 + int(ch-'0')
		}
		if n > 0 && n <= len(words) {
			choice = words[n-1]
		}
		sh.setVar(c.name, choice)
		sh.stmts(c.do)
		if sh.loopEnd() {
			break
		}
	}
	sh.loops--
	sh.leave()
}

// menu lays the words of a select out in columns, as wide as $COLUMNS.
func (sh *Shell) menu(words []string) string {
	width, err := strconv.Atoi(sh.str("COLUMNS"))
	if err != nil || width <= 0 {
		width = 80
	}
	longest := 0
	for _, s := range words {
		longest = max(longest, runewidth.StringWidth(s))
	}
	digits := len(itoa(len(words)))
	column := longest + digits + len(") ") + 2
	cols := max(width/column, 1)
	rows := (len(words) + cols - 1) / cols
	if rows == 1 {
		rows = len(words)
	}
	var b strings.Builder
	for row := range rows {
		for i, pos := row, 0; ; pos += column {
			w := digits
			if pos == 0 {
				w = len(itoa(rows))
			}
			n := itoa(i + 1)
			b.WriteString(strings.Repeat(" ", max(w-len(n), 0)) + n + ") " + words[i])
			at := pos + max(w, len(n)) + len(") ") + runewidth.StringWidth(words[i])
			if i += rows; i >= len(words) {
				break
			}
			for at < pos+column {
				if (pos+column)/8 > at/8 {
					b.WriteByte('\t')
					at += 8 - at%8
				} else {
					b.WriteByte(' ')
					at++
				}
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
