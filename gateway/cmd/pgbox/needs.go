package main

import (
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/redis/go-redis/v9"

	"github.com/pgbox/pgbox/gateway/config"
	"github.com/pgbox/pgbox/gateway/confine"
)

// systemFiles are what Go's runtime and library read while a server runs: names of hosts, certificates of authorities,
// time zones, types of files, and how much of the machine there is. A resolv.conf that is replaced and not written over
// is not seen any more; that takes a restart.
var systemFiles = []string{
	"/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/services", "/etc/protocols", "/run/systemd/resolve",
	"/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem", "/etc/pki/tls/certs", "/etc/pki/tls/cacert.pem",
	"/etc/pki/ca-trust/extracted",
	"/usr/share/ca-certificates", "/usr/local/share/ca-certificates", "/etc/ca-certificates",
	"/etc/localtime", "/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/usr/lib/locale/TZ",
	"/etc/mime.types", "/usr/share/mime/globs2", "/usr/local/share/mime/globs2", "/etc/apache2/mime.types",
	"/etc/apache/mime.types",
	"/proc/meminfo", "/proc/stat", "/proc/cpuinfo", "/proc/sys/net/core/somaxconn", "/sys/fs/cgroup",
	"/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "/dev/urandom",
}

// needs is what a server with this configuration keeps.
func needs(cfg *config.Config) (confine.Needs, error) {
	n := confine.Needs{
		Read: append([]string{"/proc/self"}, systemFiles...), ReadWrite: []string{"/dev/null"},
		ConnectTCP: []int{53}, // answers that are too long for a datagram
	}
	for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "PGSSLROOTCERT", "PGSSLCERT", "PGSSLKEY", "PGPASSFILE",
		"PGSERVICEFILE", "ZONEINFO"} {
		n.Read = append(n.Read, filepath.SplitList(os.Getenv(name))...)
	}
	if home, err := os.UserHomeDir(); err == nil {
		n.Read = append(n.Read, filepath.Join(home, ".pgpass"), filepath.Join(home, ".pg_service.conf"),
			filepath.Join(home, ".postgresql"))
	}
	for _, u := range []config.Secret{cfg.DatabaseURL, cfg.DatabaseDirectURL, cfg.DatabaseReplicaURL} {
		if err := needPostgres(&n, string(u)); err != nil {
			return n, err
		}
	}
	if cfg.RedisURL != "" {
		o, err := redis.ParseURL(string(cfg.RedisURL))
		if err != nil {
			return n, errors.New("REDIS_URL cannot be parsed") // the error's own text may hold the password
		}
		needAddress(&n, o.Network, o.Addr)
	}
	return n, nil
}

func needPostgres(n *confine.Needs, u string) error {
	if u == "" {
		return nil
	}
	c, err := pgx.ParseConfig(u)
	if err != nil {
		return errors.New("the database URL cannot be parsed") // the error's own text may hold the password
	}
	for _, f := range append(c.Fallbacks, &pgconn.FallbackConfig{Host: c.Host, Port: c.Port}) {
		network, address := pgconn.NetworkAddress(f.Host, f.Port)
		needAddress(n, network, address)
	}
	if parsed, err := url.Parse(u); err == nil {
		for _, name := range []string{"sslrootcert", "sslcert", "sslkey", "passfile", "servicefile"} {
			if file := parsed.Query().Get(name); file != "" {
				n.Read = append(n.Read, file)
			}
		}
	}
	return nil
}

func needAddress(n *confine.Needs, network, address string) {
	if network == "unix" {
		n.Unix = true
		return
	}
	if _, port, err := net.SplitHostPort(address); err == nil {
		if p, err := strconv.ParseUint(port, 10, 16); err == nil {
			n.ConnectTCP = append(n.ConnectTCP, int(p))
		}
	}
}
