package config

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
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

// The table of the README has every variable, with the default that it has.
func TestReadmeHasEveryVariable(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	defaults := map[string]string{"DATABASE_DIRECT_URL": "`DATABASE_URL`", "EXEC_CONCURRENCY": "16 per CPU"}
	for _, v := range slices.Concat(secrets, variables) {
		if _, ok := defaults[v.name]; !ok {
			defaults[v.name] = v.def
		}
	}
	name := regexp.MustCompile("^`([A-Z_]+)`$")
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		names := strings.Split(strings.TrimSpace(cells[0]), ", ")
		if len(cells) != 3 || !name.MatchString(names[0]) {
			continue
		}
		told := strings.Split(strings.TrimSpace(cells[1]), ", ")
		if len(told) != len(names) {
			told = strings.Split(cells[1], ",")
		}
		for i, n := range names {
			m := name.FindStringSubmatch(n)
			if m == nil || len(told) != len(names) {
				t.Fatalf("%d defaults: %s", len(told), line)
			}
			def, ok := defaults[m[1]]
			if got := strings.TrimSpace(told[i]); !ok || got != def {
				t.Errorf("%s: the README has %q, the default is %q", m[1], got, def)
			}
			delete(defaults, m[1])
		}
	}
	if len(defaults) > 0 {
		t.Errorf("not in the README: %v", slices.Sorted(maps.Keys(defaults)))
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

// Every way in which a configuration may get into a log.
func TestSecretsAreNeverPrinted(t *testing.T) {
	values := map[string]string{}
	for _, v := range secrets {
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
		"%v": fmt.Sprintf("%v", c), "%+v": fmt.Sprintf("%+v", *c), "%#v": fmt.Sprintf("%#v", *c), "String": c.AuthSecret.String(), "%q": fmt.Sprintf("%q", c.RedisURL),
		"JSON": string(asJSON), "log": log.String(), "help": strings.Join(Variables(), "\n"),
	} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("%s shows a secret: %s", how, text)
		}
	}
	// And a variable that is new is in the right table.
	for _, v := range variables {
		if strings.HasSuffix(v.name, "SECRET") || strings.HasSuffix(v.name, "KEY") || strings.HasSuffix(v.name, "_URL") || strings.HasSuffix(v.name, "PASSWORD") {
			t.Errorf("%s belongs to the secrets", v.name)
		}
	}
}
