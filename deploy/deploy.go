// Package deploy carries what operators run beside pgbox, for the commands that run it themselves.
package deploy

import _ "embed"

// ExportSandbox is a script for sh that prints one sandbox as SQL; its head says how.
//
//go:embed export-sandbox.sh
var ExportSandbox string
