package awk

type builtin uint8

const (
	fNone builtin = iota
	fLength
	fSubstr
	fIndex
	fSplit
	fSub
	fGsub
	fMatch
	fSprintf
	fSin
	fCos
	fAtan2
	fExp
	fLog
	fSqrt
	fInt
	fRand
	fSrand
	fTolower
	fToupper
	fSystem
	fClose
	fFflush
	fGensub
	fPatsplit
	fStrftime
	fMktime
	fSystime
	fAsort
	fAsorti
	fStrtonum
	fAnd
	fOr
	fXor
	fLshift
	fRshift
	fCompl
	fTypeof
	fIsarray
	fMkbool
	fDcgettext
	fDcngettext
	fBindtextdomain
)

// builtinInfo says how a built-in function may be called; arrays holds the digits of
// the arguments that must be arrays.
type builtinInfo struct {
	name     string
	min, max int
	arrays   string
}

const manyArgs = 1 << 20

var builtinTable = [...]builtinInfo{
	fLength:   {"length", 0, 1, ""},
	fSubstr:   {"substr", 2, 3, ""},
	fIndex:    {"index", 2, 2, ""},
	fSplit:    {"split", 2, 4, "13"},
	fSub:      {"sub", 2, 3, ""},
	fGsub:     {"gsub", 2, 3, ""},
	fMatch:    {"match", 2, 3, "2"},
	fSprintf:  {"sprintf", 1, manyArgs, ""},
	fSin:      {"sin", 1, 1, ""},
	fCos:      {"cos", 1, 1, ""},
	fAtan2:    {"atan2", 2, 2, ""},
	fExp:      {"exp", 1, 1, ""},
	fLog:      {"log", 1, 1, ""},
	fSqrt:     {"sqrt", 1, 1, ""},
	fInt:      {"int", 1, 1, ""},
	fRand:     {"rand", 0, 0, ""},
	fSrand:    {"srand", 0, 1, ""},
	fTolower:  {"tolower", 1, 1, ""},
	fToupper:  {"toupper", 1, 1, ""},
	fSystem:   {"system", 1, 1, ""},
	fClose:    {"close", 1, 2, ""},
	fFflush:   {"fflush", 0, 1, ""},
	fGensub:   {"gensub", 3, 4, ""},
	fPatsplit: {"patsplit", 2, 4, "13"},
	fStrftime: {"strftime", 0, 3, ""},
	fMktime:   {"mktime", 1, 2, ""},
	fSystime:  {"systime", 0, 0, ""},
	fAsort:    {"asort", 1, 3, "01"},
	fAsorti:   {"asorti", 1, 3, "01"},
	fStrtonum: {"strtonum", 1, 1, ""},
	fAnd:      {"and", 2, manyArgs, ""},
	fOr:       {"or", 2, manyArgs, ""},
	fXor:      {"xor", 2, manyArgs, ""},
	fLshift:   {"lshift", 2, 2, ""},
	fRshift:   {"rshift", 2, 2, ""},
	fCompl:    {"compl", 1, 1, ""},
	fTypeof:   {"typeof", 1, 1, ""},
	fIsarray:  {"isarray", 1, 1, ""},
	fMkbool:   {"mkbool", 1, 1, ""},

	fDcgettext:      {"dcgettext", 1, 3, ""},
	fDcngettext:     {"dcngettext", 3, 5, ""},
	fBindtextdomain: {"bindtextdomain", 1, 2, ""},
}

// standard are the built-in functions of POSIX.
const standard = "atan2 close cos exp fflush gsub index int length log match rand sin split sprintf sqrt srand sub substr system tolower toupper"

var builtins = func() map[string]builtin {
	m := make(map[string]builtin, len(builtinTable))
	for b, info := range builtinTable {
		if info.name != "" {
			m[info.name] = builtin(b)
		}
	}
	return m
}()

// The special variables, by slot.
const (
	vNF = iota
	vNR
	vFNR
	vFS
	vOFS
	vRS
	vORS
	vSUBSEP
	vCONVFMT
	vOFMT
	vRSTART
	vRLENGTH
	vFILENAME
	vRT
	vFIELDWIDTHS
	vFPAT
	vIGNORECASE
	vERRNO
	vARGIND
	nSpecials
)

var specials = map[string]int{
	"NF": vNF, "NR": vNR, "FNR": vFNR, "FS": vFS, "OFS": vOFS, "RS": vRS, "ORS": vORS,
	"SUBSEP": vSUBSEP, "CONVFMT": vCONVFMT, "OFMT": vOFMT, "RSTART": vRSTART,
	"RLENGTH": vRLENGTH, "FILENAME": vFILENAME, "RT": vRT, "FIELDWIDTHS": vFIELDWIDTHS,
	"FPAT": vFPAT, "IGNORECASE": vIGNORECASE, "ERRNO": vERRNO, "ARGIND": vARGIND,
}
