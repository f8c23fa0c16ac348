// What calls itself is the same under the race detector.

//go:build !race

package shell_test

import (
	"bytes"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/pgbox/pgbox/"

// recursiveFunctions are the functions of the shell and its commands from which a way leads back to themselves, as
// "package.function" or "package.Type.method", in groups that call each other; the key is the first of its group. A
// function calls all that it mentions, also what it only hands on, and a table of functions is called by whatever reads
// it. A call of an interface's method is a call of each method of that name in the same package. What leads back
// through another package's interface is not seen: so commands run commands, which the limits on depth and processes
// bound.
func recursiveFunctions(t *testing.T) map[string][]string {
	t.Helper()
	const format = "{{.ImportPath}}\t{{.Export}}\t{{.Dir}}\t{{join .GoFiles \" \"}}"
	out, err := exec.CommandContext(t.Context(), "go", "list", "-trimpath", "-export", "-deps", "-f", format,
		"./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	export, files := map[string]string{}, map[string][]string{}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		export[f[0]] = f[1]
		if strings.HasPrefix(f[0], module+"gateway/shell") && !strings.Contains(f[0], "/casetest") {
			for _, name := range strings.Fields(f[3]) {
				files[f[0]] = append(files[f[0]], filepath.Join(f[2], name))
			}
		}
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(export[path]) })
	found := map[string][]string{}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		var parsed []*ast.File
		for _, name := range files[path] {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.HasPrefix(src, []byte("// Code generated")) {
				continue
			}
			f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, f)
		}
		g := mentions{
			prefix: strings.TrimPrefix(path, module+"gateway/"), edges: map[string][]string{},
			info: &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
				Types: map[ast.Expr]types.TypeAndValue{}},
		}
		// Generated code is left out, so that a name may be missing.
		conf := types.Config{Importer: imports, Error: func(error) {}}
		g.pkg, _ = conf.Check(path, fset, parsed, g.info)
		for _, f := range parsed {
			g.file(f)
		}
		for _, group := range g.cycles() {
			found[group[0]] = group
		}
	}
	return found
}

// mentions says which functions and package variables of a package mention which.
type mentions struct {
	prefix string
	pkg    *types.Package
	info   *types.Info
	edges  map[string][]string
}

func (g *mentions) file(f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body != nil {
				g.body(g.name(g.info.Defs[d.Name]), d.Body)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && d.Tok == token.VAR {
					for i, x := range v.Values {
						g.body(g.name(g.info.Defs[v.Names[i]]), x)
					}
				}
			}
		}
	}
}

// body adds what n, the body of the function from, mentions.
func (g *mentions) body(from string, n ast.Node) {
	add := func(from, to string) { g.edges[from] = append(g.edges[from], to) }
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, x := range n.Rhs {
				id, ok := n.Lhs[i].(*ast.Ident)
				if lit, isLit := x.(*ast.FuncLit); ok && isLit && g.mentionsItself(id, lit) {
					add(from+"."+id.Name, from+"."+id.Name)
				}
			}
		case *ast.FuncLit:
			if g.callsItsLike(n) {
				add(from+".func", from+".func")
			}
		case *ast.Ident:
			switch o := g.info.Uses[n].(type) {
			case *types.Func:
				for _, to := range g.targets(o) {
					add(from, to)
				}
			case *types.Var:
				if o.Parent() == g.pkg.Scope() {
					add(from, g.name(o))
				}
			}
		}
		return true
	})
}

// mentionsItself reports whether a function literal mentions the variable that it is assigned to.
func (g *mentions) mentionsItself(id *ast.Ident, lit *ast.FuncLit) bool {
	o := g.info.Uses[id]
	found := false
	ast.Inspect(lit, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && o != nil && g.info.Uses[id] == o {
			found = true
		}
		return !found
	})
	return found
}

// callsItsLike reports whether a function literal calls a variable that holds functions of its own type and has
// parameters: so run programs that are compiled into closures.
func (g *mentions) callsItsLike(lit *ast.FuncLit) bool {
	own, ok := g.info.Types[lit].Type.(*types.Signature)
	if !ok || own.Params().Len() == 0 {
		return false
	}
	found := false
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return !found
		}
		var id *ast.Ident
		switch fun := ast.Unparen(call.Fun).(type) {
		case *ast.Ident:
			id = fun
		case *ast.SelectorExpr:
			id = fun.Sel
		case *ast.IndexExpr:
			if t := g.info.Types[fun].Type; t != nil && types.Identical(t.Underlying(), own) {
				found = true
			}
		}
		if v, ok := g.info.Uses[id].(*types.Var); ok && id != nil && types.Identical(v.Type().Underlying(), own) {
			found = true
		}
		return !found
	})
	return found
}

