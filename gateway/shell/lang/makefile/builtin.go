package makefile

import (
	"slices"
	"strings"
)

const defaultSuffixes = ".out .a .ln .o .c .cc .C .cpp .p .f .F .m .r .y .l .ym .yl .s .S .mod .sym .def .h .info .dvi .tex .texinfo .texi .txinfo .w .ch .web .sh .elc .el"

var builtinVariables = [][2]string{
	{"AR", "ar"}, {"ARFLAGS", "rv"}, {"AS", "as"}, {"CC", "cc"}, {"CXX", "g++"}, {"CO", "co"}, {"CPP", "$(CC) -E"},
	{"FC", "f77"}, {"GET", "get"}, {"LD", "ld"},
	{"LEX", "lex"}, {"LINT", "lint"}, {"M2C", "m2c"}, {"MAKEINFO", "makeinfo"}, {"OBJC", "cc"}, {"PC", "pc"},
	{"RM", "rm -f"}, {"TANGLE", "tangle"}, {"TEX", "tex"},
	{"TEXI2DVI", "texi2dvi"}, {"WEAVE", "weave"}, {"CWEAVE", "cweave"}, {"CTANGLE", "ctangle"}, {"YACC", "yacc"},
	{"F77", "$(FC)"}, {"F77FLAGS", "$(FFLAGS)"},
	{"COMPILE.c", "$(CC) $(CFLAGS) $(CPPFLAGS) $(TARGET_ARCH) -c"},
	{"COMPILE.cc", "$(CXX) $(CXXFLAGS) $(CPPFLAGS) $(TARGET_ARCH) -c"},
	{"COMPILE.C", "$(COMPILE.cc)"}, {"COMPILE.cpp", "$(COMPILE.cc)"},
	{"COMPILE.f", "$(FC) $(FFLAGS) $(TARGET_ARCH) -c"},
	{"COMPILE.F", "$(FC) $(FFLAGS) $(CPPFLAGS) $(TARGET_ARCH) -c"},
	{"COMPILE.m", "$(OBJC) $(OBJCFLAGS) $(CPPFLAGS) $(TARGET_ARCH) -c"},
	{"COMPILE.p", "$(PC) $(PFLAGS) $(CPPFLAGS) $(TARGET_ARCH) -c"},
	{"COMPILE.s", "$(AS) $(ASFLAGS) $(TARGET_MACH)"},
	{"COMPILE.S", "$(CC) $(ASFLAGS) $(CPPFLAGS) $(TARGET_MACH) -c"},
	{"LINK.o", "$(CC) $(LDFLAGS) $(TARGET_ARCH)"},
	{"LINK.c", "$(CC) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS) $(TARGET_ARCH)"},
	{"LINK.cc", "$(CXX) $(CXXFLAGS) $(CPPFLAGS) $(LDFLAGS) $(TARGET_ARCH)"},
	{"LINK.C", "$(LINK.cc)"}, {"LINK.cpp", "$(LINK.cc)"},
	{"LINK.f", "$(FC) $(FFLAGS) $(LDFLAGS) $(TARGET_ARCH)"},
	{"LINK.F", "$(FC) $(FFLAGS) $(CPPFLAGS) $(LDFLAGS) $(TARGET_ARCH)"},
	{"LINK.m", "$(OBJC) $(OBJCFLAGS) $(CPPFLAGS) $(LDFLAGS) $(TARGET_ARCH)"},
	{"LINK.p", "$(PC) $(PFLAGS) $(CPPFLAGS) $(LDFLAGS) $(TARGET_ARCH)"},
	{"LINK.s", "$(CC) $(ASFLAGS) $(LDFLAGS) $(TARGET_MACH)"},
	{"LINK.S", "$(CC) $(ASFLAGS) $(CPPFLAGS) $(LDFLAGS) $(TARGET_MACH)"},
	{"YACC.y", "$(YACC) $(YFLAGS)"}, {"LEX.l", "$(LEX) $(LFLAGS) -t"}, {"YACC.m", "$(YACC) $(YFLAGS)"},
	{"LEX.m", "$(LEX) $(LFLAGS) -t"},
	{"PREPROCESS.S", "$(CC) -E $(CPPFLAGS)"}, {"PREPROCESS.F", "$(FC) $(FFLAGS) $(CPPFLAGS) $(TARGET_ARCH) -F"},
	{"LINT.c", "$(LINT) $(LINTFLAGS) $(CPPFLAGS) $(TARGET_ARCH)"}, {"OUTPUT_OPTION", "-o $@"},
}

