package shell

import (
	"maps"
	"strings"
)

// Absent are the commands that are often called and are not here, with what to do instead. A command that comes leaves
// this table: what the shell says, the page of commands and the instructions of MCP follow it.
func Absent() map[string]string { return maps.Clone(absent) }

const (
	noPackages = "there are no packages to install and everything that exists is installed; `ls /usr/bin` lists it"
	noNetwork  = "there is no network; put files into the sandbox with its API"
	noCompiler = "programs cannot be compiled or run as machine code; use bash, awk, jq or sqlite3"
	noEditor   = "there is no terminal; edit with sed -i, ed, patch or a here-document"
	noRoot     = "the user owns every file and needs no other rights; run the command itself"
	noServices = "there are no services, no containers and no processes after the script"
	noPython   = "use python3, awk or bash"
)

// absent holds no command that exists: TestAbsentCommandsSayWhatToUse.
var absent = map[string]string{
	"python2": noPython, "perl": "use awk, sed or grep -P", "ruby": noPython, "php": noPython, "lua": noPython,
	"node": "use jq for JSON, awk or bash", "deno": "use jq for JSON, awk or bash", "bun": "use jq for JSON, awk or bash",
	"pipx": noPackages, "uv": noPackages, "npm": noPackages, "npx": noPackages, "yarn": noPackages, "pnpm": noPackages,
	"apt": noPackages, "apt-get": noPackages, "apk": noPackages, "yum": noPackages, "dnf": noPackages, "brew": noPackages,
	"dpkg": noPackages,
	"git":  "use diff and patch for changes; the sandbox has versions, snapshots and undo in its API",
	"gh":   noNetwork, "curl": noNetwork, "wget": noNetwork, "ssh": noNetwork, "scp": noNetwork,
	"rsync": "use cp -a, or tar", "nc": noNetwork, "ping": noNetwork,
	"gcc": noCompiler, "cc": noCompiler, "g++": noCompiler, "clang": noCompiler, "go": noCompiler, "cargo": noCompiler,
	"rustc": noCompiler,
	"java":  noCompiler, "javac": noCompiler, "mvn": noCompiler,
	"vim": noEditor, "vi": noEditor, "nano": noEditor, "emacs": noEditor, "code": noEditor,
	"sudo": noRoot, "su": noRoot, "doas": noRoot,
	"docker": noServices, "podman": noServices, "kubectl": noServices, "systemctl": noServices, "service": noServices,
	"crontab": noServices,
	"tmux":    noServices, "screen": noServices, "mount": "the file system cannot be changed",
	"umount": "the file system cannot be changed",
}

// advice follows "command not found"; it is empty for a name that nobody expects.
func advice(name string) string {
	if strings.HasPrefix(name, "python3.") {
		name = "python2"
	}
	if use := absent[name]; use != "" {
		return ": not available in this sandbox; " + use
	}
	return ""
}
