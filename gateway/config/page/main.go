// Command page prints CONFIGURATION.md from the table of variables.
package main

import (
	"os"

	"github.com/pgbox/pgbox/gateway/config"
)

func main() {
	if _, err := os.Stdout.Write(config.Page()); err != nil {
		os.Exit(1)
	}
}
