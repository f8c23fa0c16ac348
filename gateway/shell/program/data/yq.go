package data

import (
	"context"
	"encoding/base64"
	"errors"
	"net/url"
	"slices"
	"strings"

	yamlnode "go.yaml.in/yaml/v3"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/lang/jq"
	yqlang "github.com/pgbox/pgbox/gateway/shell/lang/yq"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/format"
	"github.com/pgbox/pgbox/gateway/shell/text/yaml"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var yqSpec = getopt.New("CI:MNPcef:ijno:p:rs:y",
	"colors=C expression: from-file: front-matter:=f indent:=I no-colors=M no-doc=N prettyPrint=P exit-status=e inplace=i split-exp:=s tojson=j null-input=n "+
		"output-format:=o input-format:=p unwrapScalar::=r raw-output=r compact-output=c yaml-output=y string-interpolation:: header-preprocess:: xml-attribute-prefix: xml-content-name: csv-auto-parse:: csv-separator: tsv-auto-parse:: properties-separator: no-exit-status "+
		"verbose=verbose security-disable-env-ops security-disable-file-ops").
	WithUsage("[eval | eval-all] [OPTION]... EXPRESSION [FILE]...",
		"Process YAML, JSON, TOML, XML, CSV, TSV and properties with expressions of yq 4; those that only jq has are understood, too.").WithVersion("(with the options of mikefarah's yq) 4")

// yqRun is a yq command line.
type yqRun struct {
	p                                       *proc.Process
	src, split                              string // expressions: what to print, and the names of the files of -s
	all                                     bool   // eval-all: the documents of all files together
	once                                    bool   // src is about all of them
	results                                 int
	json, raw, compact, noSep, null, pretty bool
	indent                                  int
	in, out                                 *format.Codec // nil: YAML, which JSON is too; json says what is written
	autoIn, autoOut                         bool          // a file's name says what it is, and what is written
	held                                    int
	rawGiven                                bool
	decoder                                 string // base64 or uri
	encoder                                 string // base64, uri, shell or lua
	outName                                 string // of out
	front                                   string // extract or process: only what a file begins with
	tail                                    []byte // what follows that
	last                                    any
	compiled                                int // bytes of the program
}

func (r *yqRun) hold(n int) {
	r.p.Tick(1 + n>>8)
	r.held += n
	r.p.Hold(n)
}

func yq(_ context.Context, p *proc.Process) int {
	for i, a := range p.Args {
		switch a { // the only short option with a value that need not be there
		case "-r=false":
			p.Args = slices.Clone(p.Args)
			p.Args[i] = "--unwrapScalar=false"
		case "-r=true":
			p.Args = slices.Clone(p.Args)
			p.Args[i] = "-r"
		}
	}
	opts, args := yqSpec.Parse(p)
	r := &yqRun{p: p, raw: true, indent: 2, autoIn: true, autoOut: true}
	defer func() { p.Release(r.held + r.compiled) }()
	inPlace, exitStatus := false, false
	var expression *string
	for _, o := range opts {
		o.Value = strings.TrimPrefix(o.Value, "=") // -o=json is how it is written
		switch o.Key {
		case "i":
			inPlace = true
		case "o", "p":
			codec, known := format.Named(o.Value)
			switch {
			case o.Value == "auto" || o.Value == "a":
				continue
			case known && o.Key == "p":
				r.in = &codec
			case known:
				r.out, r.outName, r.json = &codec, o.Value, false
			case o.Key == "o" && (o.Value == "base64" || o.Value == "uri" || o.Value == "sh" || o.Value == "shell" ||
				o.Value == "lua"):
				if r.encoder = o.Value; o.Value == "sh" {
					r.encoder = "shell"
				}
			case o.Key == "o" && (o.Value == "s" || o.Value == "l"):
				r.encoder = map[string]string{"s": "shell", "l": "lua"}[o.Value]
			case o.Key == "p" && (o.Value == "base64" || o.Value == "uri"):
				r.decoder = o.Value
			case o.Value == "json" || o.Value == "j":
				r.json = r.json || o.Key == "o"
			case o.Value != "yaml" && o.Value != "y":
				yqError(p, "", errors.New("unknown format '"+o.Value+
					"' please use [yaml|y|json|j|props|p|csv|c|tsv|t|xml|x|base64|uri|toml|shell|s|lua|l]"))
				return 1
			}
			if o.Key == "p" {
				r.autoIn = false
			} else {
				r.autoOut = false
			}
		case "j":
			r.json = true
		case "r":
			r.raw = o.Value != "false"
			r.rawGiven = r.raw
		case "c":
			r.compact = true
		case "I":
			n, problem := program.ParseCount(o.Value, "")
			if problem != program.NumberOK || n > 16 {
				p.Errorf("invalid indentation %s", program.Quote(o.Value))
				return 1
			}
			r.indent, r.compact = int(n), n == 0
		case "P":
			r.pretty = true
		case "N":
			r.noSep = true
		case "n":
			r.null = true
		case "e":
			exitStatus = true
		case "s":
			r.split = o.Value
		case "f":
			if o.Value != "extract" && o.Value != "process" {
				p.Errorf("unknown front matter %s: want extract or process", program.Quote(o.Value))
				return 1
			}
			r.front = o.Value
		case "expression":
			expression = &o.Value
		case "from-file":
			data, err := p.ReadFile(o.Value)
			if err != nil {
				p.Errorf("%s: %s", o.Value, proc.Strerror(err))
				return 1
			}
			s := string(data)
			expression = &s
		}
	}
	if len(args) > 0 && (args[0] == "e" || args[0] == "eval") {
		args = args[1:]
	} else if len(args) > 0 && (args[0] == "ea" || args[0] == "eval-all") {
		args, r.all = args[1:], true
	}
	src := "."
	if expression != nil {
		src = *expression
	} else if len(args) > 0 {
		// A lone operand that is a file is read as it is.
		if st, err := p.Stat(args[0]); len(args) > 1 || err != nil || st.IsDir() || r.null {
			src, args = args[0], args[1:]
		}
	}
	if len(args) == 0 || r.null {
		args = []string{"-"}
	}
	program, problem := yqlang.Compile(src)
	run := &nodeRun{yqRun: r, program: program}
	if problem == nil && r.split != "" {
		run.name, problem = yqlang.Compile(r.split)
	}
	if problem == nil {
		if name, err := run.files(args, inPlace); err != nil {
			p.Out.Write(run.printedText)
			p.Out.Flush()
			yqError(p, name, err)
			return 1
		}
		if exitStatus && !run.printed {
			yqError(p, "", errors.New("no matches found"))
			return 1
		}
		return 0
	}
	if len(src) > yqlang.MaxSource {
		yqError(p, "", problem)
		return 1
	}
	r.src, r.once = yqExpression(src, r.all, p.Tick)
	scope := yqScope{}
	if r.all {
		scope.docs, scope.files = jq.NewArray(nil), jq.NewArray(nil)
	}
	if _, err := r.compile(scope, r.src); err != nil {
		yqError(p, "", problem)
		return 1
	}
	if r.all {
		if name, err := r.together(args, inPlace); err != nil {
			yqError(p, name, err)
			return 1
		}
	} else {
		for i, name := range args {
			if err := r.file(name, i, inPlace); err != nil {
				yqError(p, name, err)
				return 1
			}
		}
	}
	if exitStatus && (r.last == nil || r.last == false) {
		yqError(p, "", errors.New("no matches found"))
		return 1
	}
	return 0
}

// yqError prints an error. name is the file that it is about.
func yqError(p *proc.Process, name string, err error) {
	p.Out.Flush()
	text := err.Error()
	switch e, ok := vfs.Of(err); {
	case ok && name != "":
		text = "open " + name + ": " + strings.ToLower(e.Error())
	case name != "":
		text = "bad file '" + name + "': " + text
	}
	p.Err.WriteString("Error: " + text + "\n")
}

// yqSource is a document and where it comes from.
type yqSource struct {
	yaml.Document
	yqScope
	lead []byte // what stands before it
}

// read returns the documents of a file.
func (r *yqRun) read(name string, file int) ([]yqSource, error) {
	docs := []yaml.Document{yaml.New(nil)}
	var first []byte
	if !r.null {
		f, err := r.p.OpenInput(name)
		if err != nil {
			return nil, err
		}
		text, err := r.p.ReadAll(f)
		f.Close()
		if err != nil {
			return nil, err
		}
		if r.front != "" {
			var rest []byte
			if text, rest = frontMatter(text); r.front == "process" {
				r.tail = rest
			}
		}
		lead, body := leading(text)
		if docs, err = r.parse(name, body); err != nil {
			return nil, err
		}
		if len(docs) == 0 { // nothing but comments
			docs = []yaml.Document{yaml.FromNode(&yamlnode.Node{Kind: yamlnode.ScalarNode, Tag: "!!null",
				Value: strings.TrimSpace(string(body))})}
		}
		if docs[0].Node().Kind == yamlnode.DocumentNode {
			first = lead
		}
	}
	out := make([]yqSource, len(docs))
	for i, d := range docs {
		out[i] = yqSource{Document: d, yqScope: yqScope{file: file, document: i, name: name}}
	}
	out[0].lead = first
	return out, nil
}

// file evaluates the expression on the documents of a file.
func (r *yqRun) file(name string, n int, inPlace bool) error {
	docs, err := r.read(name, n)
	if err != nil {
		return err
	}
	var out []byte
	for i, d := range docs {
		if out, err = r.document(out, d, i > 0 || n > 0); err != nil {
			return err
		}
	}
	return r.write(name, out, inPlace)
}

// together evaluates the expression on the documents of all files. name is the file that an error is about.
func (r *yqRun) together(names []string, inPlace bool) (name string, err error) {
	var docs []yqSource
	var values, files []any
	for i, n := range names {
		found, err := r.read(n, i)
		if err != nil {
			return n, err
		}
		var own []any
		for _, d := range found {
			v, err := d.Value(r.hold)
			if err != nil {
				return n, err
			}
			own = append(own, v)
		}
		docs, values, files = append(docs, found...), append(values, own...), append(files, jq.NewArray(own))
	}
	if r.once {
		// The first document keeps its comments, as far as it is what the others are merged into.
		docs = docs[:min(len(docs), 1)]
	}
	var out []byte
	for i, d := range docs {
		d.document, d.docs, d.files = i, jq.NewArray(values), jq.NewArray(files)
		if out, err = r.document(out, d, i > 0); err != nil {
			return d.name, err
		}
	}
	return names[0], r.write(names[0], out, inPlace)
}

// document appends what the expression makes of a document; later says that something may be there already.
func (r *yqRun) document(out []byte, d yqSource, later bool) ([]byte, error) {
	first := true
	v, err := d.Value(r.hold)
	if err != nil {
		return out, err
	}
	expr, err := r.compile(d.yqScope, r.src)
	if err != nil {
		return out, err
	}
	return out, r.eval(expr, v, func(x any) error {
		r.last = x
		result, err := d.With(x, r.hold)
		if err != nil {
			return err
		}
		text, err := r.format(x, result)
		if err != nil {
			return err
		}
		r.hold(len(text))
		if r.split != "" {
			return r.part(x, text)
		}
		if first && later && !r.json && r.out == nil && !r.noSep {
			out = append(out, "---\n"...)
		}
		first = false
		out = append(out, text...)
		return nil
	})
}

// part writes a result into a file of its own, named by -s.
func (r *yqRun) part(v any, text []byte) error {
	src, _ := yqExpression(r.split[:min(len(r.split), yqlang.MaxSource)], false, r.p.Tick)
	name, err := r.compile(yqScope{document: r.results}, src)
	if err != nil {
		return err
	}
	r.results++
	return r.eval(name, v, func(x any) error {
		file, ok := x.(string)
		if !ok {
			file = strings.TrimSuffix(string(r.jsonText(jq.Style{}, x)), "\n")
		}
		return r.writePart(file, text)
	})
}

// writePart writes a file of -s, whose name may lack the ending.
func (r *yqRun) writePart(file string, text []byte) error {
	if !strings.Contains(file[strings.LastIndexByte(file, '/')+1:], ".") {
		if file += ".yml"; r.json {
			file = strings.TrimSuffix(file, "yml") + "json"
		}
	}
	f, err := r.p.Open(file, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// write prints the output, or puts it in place of the file.
func (r *yqRun) write(name string, out []byte, inPlace bool) error {
	if !inPlace || name == "-" {
		_, _ = r.p.Out.Write(out)
		return nil
	}
	f, err := r.p.Open(name, vfs.WriteOnly|vfs.Trunc, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(out)
	return errors.Join(err, f.Close())
}

// parse reads a text by the format of -p, else by the name's ending, which then is what is written as well.
func (r *yqRun) parse(name string, text []byte) ([]yaml.Document, error) {
	switch r.decoder {
	case "base64":
		b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
		return []yaml.Document{yaml.New(string(b))}, err
	case "uri":
		s, err := url.QueryUnescape(strings.TrimSpace(string(text)))
		return []yaml.Document{yaml.New(s)}, err
	}
	in := r.in
	if dot := strings.LastIndexByte(name, '.'); in == nil && r.autoIn && dot >= 0 && len(name)-dot > 2 {
		if codec, ok := format.Named(name[dot+1:]); ok {
			if in = &codec; r.autoOut && !r.json {
				r.out, r.outName = in, name[dot+1:]
			}
		}
	}
	if in == nil {
		return yaml.Parse(text, r.p.Tick, r.hold)
	}
	v, err := in.Decode(text, r.p.Tick, r.hold)
	if err != nil {
		return nil, err
	}
	return []yaml.Document{yaml.New(v)}, nil
}

func isContainer(v any) bool {
	switch v.(type) {
	case *jq.Object, *jq.Array:
		return true
	}
	return false
}

// format is a result as text.
func (r *yqRun) format(v any, d yaml.Document) ([]byte, error) {
	if s, ok := v.(string); ok && r.raw {
		return append([]byte(s), '\n'), nil
	}
	if r.out != nil {
		return r.out.Encode(v, r.indent, r.p.Tick, r.hold)
	}
	if r.json || r.compact && isContainer(v) {
		style := jq.Style{Indent: strings.Repeat(" ", r.indent)}
		if r.compact {
			style.Indent = ""
		}
		return r.jsonText(style, v), nil
	}
	if r.pretty || !isContainer(v) {
		return yaml.Encode([]yaml.Document{yaml.New(v)}, max(r.indent, 2), r.p.Tick, r.hold)
	}
	return yaml.Encode([]yaml.Document{d}, max(r.indent, 2), r.p.Tick, r.hold)
}

func (r *yqRun) eval(expr *jq.Program, v any, emit func(any) error) error {
	env := jq.NewObject()
	for _, kv := range r.p.Env.List() {
		k, x, _ := strings.Cut(kv, "=")
		env = env.Set(k, x)
	}
	m := &jq.Machine{
		Tick: r.p.Tick, Hold: r.p.Hold, Release: r.p.Release, Env: env,
		Input: func() (any, bool, error) { return nil, false, nil },
		File:  func() any { return nil }, Line: func() float64 { return 0 },
		Debug: func(any) {}, Warn: func(any) {},
		Now: func() float64 { return float64(r.p.Now().UnixMicro()) / 1e6 },
	}
	return m.Eval(expr, v, emit)
}
