package history

import (
	"crypto/md5"
	"fmt"
	"strconv"
	"strings"
)

// The kinds of changes. A token begins with its kind, so that the log alone says what happened.
const (
	Append = 'a' // to the log
	Multi  = 'm' // four files at once
	Move   = 'v' // a directory goes to where it is not, and a file in it is written
	Toggle = 'r' // a file is removed, or made if it was not there
	Grow   = 'g' // a file grows by much more than a line
)

// Kinds are the kinds of changes that one script makes.
const Kinds = "amvrg"

// Keys is the number of files that Toggle is about, GrowBytes what Grow adds.
const (
	Keys      = 4
	GrowBytes = 9000
)

// State is what is in a sandbox after the changes of a log.
type State struct {
	log    strings.Builder
	multi  string
	box    string // a or b
	who    string // wrote last into the box
	keys   [Keys]string
	big    []byte
	bigSum string
}

// NewState is the state that [Setup] makes.
func NewState() *State {
	s := &State{multi: "0", box: "a", who: "0"}
	s.sum()
	return s
}

func (s *State) sum() { s.bigSum = fmt.Sprintf("%x", md5.Sum(s.big)) }

// Key is which file a Toggle is about.
func Key(token string) int {
	n, _ := strconv.Atoi(strings.TrimLeft(token, Kinds))
	return n % Keys
}

// Growth is what a Grow adds.
func Growth(token string) string {
	return strings.Repeat(token+"\n", GrowBytes/(len(token)+1)+1)[:GrowBytes]
}

// Apply makes the change of a token.
func (s *State) Apply(token string) {
	s.log.WriteString(token)
	s.log.WriteByte('\n')
	if token == "" {
		return
	}
	switch token[0] {
	case Multi:
		s.multi = token
	case Move:
		s.box = map[string]string{"a": "b", "b": "a"}[s.box]
		s.who = token
	case Toggle:
		k := &s.keys[Key(token)]
		if *k == "" {
			*k = token
		} else {
			*k = ""
		}
	case Grow:
		s.big = append(s.big, Growth(token)...)
		s.sum()
	}
}

// String is the state as [Show] prints it.
func (s *State) String() string {
	return Render(s.log.String(), strings.Repeat(s.multi+"\n", 4), s.box, s.who+"\n", s.keys, len(s.big), s.bigSum)
}

// Render is how a state is written down. box is where the directory is ("a b" if in both), an empty key is a file that
// is not there.
func Render(log, multi, box, who string, keys [Keys]string, size int, sum string) string {
	var b strings.Builder
	b.WriteString(log)
	b.WriteString("--\n")
	b.WriteString(multi)
	b.WriteString("box in " + box + "\n" + who)
	for _, k := range keys {
		if k == "" {
			k = "none"
		}
		b.WriteString(k + "\n")
	}
	fmt.Fprintf(&b, "%d %s\n", size, sum)
	return b.String()
}

// Setup is the script that makes the first state.
const Setup = `mkdir m a b a/box tmp put; : > log; : > big; for f in 1 2 3 4 ../a/box/who; do echo 0 > m/$f; done`

// Show is the script that prints the state, and after it the names in the directory put.
const Show = `cat log; echo --; cat m/1 m/2 m/3 m/4; echo box in $(for d in a b; do if [ -e $d/box ]; then echo $d; fi; done); cat [ab]/box/who
for k in 0 1 2 3; do if [ -e tmp/$k ]; then cat tmp/$k; else echo none; fi; done
echo $(wc -c < big) $(md5sum < big | cut -d' ' -f1)
echo ==; ls put
`

// Script is the script that makes the change of a token.
func Script(token string) string {
	log := "echo " + token + " >> log\n"
	switch token[0] {
	case Multi:
		return log + "for f in 1 2 3 4; do echo " + token + " > m/$f; done"
	case Move:
		return log + "if [ -e a/box ]; then mv a/box b/box; echo " + token + " > b/box/who; else mv b/box a/box; echo " +
			token + " > a/box/who; fi"
	case Toggle:
		k := "tmp/" + strconv.Itoa(Key(token))
		return log + "if [ -e " + k + " ]; then rm " + k + "; else echo " + token + " > " + k + "; fi"
	case Grow:
		return log + "yes " + token + " | head -c " + strconv.Itoa(GrowBytes) + " >> big"
	}
	return log
}

// Split parts what Show printed into the state, and the names in put.
func Split(shown string) (state string, put []string, ok bool) {
	state, names, ok := strings.Cut(shown, "==\n")
	return state, strings.Fields(names), ok
}

// Tokens are those in the log of a state.
func Tokens(state string) []string {
	log, _, _ := strings.Cut(state, "--\n")
	return strings.Fields(log)
}
