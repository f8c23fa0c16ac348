package sys

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var getentSpec = getopt.New("+Ais:V",
	"no-addrconfig=A no-idn=i service:=s usage").WithHint("Try `%[1]s --help' or `%[1]s --usage' for more information.").
	WithUsage("[OPTION...] database [key ...]",
		"Get entries from administrative database.").WithVersion("(Debian GLIBC 2.36) 2.36")

const getentHint = "Try `getent --help' or `getent --usage' for more information.\n"

// getentRun answers from the sandbox's own files; services and protocols are those that every machine knows.
type getentRun struct {
	p     *proc.Process
	lines []string
}

func getent(_ context.Context, p *proc.Process) int {
	opts, args := getentSpec.Parse(p)
	for _, o := range opts {
		if o.Key == "V" {
			p.Out.WriteString("getent (Debian GLIBC 2.36) 2.36\n")
			return 0
		}
	}
	if len(args) == 0 {
		p.Errorf("wrong number of arguments")
		p.Out.WriteString(getentHint)
		return 1
	}
	g := &getentRun{p: p}
	keys := args[1:]
	switch args[0] {
	case "passwd":
		return g.records("/etc/passwd", keys, 2)
	case "group":
		return g.records("/etc/group", keys, 2)
	case "shadow":
		return g.records("/etc/shadow", keys, -1)
	case "gshadow":
		return g.records("/etc/gshadow", keys, -1)
	case "hosts", "ahosts", "ahostsv4", "ahostsv6":
		return g.hosts(args[0], keys)
	case "services":
		return g.table("/etc/services", defaultServices, keys, func(f []string) string {
			return strings.TrimRight(fmt.Sprintf("%-21s %s %s", f[0], f[1], strings.Join(f[2:], " ")), " ")
		}, func(f []string, key string) bool {
			name, proto, has := strings.Cut(key, "/")
			port, kind, _ := strings.Cut(f[1], "/")
			return (!has || proto == kind) && (name == port || name == f[0] || slices.Contains(f[2:], name))
		})
	case "protocols", "rpc", "networks":
		width := map[string]int{"protocols": 21, "rpc": 15, "networks": 21}[args[0]]
		return g.table("/etc/"+args[0], map[string]string{"protocols": defaultProtocols}[args[0]], keys,
			func(f []string) string {
				return strings.TrimRight(fmt.Sprintf("%-*s %s %s", width, f[0], f[1], strings.Join(f[2:], " ")), " ")
			}, func(f []string, key string) bool { return slices.Contains(f, key) })
	case "initgroups":
		if len(keys) == 0 {
			p.Err.WriteString("Enumeration not supported on initgroups\n")
			return 3
		}
		for _, k := range keys {
			line := fmt.Sprintf("%-21s", k)
			if u, ok := program.UserByName(p, k); ok {
				for _, gid := range program.GroupsOf(p, u)[1:] {
					line += fmt.Sprintf(" %d", gid)
				}
			}
			p.Out.WriteString(line + "\n")
		}
		return 0
	case "ethers", "netgroup", "aliases":
		if len(keys) == 0 && args[0] != "aliases" {
			p.Err.WriteString("Enumeration not supported on " + args[0] + "\n")
			return 3
		}
		if len(keys) == 0 {
			return 0
		}
		return 2
	}
	p.Err.WriteString("Unknown database: " + args[0] + "\n")
	p.Out.WriteString(getentHint)
	return 1
}

// records are lines of fields apart by colons, found by the first field or, if it has one, by the number.
func (g *getentRun) records(path string, keys []string, number int) int {
	program.DatabaseLines(g.p, path, func(line string) {
		if line != "" && line[0] != '#' {
			g.lines = append(g.lines, line)
		}
	})
	if len(keys) == 0 {
		for _, l := range g.lines {
			g.p.Out.WriteString(l + "\n")
		}
		return 0
	}
	status := 0
	for _, k := range keys {
		i := slices.IndexFunc(g.lines, func(l string) bool {
			f := strings.Split(l, ":")
			return f[0] == k || number > 0 && len(f) > number && f[number] == k
		})
		if i < 0 {
			status = 2
			continue
		}
		g.p.Out.WriteString(g.lines[i] + "\n")
	}
	return status
}

