// Package data holds jq, yq, CSV, XML, SQLite. [Programs] is its table.
package data

import "github.com/pgbox/pgbox/gateway/shell/program"

// Programs is sorted by name; one line a name.
var Programs = program.Table{
	"csvclean":  {Run: csvkit, Does: "check and mend CSV"},
	"csvcut":    {Run: csvkit, Does: "select columns of CSV"},
	"csvformat": {Run: csvkit, Does: "change the dialect of CSV"},
	"csvgrep":   {Run: csvkit, Does: "search CSV"},
	"csvjoin": {Run: csvkit, Does: "join CSV files",
		Differ: "types are guessed as csvkit does, without words for dates like today"},
	"csvjson": {Run: csvkit, Does: "turn CSV into JSON", Differ: "no GeoJSON"},
	"csvlook": {Run: csvkit, Does: "show CSV as a table",
		Differ: "types are guessed as csvkit does, without words for dates like today"},
	"csvsort": {Run: csvkit, Does: "sort CSV",
		Differ: "types are guessed as csvkit does, without words for dates like today"},
	"csvstack": {Run: csvkit, Does: "stack CSV files"},
	"csvstat": {Run: csvkit, Does: "statistics of CSV",
		Differ: "types are guessed as csvkit does, without words for dates like today"},
	"gron":             {Run: gron, Does: "turn JSON into assignments that grep understands", Differ: "no URLs"},
	"html-to-markdown": {Run: htmlToMarkdown, Does: "convert HTML to Markdown"},
	"in2csv": {Run: csvkit, Does: "turn JSON, newline-delimited JSON and fixed columns into CSV",
		Differ: "no spreadsheets"},
	"jo": {Run: jo, Does: "make JSON of words"},
	"jq": {Run: jqMain, Does: "process JSON",
		Differ: "1.8, with some functions of other versions; no locales and time zones in dates"},
	"json_pp": {Run: jsonPP, Does: "show JSON in lines", Differ: "own words for what is not JSON"},
	"sqlite3": {Run: sqlite3Main, Does: "query and change SQLite databases",
		Differ: "the library is SQLite 3.53; no extensions, no pipes in .output"},
	"ungron": {Run: gron, Does: "turn assignments back into JSON"},
	"xan":    {Run: xanMain, Does: "process CSV", Differ: "the commands people use, not all of xan's"},
	"xmllint": {Run: xmllint, Does: "check, format and query XML",
		Differ: "no validation, no shell; --html reads pages as browsers do"},
	"yq": {Run: yq, Does: "process YAML, JSON, TOML, XML, CSV and properties with expressions of yq 4 (or of jq)",
		Differ: "arithmetic goes from left to right, `*` before `+`; several files with `-i` are each changed; without HCL, INI and Go output"},
}
