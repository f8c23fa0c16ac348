// Package makefile is GNU make 4.3: a reader of makefiles, the language of its variables and functions, the search for
// implicit rules, and what brings targets up to date.
//
// A [Make] is one run. [Make.Run] reads the makefiles (parse.go) into variables (variable.go), files and pattern rules
// (rule.go), makes makefiles that can be made anew, and then updates the goals (update.go) by running recipes (job.go).
// What is run are commands of the sandbox; with -j they run beside each other.
//
// The order in which things are considered, and with it the text of every message, is GNU's. Archive members, load and
// guile are not there.
package makefile