func (g *getentRun) table(
	path, otherwise string, keys []string, show func([]string) string, is func(f []string, key string) bool,
) int {
	var rows [][]string
	add := func(line string) {
		line, _, _ = strings.Cut(line, "#")
		if f := strings.Fields(line); len(f) > 1 {
			rows = append(rows, f)
		}
	}
	if !program.DatabaseLines(g.p, path, add) {
		for line := range strings.Lines(otherwise) {
			add(line)
		}
	}
	if len(keys) == 0 {
		for _, f := range rows {
			g.p.Out.WriteString(show(f) + "\n")
		}
		return 0
	}
	status := 0
	for _, k := range keys {
		i := slices.IndexFunc(rows, func(f []string) bool { return is(f, k) })
		if i < 0 {
			status = 2
			continue
		}
		g.p.Out.WriteString(show(rows[i]) + "\n")
	}
	return status
}

// hosts knows what /etc/hosts says and asks nobody.
func (g *getentRun) hosts(database string, keys []string) int {
	type host struct {
		addr  netip.Addr
		names []string
	}
	var all []host
	program.DatabaseLines(g.p, "/etc/hosts", func(line string) {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) < 2 {
			return
		}
		if a, err := netip.ParseAddr(f[0]); err == nil {
			all = append(all, host{a, f[1:]})
		}
	})
	if len(keys) == 0 {
		for _, h := range all {
			fmt.Fprintf(g.p.Out, "%-15s %s\n", h.addr, strings.Join(h.names, " "))
		}
		return 0
	}
	status := 0
	for _, k := range keys {
		var found []host
		if a, err := netip.ParseAddr(k); err == nil && database != "hosts" {
			found = []host{{a, []string{k}}}
		} else {
			for _, h := range all {
				if h.addr.String() == k || slices.Contains(h.names, k) {
					found = append(found, h)
				}
			}
		}
		switch database {
		case "ahostsv4":
			found = slices.DeleteFunc(found, func(h host) bool { return !h.addr.Is4() })
		case "ahostsv6":
			found = slices.DeleteFunc(found, func(h host) bool { return h.addr.Is4() })
		}
		if len(found) == 0 {
			status = 2
			continue
		}
		if database == "hosts" {
			fmt.Fprintf(g.p.Out, "%-15s %s\n", found[0].addr, strings.Join(found[0].names, " "))
			continue
		}
		name := found[0].names[0]
		for _, h := range found {
			for _, kind := range []string{"STREAM", "DGRAM", "RAW"} {
				fmt.Fprintf(g.p.Out, "%-15s %-6s %s\n", h.addr, kind, name)
				name = ""
			}
		}
	}
	return status
}

const defaultServices = `ftp-data 20/tcp
ftp 21/tcp
ssh 22/tcp
telnet 23/tcp
smtp 25/tcp mail
domain 53/tcp
domain 53/udp
http 80/tcp www
pop3 110/tcp pop-3
ntp 123/udp
imap2 143/tcp imap
ldap 389/tcp
https 443/tcp
https 443/udp
submission 587/tcp
imaps 993/tcp
pop3s 995/tcp
mysql 3306/tcp
postgresql 5432/tcp postgres
redis 6379/tcp
http-alt 8080/tcp webcache
`

const defaultProtocols = `ip 0 IP
icmp 1 ICMP
igmp 2 IGMP
tcp 6 TCP
udp 17 UDP
ipv6 41 IPv6
ipv6-icmp 58 IPv6-ICMP
sctp 132 SCTP
`
