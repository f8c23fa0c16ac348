package command

import (
	"fmt"
	"strings"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// Permission bits of vfs.Stat.Mode.
const (
	modeSetuid = 0o4000
	modeSetgid = 0o2000
	modeSticky = 0o1000
	modeAll    = 0o7777
)

// modeChange is a parsed mode operand of chmod, mkdir -m, install -m or umask: applied in order.
type modeChange []modeClause

type modeClause struct {
	op        byte // '=', '+' or '-'
	copied    bool // value selects whose bits are copied
	ifX       bool // X: execute only where somebody has it, or on a directory
	affected  uint32
	value     uint32
	mentioned uint32
}

// parseMode parses an octal or symbolic mode.
func parseMode(s string) (modeChange, bool) {
	if s != "" && s[0] >= '0' && s[0] <= '7' {
		v, n := octalPrefix(s)
		if n != len(s) || v > modeAll {
			return nil, false
		}
		c := modeClause{op: '=', affected: modeAll, value: v, mentioned: modeAll}
		if len(s) < 5 {
			c.mentioned = v&(modeSetuid|modeSetgid) | modeSticky | 0o777
		}
		return modeChange{c}, true
	}
	var m modeChange
	for clause := range strings.SplitSeq(s, ",") {
		i, affected := 0, uint32(0)
		for ; i < len(clause) && strings.IndexByte("ugoa", clause[i]) >= 0; i++ {
			switch clause[i] {
			case 'u':
				affected |= modeSetuid | 0o700
			case 'g':
				affected |= modeSetgid | 0o070
			case 'o':
				affected |= modeSticky | 0o007
			case 'a':
				affected |= modeAll
			}
		}
		if i == len(clause) {
			return nil, false
		}
		for i < len(clause) {
			if strings.IndexByte("=+-", clause[i]) < 0 {
				return nil, false
			}
			c := modeClause{op: clause[i], affected: affected}
			i++
			switch {
			case i < len(clause) && clause[i] >= '0' && clause[i] <= '7':
				v, n := octalPrefix(clause[i:])
				if affected != 0 || i+n != len(clause) || v > modeAll {
					return nil, false
				}
				c.value, c.affected, c.mentioned = v, modeAll, modeAll
				i += n
			case i < len(clause) && strings.IndexByte("ugo", clause[i]) >= 0:
				c.copied = true
				c.value = map[byte]uint32{'u': 0o700, 'g': 0o070, 'o': 0o007}[clause[i]]
				i++
			default:
			perms:
				for ; i < len(clause); i++ {
					switch clause[i] {
					case 'r':
						c.value |= 0o444
					case 'w':
						c.value |= 0o222
					case 'x':
						c.value |= 0o111
					case 'X':
						c.ifX = true
					case 's':
						c.value |= modeSetuid | modeSetgid
					case 't':
						c.value |= modeSticky
					default:
						break perms
					}
				}
			}
			if c.mentioned == 0 {
				c.mentioned = c.value
				if c.affected != 0 {
					c.mentioned &= c.affected
				}
			}
			m = append(m, c)
		}
	}
	return m, len(m) > 0
}

func octalPrefix(s string) (v uint32, n int) {
	for n < len(s) && s[n] >= '0' && s[n] <= '7' && v <= modeAll {
		v = v*8 + uint32(s[n]-'0')
		n++
	}
	return v, n
}

// apply returns mode after the change. Clauses that name nobody leave the umask's bits alone.
func (m modeChange) apply(mode uint32, dir bool, umask uint32) uint32 {
	mode &= modeAll
	for _, c := range m {
		value := c.value
		var omit uint32
		if dir {
			omit = (modeSetuid | modeSetgid) &^ c.mentioned
		}
		if c.copied {
			value &= mode
			for _, bits := range []uint32{0o444, 0o222, 0o111} {
				if value&bits != 0 {
					value |= bits
				}
			}
		}
		if c.ifX && (dir || mode&0o111 != 0) {
			value |= 0o111
		}
		if c.affected != 0 {
			value &= c.affected
		} else {
			value &^= umask
		}
		value &^= omit
		switch c.op {
		case '=':
			keep := omit
			if c.affected != 0 {
				keep |= ^c.affected
			}
			mode = mode&keep | value
		case '+':
			mode |= value
		case '-':
			mode &^= value
		}
	}
	return mode & modeAll
}

// modeString is the rwxr-xr-x part of ls -l.
func modeString(mode uint32) string {
	b := []byte("rwxrwxrwx")
	for i := range b {
		if mode&(0o400>>i) == 0 {
			b[i] = '-'
		}
	}
	special := func(bit uint32, at int, set byte) {
		if mode&bit == 0 {
			return
		}
		if b[at] == 'x' {
			b[at] = set
		} else {
			b[at] = set - 'a' + 'A'
		}
	}
	special(modeSetuid, 2, 's')
	special(modeSetgid, 5, 's')
	special(modeSticky, 8, 't')
	return string(b)
}

// kindLetter is the first column of ls -l.
func kindLetter(k vfs.Kind) byte {
	switch k {
	case vfs.Dir:
		return 'd'
	case vfs.Symlink:
		return 'l'
	case vfs.Char:
		return 'c'
	case vfs.FIFO:
		return 'p'
	}
	return '-'
}

// kindName is the words of stat(1) and of prompts for a file's type.
func kindName(st vfs.Stat) string {
	switch st.Kind {
	case vfs.Dir:
		return "directory"
	case vfs.Symlink:
		return "symbolic link"
	case vfs.Char:
		return "character special file"
	case vfs.FIFO:
		return "fifo"
	}
	if st.Size == 0 {
		return "regular empty file"
	}
	return "regular file"
}

func octalMode(mode uint32) string { return fmt.Sprintf("%04o", mode) }
