package command

import "github.com/pgbox/pgbox/gateway/shell/proc"

// byteLocale reports whether the environment asks for the C locale, where every byte is a character.
// Without any setting the sandbox is UTF-8.
func byteLocale(p *proc.Process) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := p.Getenv(name); v != "" {
			return v == "C" || v == "POSIX"
		}
	}
	return false
}