// builtinRules are the implicit rules that anybody still counts on.
const builtinRules = `
%: %.o
	$(LINK.o) $^ $(LOADLIBES) $(LDLIBS) -o $@
%.o: %.c
	$(COMPILE.c) $(OUTPUT_OPTION) $<
%: %.c
	$(LINK.c) $^ $(LOADLIBES) $(LDLIBS) -o $@
%.o: %.cc
	$(COMPILE.cc) $(OUTPUT_OPTION) $<
%: %.cc
	$(LINK.cc) $^ $(LOADLIBES) $(LDLIBS) -o $@
%.o: %.C
	$(COMPILE.C) $(OUTPUT_OPTION) $<
%: %.C
	$(LINK.C) $^ $(LOADLIBES) $(LDLIBS) -o $@
%.o: %.cpp
	$(COMPILE.cpp) $(OUTPUT_OPTION) $<
%: %.cpp
	$(LINK.cpp) $^ $(LOADLIBES) $(LDLIBS) -o $@
%.o: %.p
	$(COMPILE.p) $(OUTPUT_OPTION) $<
%: %.p
	$(LINK.p) $^ $(LOADLIBES) $(LDLIBS) -o $@
%.o: %.f
	$(COMPILE.f) $(OUTPUT_OPTION) $<
%: %.f
	$(LINK.f) $^ $(LOADLIBES) $(LDLIBS) -o $@
%.o: %.F
	$(COMPILE.F) $(OUTPUT_OPTION) $<
%: %.F
	$(LINK.F) $^ $(LOADLIBES) $(LDLIBS) -o $@
%.o: %.m
	$(COMPILE.m) $(OUTPUT_OPTION) $<
%: %.m
	$(LINK.m) $^ $(LOADLIBES) $(LDLIBS) -o $@
%.o: %.s
	$(COMPILE.s) -o $@ $<
%: %.s
	$(LINK.s) $^ $(LOADLIBES) $(LDLIBS) -o $@
%.o: %.S
	$(COMPILE.S) -o $@ $<
%: %.S
	$(LINK.S) $^ $(LOADLIBES) $(LDLIBS) -o $@
%.c: %.y
	$(YACC.y) $< 
	 mv -f y.tab.c $@
%.c: %.l
	@$(RM) $@ 
	 $(LEX.l) $< > $@
%.s: %.S
	$(PREPROCESS.S) $< > $@
%: %.sh
	cat $< >$@ 
	chmod a+x $@
%.dvi: %.tex
	$(TEX) $<
%.info: %.texi
	$(MAKEINFO) $(MAKEINFO_FLAGS) $< -o $@
%.out: %
	@rm -f $@ 
	 cp $< $@
`

// builtinSuffixes are names that match a builtin rule without a recipe, so that the rules for any name are not tried
// for them.
var builtinSuffixes = []string{".out", ".a", ".ln", ".o", ".c", ".cc", ".C", ".cpp", ".p", ".f", ".F", ".m", ".r", ".y",
	".l", ".ym", ".yl", ".s", ".S", ".mod", ".sym", ".def", ".h",
	".info", ".dvi", ".tex", ".texinfo", ".texi", ".txinfo", ".w", ".ch", ".web", ".sh", ".elc", ".el"}

