// Package sys holds the tools of coreutils that tell of the system and run others. [Programs] is its table.
package sys

import "github.com/pgbox/pgbox/gateway/shell/program"

// Programs is sorted by name; one line a name.
var Programs = program.Table{
	"arch":     {Run: arch, Does: "print the machine's architecture"},
	"date":     {Run: date, Does: "print or format a time", Differ: "the clock cannot be set"},
	"env":      {Run: env, Does: "run a program in a changed environment"},
	"expr":     {Run: expr, Does: "evaluate an expression"},
	"factor":   {Run: factor, Does: "prime factors"},
	"false":    {Run: exitFalse, Does: "do nothing, unsuccessfully"},
	"free":     {Run: free, Does: "memory in use", Differ: "shows the exec's limit"},
	"getconf":  {Run: getconf, Does: "configuration of the system"},
	"getent":   {Run: getent, Does: "entries of databases", Differ: "from the sandbox's files, without a resolver"},
	"groups":   {Run: groups, Does: "print the groups of a user"},
	"hostid":   {Run: hostid, Does: "print the number of the host"},
	"hostname": {Run: hostname, Does: "print the name of the machine", Differ: "it cannot be set"},
	"id":       {Run: id, Does: "print user and group ids"},
	"logname":  {Run: logname, Does: "print the login name"},
	"nice":     {Run: nice, Does: "run a program with another priority", Differ: "has no effect on scheduling"},
	"nohup":    {Run: nohup, Does: "run a program that ignores hangups"},
	"nproc":    {Run: nproc, Does: "print the number of processors"},
	"printenv": {Run: printenv, Does: "print environment variables"},
	"sleep":    {Run: sleep, Does: "wait"},
	"stdbuf":   {Run: stdbuf, Does: "run a program with other buffering"},
	"timeout":  {Run: timeout, Does: "run a program with a time limit"},
	"true":     {Run: exitTrue, Does: "do nothing, successfully"},
	"tty":      {Run: ttyCommand, Does: "print the terminal's name", Differ: "there is none"},
	"uname":    {Run: uname, Does: "print the name of the system"},
	"uptime":   {Run: uptime, Does: "how long the system has been up"},
	"users":    {Run: users, Does: "print who is logged in"},
	"w":        {Run: wCommand, Does: "who is logged in and what they do", Differ: "nobody is"},
	"who":      {Run: who, Does: "who is logged in", Differ: "nobody is"},
	"whoami":   {Run: whoami, Does: "print the user's name"},
	"yes":      {Run: yes, Does: "print a line over and over"},
}
