package program

import (
	"fmt"
	"strings"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// Permission bits of vfs.Stat.Mode.
const (
	ModeSetuid = 0o4000
	ModeSetgid = 0o2000
	ModeSticky = 0o1000
	ModeAll    = 0o7777
)

// ModeChange is a parsed mode operand of chmod, mkdir -m, install -m or umask: applied in order.
type ModeChange []modeClause

type modeClause struct {
	Op        byte // '=', '+' or '-'
	copied    bool // value selects whose bits are copied
	ifX       bool // X: execute only where somebody has it, or on a directory
	Affected  uint32
	Value     uint32
	Mentioned uint32
}

// ParseMode parses an octal or symbolic mode.
func ParseMode(s string) (ModeChange, bool) {
	if s != "" && s[0] >= '0' && s[0] <= '7' {
		v, n := OctalPrefix(s)
		if n != len(s) || v > ModeAll {
			return nil, false
		}
		c := modeClause{Op: '=', Affected: ModeAll, Value: v, Mentioned: ModeAll}
		if len(s) < 5 {
			c.Mentioned = v&(ModeSetuid|ModeSetgid) | ModeSticky | 0o777
		}
		return ModeChange{c}, true
	}
	var m ModeChange
	for clause := range strings.SplitSeq(s, ",") {
		i, affected := 0, uint32(0)
		for ; i < len(clause) && strings.IndexByte("ugoa", clause[i]) >= 0; i++ {
			switch clause[i] {
			case 'u':
				affected |= ModeSetuid | 0o700
			case 'g':
				affected |= ModeSetgid | 0o070
			case 'o':
				affected |= ModeSticky | 0o007
			case 'a':
				affected |= ModeAll
			}
		}
		if i == len(clause) {
			return nil, false
		}
		for i < len(clause) {
			if strings.IndexByte("=+-", clause[i]) < 0 {
				return nil, false
			}
			c := modeClause{Op: clause[i], Affected: affected}
			i++
			switch {
			case i < len(clause) && clause[i] >= '0' && clause[i] <= '7':
				v, n := OctalPrefix(clause[i:])
				if affected != 0 || i+n != len(clause) || v > ModeAll {
					return nil, false
				}
				c.Value, c.Affected, c.Mentioned = v, ModeAll, ModeAll
				i += n
			case i < len(clause) && strings.IndexByte("ugo", clause[i]) >= 0:
				c.copied = true
				c.Value = map[byte]uint32{'u': 0o700, 'g': 0o070, 'o': 0o007}[clause[i]]
				i++
			default:
			perms:
				for ; i < len(clause); i++ {
					switch clause[i] {
					case 'r':
						c.Value |= 0o444
					case 'w':
						c.Value |= 0o222
					case 'x':
						c.Value |= 0o111
					case 'X':
						c.ifX = true
					case 's':
						c.Value |= ModeSetuid | ModeSetgid
					case 't':
						c.Value |= ModeSticky
					default:
						break perms
					}
				}
			}
			if c.Mentioned == 0 {
				c.Mentioned = c.Value
				if c.Affected != 0 {
					c.Mentioned &= c.Affected
				}
			}
			m = append(m, c)
		}
	}
	return m, len(m) > 0
}

// OctalPrefix reads the octal digits that a text begins with, and how many they are.
func OctalPrefix(s string) (v uint32, n int) {
	for n < len(s) && s[n] >= '0' && s[n] <= '7' && v <= ModeAll {
		v = v*8 + uint32(s[n]-'0')
		n++
	}
	return v, n
}

// Apply returns mode after the change. Clauses that name nobody leave the umask's bits alone.
func (m ModeChange) Apply(mode uint32, dir bool, umask uint32) uint32 {
	mode &= ModeAll
	for _, c := range m {
		value := c.Value
		var omit uint32
		if dir {
			omit = (ModeSetuid | ModeSetgid) &^ c.Mentioned
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
		if c.Affected != 0 {
			value &= c.Affected
		} else {
			value &^= umask
		}
		value &^= omit
		switch c.Op {
		case '=':
			keep := omit
			if c.Affected != 0 {
				keep |= ^c.Affected
			}
			mode = mode&keep | value
		case '+':
			mode |= value
		case '-':
			mode &^= value
		}
	}
	return mode & ModeAll
}

// ModeString is the rwxr-xr-x part of ls -l.
func ModeString(mode uint32) string {
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
	special(ModeSetuid, 2, 's')
	special(ModeSetgid, 5, 's')
	special(ModeSticky, 8, 't')
	return string(b)
}

// KindLetter is the first column of ls -l.
func KindLetter(k vfs.Kind) byte {
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

// KindName is the words of stat(1) and of prompts for a file's type.
func KindName(st vfs.Stat) string {
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

// OctalMode prints a mode as four octal digits.
func OctalMode(mode uint32) string { return fmt.Sprintf("%04o", mode) }
