package program

import (
	"strconv"
	"strings"
)

// signals by name, numbered as on Linux.
var signals = map[string]int{
	"EXIT": 0, "HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "TRAP": 5, "ABRT": 6, "BUS": 7, "FPE": 8, "KILL": 9, "USR1": 10,
	"SEGV": 11, "USR2": 12,
	"PIPE": 13, "ALRM": 14, "TERM": 15, "STKFLT": 16, "CHLD": 17, "CONT": 18, "STOP": 19, "TSTP": 20, "TTIN": 21,
	"TTOU": 22, "URG": 23, "XCPU": 24,
	"XFSZ": 25, "VTALRM": 26, "PROF": 27, "WINCH": 28, "POLL": 29, "IO": 29, "PWR": 30, "SYS": 31,
}

// SignalNumber reads a signal by number or name, with or without SIG.
func SignalNumber(s string) (int, bool) {
	if n, err := strconv.Atoi(s); err == nil {
		return n, n >= 0 && n <= 64
	}
	n, ok := signals[strings.TrimPrefix(strings.ToUpper(s), "SIG")]
	return n, ok
}

// SignalName is the name of a signal without SIG, or its number.
func SignalName(n int) string {
	for name, k := range signals {
		if k == n && name != "IO" {
			return name
		}
	}
	return strconv.Itoa(n)
}
