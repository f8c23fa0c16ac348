package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"regexp"
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

// What operators read is what the code says.
func TestConfigurationPage(t *testing.T) {
	page, err := os.ReadFile("../CONFIGURATION.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(page, Page()) {
		t.Error("CONFIGURATION.md is not what the table says: run make generate")
	}
	seen := map[string]bool{}
	for v := range all {
		if seen[v.name] || !bytes.Contains(page, []byte("| `"+v.name+"` |")) {
			t.Errorf("%s: twice, or not in CONFIGURATION.md", v.name)
		}
		seen[v.name] = true
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
		"PORT": "http", "DATABASE_URL": "mysql://secret@h/db", "AUTH_SECRET": "short", "TREE_CACHE_SIZE": "lots",
		"LOCK_TIMEOUT":       "-1s",
		"DATABASE_EXEC_MODE": "fast", "TRUST_PROXY": "maybe", "EXEC_CONCURRENCY": "0", "REDIS_URL": "h:6379",
		"LOG_LEVEL": "loud", "ADMIN_SECRET": "x",
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

// Every way in which a configuration may get into a log.
func TestSecretsAreNeverPrinted(t *testing.T) {
	values := map[string]string{}
	for v := range all {
		if !v.secret {
			continue
		}
		values[v.name] = "hunter2-hunter2-hunter2"
		if strings.HasSuffix(v.name, "_URL") {
			values[v.name] = map[bool]string{true: "redis", false: "postgres"}[v.name == "REDIS_URL"] + "://user:hunter2@host/db"
		}
	}
	c, err := Load(env(values))
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "config", c, "url", c.DatabaseURL)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "config", *c, "url", c.DatabaseURL)
	for how, text := range map[string]string{
		"%v": fmt.Sprintf("%v", c), "%+v": fmt.Sprintf("%+v", *c), "%#v": fmt.Sprintf("%#v", *c),
		"String": c.AuthSecret.String(), "%q": fmt.Sprintf("%q", c.RedisURL),
		"JSON": string(asJSON), "log": log.String(), "help": strings.Join(Variables(), "\n"),
	} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("%s shows a secret: %s", how, text)
		}
	}
	// And a new variable that looks like a secret is marked as one.
	for v := range all {
		if regexp.MustCompile(`(SECRET|KEY|PASSWORD|_URL)$`).MatchString(v.name) && !v.secret {
			t.Errorf("%s is not marked as secret", v.name)
		}
	}
}
