package shell

import (
	"maps"
	"slices"
	"strings"
)

func builtinAlias(sh *Shell, args []string) int {
	args = args[1:]
	head := "alias "
	if sh.posix {
		head = ""
	}
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		if a == "-p" {
			head = "alias "
		} else if a != "--" {
			return sh.usage("alias", a[:2])
		}
		args = args[1:]
	}
	if len(args) == 0 {
		for _, n := range slices.Sorted(maps.Keys(sh.aliases)) {
			sh.out(head + n + "=" + singleQuote(sh.aliases[n]) + "\n")
		}
		return 0
	}
	status := 0
	for _, a := range args {
		n, v, ok := strings.Cut(a, "=")
		if ok && !isAliasName(n) {
			sh.errorf("alias: `%s': invalid alias name", n)
			status = 1
			continue
		}
		if ok && n != "" {
			sh.setAlias(n, v)
			continue
		}
		if v, ok := sh.aliases[a]; ok {
			sh.out(head + a + "=" + singleQuote(v) + "\n")
			continue
		}
		sh.errorf("alias: %s: not found", a)
		status = 1
	}
	return status
}

func isAliasName(s string) bool { return !strings.ContainsAny(s, " \t\n|&;()<>/$`\"'\\") }

// setAlias makes an alias, also as an element of BASH_ALIASES.
func (sh *Shell) setAlias(name, text string) {
	if !isAliasName(name) {
		sh.errorf("`%s': invalid alias name", name)
		return
	}
	if sh.aliases == nil {
		sh.aliases = map[string]string{}
	}
	sh.hold(int64(len(name) + len(text)))
	sh.aliases[name] = text
	sh.rereadAliases()
}

// rereadAliases is told of a change of the aliases: what follows is read anew.
func (sh *Shell) rereadAliases() {
	if sh.opts.shopt(expandAliases) {
		sh.readGen++
	}
}

func builtinUnalias(sh *Shell, args []string) int {
	args = args[1:]
	if len(args) == 0 {
		sh.eprint(usageLine("unalias"))
		return 2
	}
	sh.rereadAliases()
	all := false
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
		if bad := strings.Trim(a[1:], "a"); bad != "" {
			return sh.usage("unalias", "-"+bad[:1])
		}
		all = true
	}
	if all {
		sh.aliases = nil
		return 0
	}
	if len(args) == 0 {
		sh.eprint(usageLine("unalias"))
		return 2
	}
	status := 0
	for _, a := range args {
		if _, ok := sh.aliases[a]; !ok {
			sh.errorf("unalias: %s: not found", a)
			status = 1
		}
		delete(sh.aliases, a)
	}
	return status
}
