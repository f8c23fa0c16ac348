package jq

import (
	"errors"
	slashpath "path"
	"slices"
	"strconv"
	"strings"
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
	depth  int // of imports within imports
	meter  Meter
}

// module is a file of definitions.
type module struct {
	defs  []*scope // in the order of the file
	ready bool
}

// maxModuleDepth bounds how deep modules may import each other.
const maxModuleDepth = 100

const (
	moduleSuffix = ".jq"
	dataSuffix   = ".json"
)

// load binds what the imports of src name in front of sc. origin is the folder that search paths are relative to.
func (ms *Modules) load(sc *scope, src *source, origin string) (*scope, error) {
	for _, im := range src.imports {
		if ms == nil {
			return nil, failCompile("module not found: " + im.path + "\n")
		}
		suffix := moduleSuffix
		if im.data {
			suffix = dataSuffix
		}
		file, text, err := ms.find(im.path, suffix, ms.search(im.meta, origin))
		if err != nil {
			return nil, err
		}
		if im.data {
			v, err := ms.Value(text)
			if err != nil {
				return nil, failCompile(err.Error() + "\n")
			}
			for _, name := range []string{"$" + im.alias + "::" + im.alias, "$" + im.alias} {
				sc = &scope{up: sc, name: name, kind: bindConst, val: v}
			}
			continue
		}
		m, err := ms.module(file, text)
		if err != nil {
			return nil, err
		}
		prefix := ""
		if im.alias != "" {
			prefix = im.alias + "::"
		}
		sc = m.bind(sc, prefix)
	}
	return sc, nil
}

// bind makes the definitions of m known by their names after a prefix.
func (m *module) bind(sc *scope, prefix string) *scope {
	for _, d := range m.defs {
		sc = &scope{up: sc, name: prefix + d.name, kind: bindFunc, args: d.args, fn: d.fn, problems: d.problems}
	}
	return sc
}

// search is where one import is looked for: in the folders of its metadata, else in the working directory and the
// search list.
func (ms *Modules) search(meta any, origin string) []string {
	if o, ok := meta.(*Object); ok {
		v, _ := o.Get("search")
		var dirs []string
		switch v := v.(type) {
		case string:
			dirs = []string{v}
		case *Array:
			for _, x := range v.Values() {
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
		return "", nil, failCompile("Relative paths to modules may not traverse to parent directories (" + name + ")\n")
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
	src, err := parse(string(text), file, true, ms.meter)
	if err != nil {
		return nil, err
	}
	if src.body != nil {
		return nil, failCompile("jq: error: library should only have function definitions, not a main expression")
	}
	m := &module{}
	if ms.loaded == nil {
		ms.loaded = map[string]*module{}
	}
	ms.loaded[file] = m
	if ms.depth++; ms.depth > maxModuleDepth {
		return nil, failCompile("module imports nest too deeply: " + file + "\n")
	}
	defer func() { ms.depth-- }()
	sc, err := ms.load(nil, src, slashpath.Dir(file))
	if err != nil {
		return nil, err
	}
	for _, def := range src.defs {
		c := &compiler{src: src, meter: ms.meter, lib: builtins()}
		if sc, err = c.static(sc, def); err != nil {
			return nil, err
		}
		*sc.problems = c.problems
		m.defs = append(m.defs, sc)
	}
	m.ready = true
	return m, nil
}

// static compiles a function that is not inside another.
func (c *compiler) static(sc *scope, def *funcDef) (out *scope, err error) {
	defer c.guard(&err)
	f := &fn{name: def.name, nregs: 1}
	sc = &scope{up: sc, name: def.name, kind: bindFunc, args: len(def.params), fn: f, problems: new([]string)}
	c.function(c.context(nil, f), sc, def)
	return sc, nil
}

// guard turns the panic of what is nested too deeply into an error.
func (c *compiler) guard(err *error) {
	switch r := recover().(type) {
	case nil:
	case syntaxError:
		*err = &CompileError{c.problems}
	default:
		panic(r)
	}
}

// startup binds the definitions of ~/.jq, when that is a file.
func (ms *Modules) startup(sc *scope) (*scope, error) {
	if ms == nil || ms.Home == "" {
		return sc, nil
	}
	file := slashpath.Join(ms.Home, moduleSuffix)
	if text, err := ms.Read(file); err == nil { // most have none
		m, err := ms.module(file, text)
		if err != nil {
			return nil, err
		}
		sc = m.bind(sc, "")
	}
	return sc, nil
}

// metaOf is modulemeta: what a module says about itself, its imports and its definitions.
func (ms *Modules) metaOf(name string) (any, error) {
	if ms == nil {
		return nil, errorf("module not found: %s", name)
	}
	file, text, err := ms.find(name, moduleSuffix, ms.search(nil, ms.Dir))
	var src *source
	if err == nil {
		src, err = parse(string(text), file, true, ms.meter)
	}
	if err != nil {
		var ce *CompileError
		if errors.As(err, &ce) {
			return nil, errorf("%s", strings.TrimSuffix(ce.Problems[0], "\n"))
		}
		return nil, err
	}
	o := NewObject()
	if src.hasMeta {
		o = src.meta.(*Object)
	}
	deps := []any{}
	for _, im := range src.imports {
		d := NewObject()
		if m, ok := im.meta.(*Object); ok {
			d = m
		}
		if im.alias != "" {
			d = d.Set("as", im.alias)
		}
		deps = append(deps, d.Set("is_data", im.data).Set("relpath", im.path))
	}
	defs := []any{}
	for _, def := range src.defs {
		defs = append(defs, def.name+"/"+strconv.Itoa(len(def.params)))
	}
	return o.Set("deps", NewArray(deps)).Set("defs", NewArray(defs)), nil
}
