package shell

import (
	"slices"
	"strings"
)

// options are the switches of set and shopt.
type options struct {
	set1  uint64 // single-letter options of set, by letter
	shops uint64
}

func letterBit(c byte) uint64 {
	if 'a' <= c && c <= 'z' {
		return 1 << (c - 'a')
	}
	return 1 << (26 + c - 'A')
}

func (o *options) get(c byte) bool { return o.set1&letterBit(c) != 0 }

func (o *options) set(c byte, on bool) {
	if on {
		o.set1 |= letterBit(c)
	} else {
		o.set1 &^= letterBit(c)
	}
}

func (o *options) shopt(i shoptIndex) bool { return o.shops&(1<<i) != 0 }

func (o *options) setShopt(i shoptIndex, on bool) {
	if on {
		o.shops |= 1 << i
	} else {
		o.shops &^= 1 << i
	}
}

type shoptIndex uint

// The shopt options, in the order shopt lists them. extglob and the like change how the evaluator works; those that
// only matter to interactive shells are remembered.
const (
	autocd shoptIndex = iota
	assocExpandOnce
	cdableVars
	cdspell
	checkhash
	checkjobs
	checkwinsize
	cmdhist
	compat31
	compat32
	compat40
	compat41
	compat42
	compat43
	compat44
	completeFullquote
	direxpand
	dirspell
	dotglob
	execfail
	expandAliases
	extdebug
	extglob
	extquote
	failglob
	forceFignore
	globasciiranges
	globskipdots
	globstar
	gnuErrfmt
	histappend
	histreedit
	histverify
	hostcomplete
	huponexit
	inheritErrexit
	interactiveComments
	lastpipe
	lithist
	localvarInherit
	localvarUnset
	loginShell
	mailwarn
	noEmptyCmdCompletion
	nocaseglob
	nocasematch
	noexpandTranslation
	nullglob
	patsubReplacement
	progcomp
	progcompAlias
	promptvars
	restrictedShell
	shiftVerbose
	sourcepath
	varredirClose
	xpgEcho
)

var shoptNames = []string{"autocd", "assoc_expand_once", "cdable_vars", "cdspell", "checkhash", "checkjobs",
	"checkwinsize", "cmdhist",
	"compat31", "compat32", "compat40", "compat41", "compat42", "compat43", "compat44", "complete_fullquote", "direxpand",
	"dirspell",
	"dotglob", "execfail", "expand_aliases", "extdebug", "extglob", "extquote", "failglob", "force_fignore",
	"globasciiranges",
	"globskipdots", "globstar", "gnu_errfmt", "histappend", "histreedit", "histverify", "hostcomplete", "huponexit",
	"inherit_errexit",
	"interactive_comments", "lastpipe", "lithist", "localvar_inherit", "localvar_unset", "login_shell", "mailwarn",
	"no_empty_cmd_completion", "nocaseglob", "nocasematch", "noexpand_translation", "nullglob", "patsub_replacement",
	"progcomp",
	"progcomp_alias", "promptvars", "restricted_shell", "shift_verbose", "sourcepath", "varredir_close", "xpg_echo"}

func shoptByName(name string) (shoptIndex, bool) {
	i := slices.Index(shoptNames, name)
	return shoptIndex(max(i, 0)), i >= 0
}

// setNames maps set -o names to letters; upper-case letters past 'Z' of bash stand for options without one.
var setNames = []struct {
	name   string
	letter byte
}{
	{"allexport", 'a'}, {"braceexpand", 'B'}, {"emacs", 'X'}, {"errexit", 'e'}, {"errtrace", 'E'}, {"functrace", 'T'},
	{"hashall", 'h'}, {"histexpand", 'H'}, {"history", 'Y'}, {"ignoreeof", 'Z'}, {"interactive-comments", 'I'},
	{"keyword", 'k'},
	{"monitor", 'm'}, {"noclobber", 'C'}, {"noexec", 'n'}, {"noglob", 'f'}, {"nolog", 'L'}, {"notify", 'b'},
	{"nounset", 'u'}, {"onecmd", 't'}, {"physical", 'P'}, {"pipefail", 'o'}, {"posix", 'W'}, {"privileged", 'p'},
	{"verbose", 'v'}, {"vi", 'V'}, {"xtrace", 'x'},
}

const setLetters = "abefhkmnptuvxBCEHPT"

func setLetter(name string) (byte, bool) {
	for _, s := range setNames {
		if s.name == name {
			return s.letter, true
		}
	}
	return 0, false
}

func defaultOptions() options {
	var o options
	for _, c := range []byte("hBI") {
		o.set(c, true)
	}
	for _, i := range []shoptIndex{checkwinsize, cmdhist, completeFullquote, extquote, forceFignore, globasciiranges,
		globskipdots,
		hostcomplete, interactiveComments, patsubReplacement, progcomp, promptvars, sourcepath} {
		o.setShopt(i, true)
	}
	return o
}

// letters is $-.
func (o *options) letters() string {
	var b strings.Builder
	for _, c := range []byte("abefhikmnptuvxBCEHPTcs") {
		if o.get(c) {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// shellOpts is $SHELLOPTS.
func (o *options) shellOpts() string {
	var out []string
	for _, s := range setNames {
		if o.get(s.letter) {
			out = append(out, s.name)
		}
	}
	return strings.Join(out, ":")
}

func (o *options) bashOpts() string {
	var out []string
	for i, n := range shoptNames {
		if o.shopt(shoptIndex(i)) {
			out = append(out, n)
		}
	}
	return strings.Join(out, ":")
}
