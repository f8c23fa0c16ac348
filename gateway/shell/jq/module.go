package jq

import (
	"errors"
	slashpath "path"
	"slices"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"
)

// Modules is where import and include find what they name.
type Modules struct {
	Paths []string // the search list, absolute folders
	Shown []string // the same as get_search_list says it
	Home  string
	Dir   string // the working directory
	// Read returns the content of a file; Value reads the values of a data file, as an array.
	Read  func(path string) ([]byte, error)
	Value func(data []byte) (any, error)

	loaded map[string]*module
}

// module is a file of definitions.
type module struct {
	defs  []*env // in the order of the file
	query *gojq.Query
	ready bool
}

const (
	moduleSuffix = ".jq"
	dataSuffix   = ".json"
)

// load binds what the imports of q name in front of e. origin is the folder that search paths are relative to.
func (ms *Modules) load(e *env, q *gojq.Query, origin string) (*env, error) {
	// The first import is the nearest: bound last.
	for _, im := range slices.Backward(q.Imports) {
		name := im.ImportPath + im.IncludePath
		data := strings.HasPrefix(im.ImportAlias, "$")
		if ms == nil {
			return nil, failCompile("module not found: " + name + "\n")
		}
		suffix := moduleSuffix
		if data {
			suffix = dataSuffix
		}
		file, text, err := ms.find(name, suffix, ms.search(im.Meta, origin))
		if err != nil {
			return nil, err
		}
		if data {
			v, err := ms.Value(text)
			if err != nil {
				return nil, failCompile(err.Error() + "\n")
			}
			e = e.bind(im.ImportAlias+"::"+im.ImportAlias[1:], v).bind(im.ImportAlias, v)
			continue
		}
		m, err := ms.module(file, text)
		if err != nil {
			return nil, err
		}
		prefix := ""
		if im.ImportAlias != "" {
			prefix = im.ImportAlias + "::"
		}
		e = m.bind(e, prefix)
	}
	return e, nil
}

// bind makes the definitions of m known by their names after a prefix.
func (m *module) bind(e *env, prefix string) *env {
	for _, d := range m.defs {
		e = &env{up: e, name: prefix + d.name, kind: bindFunc, args: d.args, def: d.def, in: d}
	}
	return e
}

// search is where one import is looked for: in the folders of its metadata, else in the working directory and the search list.
func (ms *Modules) search(meta *gojq.ConstObject, origin string) []string {
	if meta != nil {
		v, _ := metadata(&gojq.ConstTerm{Object: meta}).(*Object).Get("search")
		var dirs []string
		switch v := v.(type) {
		case string:
			dirs = []string{v}
		case *Array:
			for _, x := range v.e {
				if s, ok := x.(string); ok {
					dirs = append(dirs, s)
				}
			}
		}
		if dirs != nil {
			for i, d := range dirs {
				dirs[i] = ms.expand(d, origin)
			}
			return dirs
		}
	}
	return append([]string{ms.Dir}, ms.Paths...)
}

func (ms *Modules) expand(dir, origin string) string {
	switch rest, home := strings.CutPrefix(dir, "~"); {
	case home && (rest == "" || rest[0] == '/'):
		return slashpath.Join(ms.Home, rest)
	case strings.HasPrefix(dir, "/"):
		return dir
	}
	return slashpath.Join(origin, dir)
}

// find reads the first file of a module's name: m.jq, or m/m.jq.
func (ms *Modules) find(name, suffix string, dirs []string) (string, []byte, error) {
	if slices.Contains(strings.Split(name, "/"), "..") {
		return "", nil, failCompile("Module path must be a string\n")
	}
	for _, d := range dirs {
		for _, f := range []string{slashpath.Join(d, name+suffix), slashpath.Join(d, name, slashpath.Base(name)+suffix)} {
			if text, err := ms.Read(f); err == nil {
				return f, text, nil
			}
		}
	}
	return "", nil, failCompile("module not found: " + name + "\n")
}

// module parses the text of a file, once.
func (ms *Modules) module(file string, text []byte) (*module, error) {
	if m, ok := ms.loaded[file]; ok {
		if !m.ready {
			return nil, failCompile("module imports itself: " + file + "\n")
		}
		return m, nil
	}
	src := string(text)
	q, err := parse(src, file)
	if err != nil {
		return nil, err
	}
	if q.Term != nil || q.Op != 0 {
		return nil, failCompile("jq: error: library should only have function definitions, not a main expression\n<unknown location>")
	}
	m := &module{query: q}
	if ms.loaded == nil {
		ms.loaded = map[string]*module{}
	}
	ms.loaded[file] = m
	e, err := ms.load(nil, q, slashpath.Dir(file))
	if err != nil {
		return nil, err
	}
	for _, fd := range q.FuncDefs {
		f := &env{up: e, name: fd.Name, kind: bindFunc, args: len(fd.Args), def: fd}
		f.in = f
		e = f
		m.defs = append(m.defs, f)
	}
	m.ready = true
	return m, nil
}

// startup binds the definitions of ~/.jq, when that is a file.
func (ms *Modules) startup(e *env) (*env, error) {
	if ms == nil || ms.Home == "" {
		return e, nil
	}
	file := slashpath.Join(ms.Home, moduleSuffix)
	if text, err := ms.Read(file); err == nil { // most have none
		m, err := ms.module(file, text)
		if err != nil {
			return nil, err
		}
		e = m.bind(e, "")
	}
	return e, nil
}

// meta is modulemeta: what a module says about itself, and its imports.
func (ms *Modules) meta(name string) (any, error) {
	if ms == nil {
		return nil, errorf("module not found: %s", name)
	}
	file, text, err := ms.find(name, moduleSuffix, ms.search(nil, ms.Dir))
	var q *gojq.Query
	if err == nil {
		q, err = parse(string(text), file)
	}
	if err != nil {
		var ce *CompileError
		if errors.As(err, &ce) {
			return nil, errorf("%s", strings.TrimSuffix(ce.Problems[0], "\n"))
		}
		return nil, err
	}
	o := NewObject()
	if q.Meta != nil {
		o = metadata(&gojq.ConstTerm{Object: q.Meta}).(*Object)
	}
	deps := []any{}
	for _, im := range q.Imports {
		d := NewObject()
		if im.Meta != nil {
			d = metadata(&gojq.ConstTerm{Object: im.Meta}).(*Object)
		}
		if im.ImportAlias != "" {
			d = d.Set("as", strings.TrimPrefix(im.ImportAlias, "$"))
		}
		d = d.Set("is_data", strings.HasPrefix(im.ImportAlias, "$")).Set("relpath", im.ImportPath+im.IncludePath)
		deps = append(deps, d)
	}
	return o.Set("deps", NewArray(deps)), nil
}

// metadata is the value of the metadata of a module or an import.
func metadata(t *gojq.ConstTerm) any {
	switch {
	case t.Object != nil:
		o := NewObject()
		for _, kv := range t.Object.KeyVals {
			o = o.Set(kv.Key+kv.KeyString, metadata(kv.Val))
		}
		return o
	case t.Array != nil:
		e := []any{}
		for _, x := range t.Array.Elems {
			e = append(e, metadata(x))
		}
		return NewArray(e)
	case t.Number != "":
		f, _ := strconv.ParseFloat(t.Number, 64)
		return f
	case t.True:
		return true
	case t.False:
		return false
	case t.Null:
		return nil
	}
	return t.Str
}
