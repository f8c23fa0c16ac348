package shell

import (
	"maps"
	"strconv"
	"strings"
)

// ulimits are the limits that ulimit shows and remembers. What really limits a script is the budget of its exec.
var ulimits = []ulimitEntry{
	{'R', "real-time non-blocking time", "microseconds", "unlimited", "unlimited"},
	{'c', "core file size", "blocks", "0", "unlimited"},
	{'d', "data seg size", "kbytes", "unlimited", "unlimited"}, {'e', "scheduling priority", "", "0", "0"},
	{'f', "file size", "blocks", "unlimited", "unlimited"}, {'i', "pending signals", "", "15000", "15000"},
	{'l', "max locked memory", "kbytes", "8192", "8192"}, {'m', "max memory size", "kbytes", "unlimited", "unlimited"},
	{'n', "open files", "", "1024", "1024"}, {'p', "pipe size", "512 bytes", "8", "8"},
	{'q', "POSIX message queues", "bytes", "819200", "819200"}, {'r', "real-time priority", "", "0", "0"},
	{'s', "stack size", "kbytes", "8192", "unlimited"}, {'t', "cpu time", "seconds", "unlimited", "unlimited"},
	{'u', "max user processes", "", "512", "512"}, {'v', "virtual memory", "kbytes", "unlimited", "unlimited"},
	{'x', "file locks", "", "unlimited", "unlimited"},
}

type ulimitEntry struct {
	letter      byte
	name, units string
	soft, hard  string
}

// limitPair is a soft and a hard limit as a shell has set them.
type limitPair struct{ soft, hard string }

func (sh *Shell) limit(i int) limitPair {
	u := &ulimits[i]
	if l, ok := sh.ulimits[u.letter]; ok {
		return l
	}
	return limitPair{u.soft, u.hard}
}

func builtinUlimit(sh *Shell, args []string) int {
	all, soft, hard := false, false, false
	type request struct {
		i     int
		value string
		set   bool
	}
	var reqs []request
	args = args[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
	letters:
		for i := 1; i < len(a); i++ {
			switch c := a[i]; c {
			case 'a':
				all = true
			case 'S':
				soft = true
			case 'H':
				hard = true
			default:
				for k := range ulimits {
					if ulimits[k].letter != c {
						continue
					}
					r := request{i: k}
					if i == len(a)-1 && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
						r.value, r.set = args[0], true
						args = args[1:]
					}
					reqs = append(reqs, r)
					continue letters
				}
				return sh.usage("ulimit", "-"+string(c))
			}
		}
	}
	if all {
		for i := range ulimits {
			u, l := &ulimits[i], sh.limit(i)
			if hard {
				l.soft = l.hard
			}
			sh.out(u.label() + l.soft + "\n")
		}
		return 0
	}
	if len(reqs) == 0 {
		for k := range ulimits {
			if ulimits[k].letter == 'f' {
				reqs = []request{{i: k}}
			}
		}
		if len(args) > 0 {
			reqs[0].value, reqs[0].set = args[0], true
		}
	}
	for _, r := range reqs {
		u, l := &ulimits[r.i], sh.limit(r.i)
		if !r.set {
			v := l.soft
			if hard {
				v = l.hard
			}
			if len(reqs) > 1 {
				v = u.label() + v
			}
			sh.out(v + "\n")
			continue
		}
		v := r.value
		switch v {
		case "unlimited":
		case "soft":
			v = l.soft
		case "hard":
			v = l.hard
		default:
			n, err := strconv.ParseUint(v, 10, 63)
			if err != nil {
				sh.errorf("ulimit: %s: invalid number", v)
				return 1
			}
			v = strconv.FormatUint(n, 10)
		}
		if limitAbove(v, l.hard) || u.letter == 'p' && v != l.soft {
			if u.letter == 'p' || soft && !hard {
				sh.errorf("ulimit: %s: cannot modify limit: Invalid argument", u.name)
			} else {
				sh.errorf("ulimit: %s: cannot modify limit: Operation not permitted", u.name)
			}
			return 1
		}
		if hard && !soft && limitAbove(l.soft, v) {
			sh.errorf("ulimit: %s: cannot modify limit: Invalid argument", u.name)
			return 1
		}
		if soft || !hard {
			l.soft = v
		}
		if hard || !soft {
			l.hard = v
		}
		m := maps.Clone(sh.ulimits)
		if m == nil {
			m = map[byte]limitPair{}
		}
		m[u.letter] = l
		sh.ulimits = m
	}
	return 0
}

func limitAbove(v, hard string) bool {
	if hard == "unlimited" {
		return false
	}
	if v == "unlimited" {
		return true
	}
	a, errA := strconv.ParseUint(v, 10, 64)
	b, errB := strconv.ParseUint(hard, 10, 64)
	return errA == nil && errB == nil && a > b
}

// label is how ulimit -a names a limit.
func (u *ulimitEntry) label() string {
	opt := "(-" + string(u.letter) + ") "
	if u.units != "" {
		opt = "(" + u.units + ", -" + string(u.letter) + ") "
	}
	return u.name + strings.Repeat(" ", max(20-len(u.name), 1)) + strings.Repeat(" ", max(20-len(opt)+1, 0)) + opt
}
