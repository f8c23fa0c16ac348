package sys

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

const (
	kernelName    = proc.KernelName
	kernelRelease = proc.KernelRelease
	kernelVersion = proc.KernelVersion

	systemName = "GNU/Linux"
)

var (
	unameSpec = getopt.New("asnrvmpio",
		"all=a kernel-name=s sysname=s nodename=n kernel-release=r release=r kernel-version=v machine=m processor=p hardware-platform=i operating-system=o").
		WithUsage("[OPTION]...", "Print certain system information.  With no OPTION, same as -s.")
	archSpec  = getopt.New("", "").WithUsage("[OPTION]...", "Print machine architecture.")
	nprocSpec = getopt.New("", "all ignore:").WithUsage("[OPTION]...",
		"Print the number of processing units available to the current process, which may be less than the number of online processors.")
	ttySpec = getopt.New("s", "silent=s quiet=s").WithStatus(2).WithUsage("[OPTION]...",
		"Print the file name of the terminal connected to standard input.")
	hostnameSpec = getopt.New("aAbdfF:hiIsVy",
		"alias=a all-fqdns=A boot=b domain=d fqdn=f long=f file:=F ip-address=i all-ip-addresses=I short=s yp=y nis=y help=h version=V").WithStatus(255)
	uptimeSpec = getopt.New("phsV", "pretty=p help=h since=s version=V")
)

func uname(_ context.Context, p *proc.Process) int {
	opts, args := unameSpec.Parse(p)
	program.NoOperand(p, unameSpec, args, 0)
	var want string
	all := false
	for _, o := range opts {
		if o.Key == "a" {
			all = true
		}
		want += o.Key
	}
	if want == "" {
		want = "s"
	}
	var out []string
	for _, f := range []struct {
		key   byte
		value string
	}{
		{'s', kernelName}, {'n', p.Hostname}, {'r', kernelRelease}, {'v', kernelVersion}, {'m', proc.MachineName},
		{'p', "unknown"}, {'i', "unknown"}, {'o', systemName},
	} {
		if strings.IndexByte(want, f.key) >= 0 || all && f.value != "unknown" {
			out = append(out, f.value)
		}
	}
	p.Out.WriteString(strings.Join(out, " ") + "\n")
	return 0
}

func arch(_ context.Context, p *proc.Process) int {
	_, args := archSpec.Parse(p)
	program.NoOperand(p, archSpec, args, 0)
	p.Out.WriteString(proc.MachineName + "\n")
	return 0
}

func nproc(_ context.Context, p *proc.Process) int {
	opts, args := nprocSpec.Parse(p)
	n, ignore := int64(proc.Processors), int64(0)
	all := false
	for _, o := range opts {
		switch o.Key {
		case "all":
			all = true
		case "ignore":
			v, problem := program.ParseCount(o.Value, "")
			if problem == program.NumberInvalid {
				p.Errorf("invalid number: %s", program.Quote(o.Value))
				return 1
			}
			ignore = v
		}
	}
	program.NoOperand(p, nprocSpec, args, 0)
	if !all {
		threads := func(name string) int64 {
			text, _, _ := strings.Cut(p.Getenv(name), ",")
			v, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			if err != nil || v < 0 {
				return 0
			}
			return v
		}
		if v := threads("OMP_NUM_THREADS"); v > 0 {
			n = v
		}
		if v := threads("OMP_THREAD_LIMIT"); v > 0 {
			n = min(n, v)
		}
	}
	fmt.Fprintf(p.Out, "%d\n", max(n-ignore, 1))
	return 0
}

// ttyCommand always fails: the sandbox has no terminal.
func ttyCommand(_ context.Context, p *proc.Process) int {
	opts, args := ttySpec.Parse(p)
	program.NoOperand(p, ttySpec, args, 0)
	if len(opts) == 0 {
		p.Out.WriteString("not a tty\n")
	}
	return 1
}

const hostnameUsage = `Usage: hostname [-a|-A|-d|-f|-i|-I|-s|-y]       display formatted name
       hostname                                 display host name

       hostname -V|--version|-h|--help          print info and exit

Program options:
    -a, --alias            alias names
    -A, --all-fqdns        all long host names (FQDNs)
    -d, --domain           DNS domain name
    -f, --fqdn, --long     long host name (FQDN)
    -i, --ip-address       addresses for the host name
    -I, --all-ip-addresses all addresses for the host
    -s, --short            short host name
    -y, --yp, --nis        NIS/YP domain name
`

func hostname(_ context.Context, p *proc.Process) int {
	usage := func() int {
		p.Err.WriteString(hostnameUsage)
		return 255
	}
	opts, args, err := hostnameSpec.Scan(p.Args[1:])
	if err != nil {
		p.Errorf("%v", err)
		return usage()
	}
	kind := ""
	for _, o := range opts {
		switch o.Key {
		case "h":
			return usage()
		case "V":
			p.Out.WriteString("hostname 3.23\n")
			return 0
		case "b", "F":
			p.Errorf("you must be root to change the host name")
			return 1
		}
		kind = o.Key
	}
	switch {
	case len(args) > 1:
		return usage()
	case len(args) == 1 && kind != "":
		return usage()
	case len(args) == 1 && strings.Trim(args[0], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") != "":
		p.Errorf("the specified hostname is invalid")
		return 1
	case len(args) == 1:
		p.Errorf("you must be root to change the host name")
		return 1
	}
	short, domain, _ := strings.Cut(p.Hostname, ".")
	switch kind {
	case "s":
		p.Out.WriteString(short + "\n")
	case "d":
		if domain != "" {
			p.Out.WriteString(domain + "\n")
		}
	case "i":
		p.Out.WriteString("127.0.0.1\n")
	case "I", "A", "a":
		p.Out.WriteString("\n")
	case "y":
		p.Errorf("Local domain name not set")
		return 1
	default:
		p.Out.WriteString(p.Hostname + "\n")
	}
	return 0
}

const uptimeUsage = `
Usage:
 uptime [options]

Options:
 -p, --pretty   show uptime in pretty format
 -h, --help     display this help and exit
 -s, --since    system up since
 -V, --version  output version information and exit

For more details see uptime(1).
`

// uptime says that the machine has just started: a sandbox exists only while a script runs.
func uptime(_ context.Context, p *proc.Process) int {
	opts, args, err := uptimeSpec.Scan(p.Args[1:])
	if err != nil {
		p.Errorf("%v", err)
	}
	if err != nil || len(args) > 0 {
		p.Err.WriteString(uptimeUsage)
		return 1
	}
	now := program.LocalNow(p)
	for _, o := range opts {
		switch o.Key {
		case "h":
			p.Out.WriteString(uptimeUsage)
			return 0
		case "V":
			p.Out.WriteString("uptime from procps-ng 4.0.2\n")
			return 0
		case "p":
			p.Out.WriteString("up 0 minutes\n")
			return 0
		case "s":
			p.Out.WriteString(now.Format("2006-01-02 15:04:05") + "\n")
			return 0
		}
	}
	p.Out.WriteString(" " + now.Format("15:04:05") + " up 0 min,  0 users,  load average: 0.00, 0.00, 0.00\n")
	return 0
}
