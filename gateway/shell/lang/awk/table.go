package awk

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// isTable reports whether v is SYMTAB or FUNCTAB, the arrays through which a program sees its own names.
func isTable(v *varRef) bool {
	return v.scope == scopeGlobal && (v.name == "SYMTAB" || v.name == "FUNCTAB")
}

// The special variables that only these tables and the dump know.
var constants = map[string]value{
	"BINMODE": num(0), "LINT": num(0), "PREC": num(53), "ROUNDMODE": str("N"), "TEXTDOMAIN": str("messages"),
}

// variables lists the names of all global variables but the tables themselves, in the order in which gawk makes them:
// that of for-in depends on it.
func (in *interp) variables() []string {
	names := slices.Collect(maps.Keys(specials))
	for name := range constants {
		names = append(names, name)
	}
	slices.Sort(names)
	own := []string{"SYMTAB", "FUNCTAB", "PROCINFO", "ENVIRON", "ARGC", "ARGV"}
	names = append(names, own[2:]...)
	for _, name := range in.prog.names {
		if constants[name].k == kUninit && !slices.Contains(own, name) {
			names = append(names, name)
		}
	}
	return names
}

// variable is the value of a global variable, or its array.
func (in *interp) variable(name string) (value, *array) {
	if slot, ok := specials[name]; ok {
		v := in.special(slot)
		if v.k == kUninit && slot == vARGIND {
			v = num(0)
		}
		return v, nil
	}
	s := in.prog.globals[name]
	switch {
	case s == nil, constants[name].k != kUninit && !s.array && in.globals[s.slot].k == kUninit:
		return constants[name], nil
	case s.array:
		return value{}, in.arrays[s.slot]
	}
	return in.globals[s.slot], nil
}

// symbols brings the elements of SYMTAB up to date: they are the global variables.
func (in *interp) symbols(table *array) *array {
	names := in.variables()
	in.p.Tick(1 + len(names)/8)
	for _, name := range names {
		v, sub := in.variable(name)
		c := in.get(table, name, false)
		c.sub = sub
		in.store(&c.v, v)
	}
	return table
}

// setSymbol assigns to a variable by its name.
func (in *interp) setSymbol(table, name string, v value) {
	if table == "FUNCTAB" {
		in.fatal("cannot assign to elements of FUNCTAB")
	}
	s := in.prog.globals[name]
	slot, special := specials[name]
	switch {
	case slot == vNR || slot == vFNR || special && slot == vNF:
		in.setSpecial(slot, v)
	case special: // what is derived from it stays as it is, as in gawk
		in.store(&in.specials[slot], v)
	case s == nil:
		in.fatal("cannot assign to arbitrary elements of SYMTAB")
	case s.array:
		in.fatal("attempt to use array `SYMTAB[\"%s\"]' in a scalar context", name)
	default:
		in.store(&in.globals[s.slot], v)
	}
}

// callable lists the names of the functions: the built-in ones and the program's.
func (in *interp) callable() (names []string, user map[string]bool) {
	user = map[string]bool{}
	names = slices.Sorted(maps.Keys(builtins))
	own := len(names)
	for name, f := range in.prog.funcs {
		if f.defined {
			names = append(names, name)
			user[name] = true
		}
	}
	slices.Sort(names[own:])
	return names, user
}

// functions fills FUNCTAB.
func (in *interp) functions(table *array) {
	names, _ := in.callable() // the order of for-in depends on that of the insertions
	for _, name := range names {
		in.store(&in.get(table, name, false).v, str(name))
	}
}

// identify fills PROCINFO["identifiers"].
func (in *interp) identify(info *array) {
	list := newArray()
	in.get(info, "identifiers", false).sub = list
	set := func(name, kind string) { in.store(&in.get(list, name, false).v, str(kind)) }
	for _, name := range append(in.variables(), "SYMTAB", "FUNCTAB") {
		_, array := in.variable(name)
		_, special := specials[name]
		switch {
		case name == "ARGV" || name == "ENVIRON" || name == "PROCINFO" || name == "SYMTAB" || name == "FUNCTAB":
			set(name, "array")
		case special || constants[name].k != kUninit || name == "ARGC":
			set(name, "scalar")
		case array != nil && array.used:
			set(name, "array")
		default:
			set(name, "untyped")
		}
	}
	names, user := in.callable()
	for _, name := range names {
		if user[name] {
			set(name, "user")
		} else {
			set(name, "builtin")
		}
	}
}

// dump writes the global variables to a file, "-" for standard output, as --dump-variables does.
func (in *interp) dump(file string) {
	w := in.out
	if file != "-" {
		f, err := in.p.Open(file, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
		if err != nil {
			in.warn("could not open `%s' for writing: %s", file, proc.Strerror(err))
			return
		}
		defer f.Close()
		w = proc.NewWriter(f, in.p)
		defer w.Flush()
	}
	names := in.variables()
	functions, _ := in.callable()
	tables := map[string]int{"FUNCTAB": len(functions), "SYMTAB": len(names)}
	names = append(names, "FUNCTAB", "SYMTAB")
	slices.Sort(names)
	for _, name := range names {
		in.p.Tick(1)
		w.WriteString(name + ": ")
		n, table := tables[name]
		switch v, array := in.variable(name); {
		case table:
			fmt.Fprintf(w, "array, %d elements", n)
		case array != nil:
			fmt.Fprintf(w, "array, %d elements", array.size())
		case v.k == kNum:
			w.WriteString(in.numStr(v.n, "%.6g"))
		case v.k == kRegex:
			w.WriteString("@/")
			w.WriteString(v.s)
			w.WriteString("/")
		case (v.k == kUninit || v.k == kNull) && in.prog.globals[name] != nil:
			w.WriteString("uninitialized scalar")
		default:
			in.p.Tick(len(v.s) >> 6)
			writeQuoted(w, v.s)
		}
		w.WriteString("\n")
	}
}

// writeQuoted writes a string as a program would spell it.
func writeQuoted(w *proc.Writer, s string) {
	w.WriteString(`"`)
	for j := range len(s) {
		c := s[j]
		switch i := strings.IndexByte("\"\\\a\b\f\n\r\t\v", c); {
		case i >= 0:
			w.WriteString("\\" + "\"\\abfnrtv"[i:i+1])
		case c < ' ' || c == 127:
			fmt.Fprintf(w, "\\%03o", c)
		default:
			_ = w.WriteByte(c)
		}
	}
	w.WriteString(`"`)
}
