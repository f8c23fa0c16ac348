//go:build linux

package model

import (
	"testing"
	"time"
)

func TestModelAgainstLinux(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	ran := OnLinux(t, func(l *Linux) {
		Run(t, Config{
			Seed: seed, Ops: 10_000,
			Gen: func(g *Generator) { g.Verbs, g.PlainModes = LinuxVerbs, true },
		}, l)
	})
	if !ran {
		t.Log("not compared: this user must not change the root directory")
	}
}
