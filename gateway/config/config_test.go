package config

import (
	"strings"
	"testing"
	"time"
)

func env(m map[string]string) func(string) string { return func(k string) string { return m[k] } }

func TestDefaultsAreValid(t *testing.T) {
	c, err := Load(env(nil))
	if err != nil {
		t.Fatal(err)
	}
	if c.Port != 8080 || c.TreeCacheBytes != 512<<20 || c.LockTimeout != 30*time.Second {
		t.Fatalf("defaults: %+v", c)
	}
}

func TestDirectURLDefaultsToDatabaseURL(t *testing.T) {
	c, err := Load(env(map[string]string{"DATABASE_URL": "postgres://h/db"}))
	if err != nil || c.DatabaseDirectURL != "postgres://h/db" {
		t.Fatalf("%+v, %v", c, err)
	}
}

func TestEveryBadValueIsOneLine(t *testing.T) {
	bad := map[string]string{
		"PORT": "http", "DATABASE_URL": "mysql://secret@h/db", "AUTH_SECRET": "short", "TREE_CACHE_SIZE": "lots", "LOCK_TIMEOUT": "-1s",
		"DATABASE_EXEC_MODE": "fast", "TRUST_PROXY": "maybe", "EXEC_CONCURRENCY": "0", "REDIS_URL": "h:6379", "LOG_LEVEL": "loud", "ADMIN_SECRET": "x",
	}
	_, err := Load(env(bad))
	if err == nil {
		t.Fatal("accepted")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(bad) {
		t.Fatalf("%d lines for %d bad values:\n%v", len(lines), len(bad), err)
	}
	for name := range bad {
		if !strings.Contains(err.Error(), name+"=") {
			t.Errorf("%s is not named", name)
		}
	}
	for _, secret := range []string{"short", "secret@h"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("a secret is shown: %v", err)
		}
	}
}

func TestSizes(t *testing.T) {
	for in, want := range map[string]int64{"1024": 1024, "64KiB": 64 << 10, "2GiB": 2 << 30} {
		c, err := Load(env(map[string]string{"EXEC_OUTPUT": in}))
		if err != nil || c.MaxOutput != want {
			t.Errorf("%s: %d, %v", in, c.MaxOutput, err)
		}
	}
}

func TestRequire(t *testing.T) {
	c, _ := Load(env(nil))
	err := c.Require(env(nil), "DATABASE_URL", "AUTH_SECRET")
	if err == nil || len(strings.Split(err.Error(), "\n")) != 2 {
		t.Fatalf("got %v", err)
	}
}
