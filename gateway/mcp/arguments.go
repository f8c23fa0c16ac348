package mcp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// otherNames are what clients of other servers call an argument.
var otherNames = map[string]string{
	"sandboxId": "id", "sandbox_id": "id", "sandbox": "id", "timeoutMs": "timeout", "timeout_ms": "timeout",
	"perScriptTimeoutMs": "perScriptTimeout", "backgroundWaitMs": "backgroundWait",
	"file_path": "path", "filePath": "path", "old_string": "oldString", "new_string": "newString",
	"replace_all": "replaceAll", "command": "script",
	"read_only": "readOnly", "base_path": "basePath", "oldText": "oldString", "newText": "newString", "glob": "include",
	"-i": "ignoreCase", "head_limit": "limit",
}

// accept gives arguments of sql-fs and of well-known tools the names that they have here, and reports whether it did.
func accept(args map[string]any, schema *jsonschema.Schema) bool {
	changed := false
	for _, name := range slices.Sorted(maps.Keys(args)) {
		ours, known := otherNames[name]
		_, taken := args[ours]
		if known && schema.Properties[name] == nil && schema.Properties[ours] != nil && !taken {
			args[ours] = args[name]
			delete(args, name)
			changed = true
		}
	}
	if edits, ok := args["edits"].([]any); ok && schema.Properties["edits"] != nil {
		for _, e := range edits {
			if e, ok := e.(map[string]any); ok && accept(e, schema.Properties["edits"].Items) {
				changed = true
			}
		}
	}
	// Files by path, as the REST interface has them.
	files, ok := args["files"].(map[string]any)
	if p := schema.Properties["files"]; !ok || p == nil || p.Items == nil {
		return changed
	}
	list := make([]any, 0, len(files))
	for _, path := range slices.Sorted(maps.Keys(files)) {
		entry, ok := files[path].(map[string]any)
		if !ok {
			entry = map[string]any{"base64": files[path]}
		}
		entry["path"] = path
		list = append(list, entry)
	}
	args["files"] = list
	return true
}

// unknown names what is not an argument, and what is one.
func unknown(args map[string]any, schema *jsonschema.Schema) error {
	var bad []string
	names := slices.Sorted(maps.Keys(schema.Properties))
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if schema.Properties[name] != nil {
			continue
		}
		s := fmt.Sprintf("%q is not an argument of this tool", name)
		if i := slices.IndexFunc(names, func(n string) bool { return alike(n, name) }); i >= 0 {
			s += fmt.Sprintf(" (is %q meant?)", names[i])
		}
		bad = append(bad, s)
	}
	if bad == nil {
		return nil
	}
	return fmt.Errorf("%s; it takes %s", strings.Join(bad, ", "), strings.Join(names, ", "))
}

// alike compares names without case and punctuation, and takes a beginning for the whole.
func alike(a, b string) bool {
	plain := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r == '_' || r == '-' || r == ' ' {
				return -1
			}
			return r
		}, strings.ToLower(s))
	}
	a, b = plain(a), plain(b)
	return a == b || len(b) > 2 && strings.HasPrefix(a, b) || len(a) > 2 && strings.HasPrefix(b, a)
}
