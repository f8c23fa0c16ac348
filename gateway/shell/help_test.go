package shell_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/pgbox/pgbox/gateway/shell/casetest"
	"github.com/pgbox/pgbox/gateway/shell/command"
)

// helped are the commands whose --help is compared with what they accept.
const helped = "b2sum base32 base64 basename basenc cat chgrp chmod chown cksum comm cp csplit cut date df diff dircolors dirname du " +
	"env expand fd fmt fold gawk grep head id install join jq ln ls md5sum mkdir mkfifo mktemp mv nice nl nproc numfmt od paste pathchk pr " +
	"printenv ptx readlink realpath rg rm rmdir sed seq sha256sum shred shuf sort split stat stdbuf sum tac tail tar tee timeout touch tr " +
	"truncate tty uname unexpand uniq wc who xargs"

// alsoAccepted are letters that a command takes and no help of the real ones lists: modes and numbers, and what does
// nothing.
var alsoAccepted = map[string]string{"chmod": "rwxXstugoa01234567", "seq": "0123456789", "nice": "0123456789",
	"sed": "bV", "jq": "b0123456789"}

const noOption = "--no-such-option"

var (
	optionNames = regexp.MustCompile(`^ +(-[^ ]+.*?)(?:  |$)`)
	optionName  = regexp.MustCompile(`^(--[a-z0-9][a-z0-9-]*|-[^ -])(?:(\[|=| )\S+)?$`)
	refused     = regexp.MustCompile(`invalid option|unrecognized option|[Uu]nknown (option|arguments)|wasn't expected|unexpected argument`)
)

// helpLists returns the options that the help of a command names; true: with an argument.
func helpLists(help string) map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(help) {
		m := optionNames.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		if strings.HasPrefix(m[1], "-NUM") {
			for c := '0'; c <= '9'; c++ {
				out["-"+string(c)] = false
			}
			continue
		}
		for i, name := range strings.Split(m[1], ", ") {
			if n := optionName.FindStringSubmatch(strings.TrimRight(name, " ;")); n != nil {
				out[n[1]] = n[2] == "=" || n[2] == " "
			} else if i == 0 && name == "-," {
				out[name] = false
			}
		}
	}
	return out
}

func TestHelpListsWhatIsAccepted(t *testing.T) {
	t.Parallel()
	base, err := casetest.NewBase(command.All())
	if err != nil {
		t.Fatal(err)
	}
	run := func(script string) casetest.Result {
		return base.Run(t.Context(), casetest.Case{Script: script, NoStdin: true})
	}
	for name := range strings.FieldsSeq(helped) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			help := run(name + " --help")
			listed := helpLists(help.Stdout)
			if help.Exit != 0 || len(listed) < 2 {
				t.Fatalf("exit %d: %s%s", help.Exit, help.Stdout, help.Stderr)
			}
			for o, takes := range listed {
				if o == "--help" || o == "--version" || o == "-h" && name != "ls" || o == "-V" {
					continue
				}
				word := o
				switch {
				case takes && strings.HasPrefix(o, "--") && name != "jq":
					word = o + "=1"
				case takes:
					word = o + " 1"
				}
				// What follows ends every command before it does anything.
				r := run(fmt.Sprintf("%s %s %s", name, word, noOption))
				if refused.MatchString(r.Stderr) && !strings.Contains(r.Stderr, noOption[2:]) {
					t.Errorf("%s --help lists %s, which is refused: %s", name, o, r.Stderr)
				}
			}
			for _, c := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" {
				o := "-" + string(c)
				r := run(fmt.Sprintf("%s %s %s", name, o, noOption))
				if strings.ContainsRune(alsoAccepted[name], c) {
					continue
				}
				accepted := !refused.MatchString(r.Stderr) || strings.Contains(r.Stderr, noOption[2:])
				if _, ok := listed[o]; accepted && !ok {
					t.Errorf("%s accepts %s, which its --help does not list: %s", name, o, r.Stderr)
				}
			}
		})
	}
}

func TestHelpOfFindListsWhatIsAccepted(t *testing.T) {
	t.Parallel()
	base, err := casetest.NewBase(command.All())
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(base.Run(t.Context(), casetest.Case{Script: "find --help"}).Stdout) {
		f := strings.Fields(line)
		if !strings.HasPrefix(line, "  -") {
			continue
		}
		listed[f[0]] = true
		if len(f[0]) == 2 && strings.Contains("-H-L-P-D-O-a-o", f[0]) || f[0] == "-OLEVEL" ||
			strings.HasSuffix(f[0], "help") {
			continue
		}
		r := base.Run(t.Context(), casetest.Case{Script: "find . " + strings.Replace(f[0], "XY", "mt", 1) + ` 1 1 \;`,
			NoStdin: true})
		if strings.Contains(r.Stderr, "unknown predicate") {
			t.Errorf("%s: %s", f[0], r.Stderr)
		}
	}
	for _, name := range []string{"-name", "-type", "-newer", "-printf", "-execdir", "-regextype", "-files0-from",
		"-ignore_readdir_race", "-samefile"} {
		if !listed[name] {
			t.Errorf("find --help does not list %s", name)
		}
	}
}

// A description that belongs to no option would stay when the option goes.
func TestHelpDescribesEveryOption(t *testing.T) {
	t.Parallel()
	base, err := casetest.NewBase(command.All())
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.FieldsSeq(helped) {
		if name == "sed" || name == "jq" { // with texts of their own
			continue
		}
		help := base.Run(t.Context(), casetest.Case{Script: name + " --help"}).Stdout
		lines := strings.Split(help, "\n")
		for i, line := range lines {
			m := optionNames.FindString(line + "  ")
			if m == "" || strings.HasPrefix(line, "          ") || !strings.HasPrefix(line, "  ") ||
				strings.TrimSpace(strings.TrimPrefix(line+"  ", m)) != "" {
				continue
			}
			if i+1 >= len(lines) || !strings.HasPrefix(lines[i+1], "          ") {
				t.Errorf("%s --help says nothing of %s", name, line)
			}
		}
	}
}