// readBuiltinRules sets the suffixes, before the makefiles are read, and the rules, which come after theirs.
func (m *Make) readBuiltinRules(before bool) {
	if m.NoBuiltinRules || m.NoBuiltinVars {
		return
	}
	if before {
		m.suffixes = strings.Fields(defaultSuffixes)
		return
	}
	at := m.at
	m.builtin = true
	m.read(builtinRules, "", 1)
	m.builtin = false
	// These are suffix rules of old: without their suffixes they are none.
	known := func(s string) bool {
		s = strings.TrimPrefix(trim(s), "%")
		return s == "" || s == ".out" || slices.Contains(m.suffixes, s)
	}
	m.rules = slices.DeleteFunc(m.rules, func(r *rule) bool {
		return r.builtin && (!known(r.targets[0]) || !known(r.deps))
	})
	for _, s := range m.suffixes {
		if slices.Contains(builtinSuffixes, s) {
			m.rules = append(m.rules, &rule{targets: []string{"%" + s}, builtin: true})
		}
	}
	m.at = at
}

// printDatabase is -p.
func (m *Make) printDatabase() {
	out := m.p.Out
	now := m.p.Now().UTC().Format("Mon Jan _2 15:04:05 2006")
	out.WriteString("\n# Make data base, printed on " + now + "\n\n# Variables\n\n")
	names := make([]string, 0, len(m.global.vars))
	for n := range m.global.vars {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		v := m.global.vars[n]
		if v.undefined {
			continue
		}
		switch v.origin {
		case originFile:
			out.WriteString("# makefile")
			if v.at.file != "" {
				m.printf(" (from '%s', line %d)", v.at.file, v.at.line)
			}
		case originOverride:
			out.WriteString("# 'override' directive")
		default:
			out.WriteString("# " + originNames[v.origin])
		}
		out.WriteByte('\n')
		if strings.Contains(v.value, "\n") {
			out.WriteString("define " + n + "\n" + v.value + "\nendef\n")
			continue
		}
		op := " = "
		if !v.recursive {
			op = " := "
		}
		value := v.value
		if !v.recursive {
			value = strings.ReplaceAll(value, "$", "$$")
		}
		out.WriteString(n + op + value + "\n")
	}
	out.WriteString("\n# Implicit Rules\n")
	for _, r := range m.rules {
		colon := ":"
		if r.terminal {
			colon = "::"
		}
		out.WriteString("\n" + strings.TrimRight(strings.Join(r.targets, " ")+colon+" "+r.deps, " ") + "\n")
		m.printRecipe(r.recipe)
	}
	out.WriteString("\n# Files\n")
	for _, f := range m.order {
		out.WriteByte('\n')
		if !f.target {
			out.WriteString("# Not a target:\n")
		}
		colon := ":"
		if f.doubleColon {
			colon = "::"
		}
		var deps, order []string
		for _, d := range f.deps {
			if d.order {
				order = append(order, d.f.hname)
			} else {
				deps = append(deps, d.f.hname)
			}
		}
		line := f.hname + colon
		if len(deps) > 0 {
			line += " " + strings.Join(deps, " ")
		}
		if len(order) > 0 {
			line += " | " + strings.Join(order, " ")
		}
		out.WriteString(line + "\n")
		if f.phony {
			out.WriteString("#  Phony target (prerequisite of .PHONY).\n")
		}
		m.printRecipe(f.recipe)
	}
	out.WriteString("\n# Finished Make data base on " + now + "\n\n")
}

func (m *Make) printRecipe(r *recipe) {
	if r == nil {
		return
	}
	if r.at.file == "" {
		m.p.Out.WriteString("#  recipe to execute (built-in):\n")
	} else {
		m.printf("#  recipe to execute (from '%s', line %d):\n", r.at.file, r.at.line)
	}
	for _, l := range r.lines {
		m.p.Out.WriteString("\t" + strings.ReplaceAll(l.text, "\n", "\n\t") + "\n")
	}
}
