// Package getopt parses command lines as GNU getopt_long does and complains in
// its words.
//
// A command declares its options once, as a package variable:
//
//	var lsSpec = getopt.New("aAlw:", "all=a almost-all=A width:=w color:: author")
//
// Short options use getopt(3) notation: a letter, ":" when it takes an argument, "::"
// when the argument is optional (attached only). A leading "+" stops at the first
// operand instead of permuting. Long options are words: the name, ":" or "::" as
// above, and "=x" when the option is another name for x (a short letter, or any key).
// Unique prefixes of long names are accepted. --help and --version are always there.
//
// The result is the options in order, each under its key (the short letter, or the long
// name when it has none), then the operands:
//
//	opts, args := lsSpec.Parse(p)
//	for _, o := range opts {
//		switch o.Key {
//		case "a":
//			…
//		case "w":
//			width = o.Value
//		}
//	}
package getopt
