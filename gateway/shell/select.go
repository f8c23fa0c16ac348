package shell

import "strings"

// selectLoop is select: a menu on stderr, the choice from stdin.
func (sh *Shell) selectLoop(c *forCmd) {
	if sh.opts.get('x') {
		sh.traceFor("select ", c)
	}
	words := sh.args
	if c.in {
		words = sh.fields(c.words)
	}
	sh.status = 0
	if len(words) == 0 {
		return
	}
	sh.enter()
	sh.loops++
	menu := true
	for {
		sh.tick()
		if menu {
			w := len(itoa(len(words)))
			for i, s := range words {
				n := itoa(i + 1)
				sh.eprint(strings.Repeat(" ", w-len(n)) + n + ") " + s + "\n")
			}
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