// targets are the functions of this package that a mention of f can call.
func (g *mentions) targets(f *types.Func) []string {
	recv := f.Type().(*types.Signature).Recv()
	if recv == nil || !types.IsInterface(recv.Type()) {
		if f.Pkg() != g.pkg {
			return nil
		}
		return []string{g.name(f.Origin())}
	}
	iface, ok := recv.Type().Underlying().(*types.Interface)
	if !ok {
		return nil
	}
	var out []string
	for _, name := range g.pkg.Scope().Names() {
		tn, ok := g.pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok || types.IsInterface(tn.Type()) {
			continue
		}
		if p := types.NewPointer(tn.Type()); types.Implements(p, iface) {
			if o, _, _ := types.LookupFieldOrMethod(p, true, g.pkg, f.Name()); o != nil && o.Pkg() == g.pkg {
				out = append(out, g.name(o))
			}
		}
	}
	return out
}

func (g *mentions) name(o types.Object) string {
	if f, ok := o.(*types.Func); ok {
		if recv := f.Type().(*types.Signature).Recv(); recv != nil {
			t := recv.Type()
			if p, ok := t.(*types.Pointer); ok {
				t = p.Elem()
			}
			if n, ok := t.(*types.Named); ok {
				return g.prefix + "." + n.Obj().Name() + "." + f.Name()
			}
		}
	}
	return g.prefix + "." + o.Name()
}

// cycles are the strongly connected components that have a cycle, each sorted (Tarjan).
func (g *mentions) cycles() [][]string {
	index, low, on := map[string]int{}, map[string]int{}, map[string]bool{}
	var stack []string
	var out [][]string
	var visit func(v string)
	visit = func(v string) {
		index[v] = len(index) + 1
		low[v] = index[v]
		stack, on[v] = append(stack, v), true
		for _, w := range g.edges[v] {
			if index[w] == 0 {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if on[w] {
				low[v] = min(low[v], index[w])
			}
		}
		if low[v] == index[v] {
			i := slices.Index(stack, v)
			group := slices.Clone(stack[i:])
			for _, w := range group {
				on[w] = false
			}
			stack = stack[:i]
			if len(group) > 1 || slices.Contains(g.edges[v], v) {
				slices.Sort(group)
				out = append(out, group)
			}
		}
	}
	for _, v := range slices.Sorted(maps.Keys(g.edges)) {
		if index[v] == 0 {
			visit(v)
		}
	}
	return out
}

// recursionList reads testdata/recursions.txt: which section every recursive group belongs to, and why those of a
// section are bounded.
func recursionList(t *testing.T) (sections map[string]string, reasons map[string]string) {
	t.Helper()
	text, err := os.ReadFile("testdata/recursions.txt")
	if err != nil {
		t.Fatal(err)
	}
	sections, reasons = map[string]string{}, map[string]string{}
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		name, nested := strings.CutPrefix(line, "\t")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case nested:
			sections[name] = section
		default:
			var reason string
			section, reason, _ = strings.Cut(line, ": ")
			reasons[section] = reason
		}
	}
	return sections, reasons
}

// TestRecursionsAreListed fails on a function that calls itself, by whatever way, and that nobody has said to be
// bounded, and on a section of the list without reason and attack. Add it to testdata/recursions.txt, where its kind
// stands, and an input to recursions that makes it descend.
func TestRecursionsAreListed(t *testing.T) {
	sections, reasons := recursionList(t)
	attacked := map[string]bool{}
	for _, r := range recursions {
		attacked[r.section] = true
		if reasons[r.section] == "" {
			t.Errorf("%s: no reason is listed", r.section)
		}
	}
	for section, reason := range reasons {
		if reason == "" || !attacked[section] && !strings.HasPrefix(section, "not nested") {
			t.Errorf("%s: nothing tries how deep it goes", section)
		}
	}
	found := recursiveFunctions(t)
	for first, group := range found {
		if sections[first] == "" {
			t.Errorf("%s calls itself, by %v", first, group)
		}
	}
	for name := range sections {
		if found[name] == nil {
			t.Errorf("%s is listed and does not call itself", name)
		}
	}
}
