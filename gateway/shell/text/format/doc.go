// Package format reads and writes the formats that yq knows besides YAML and JSON, as values of jq: TOML, XML, CSV, TSV
// and Java properties. What becomes of attributes, columns and keys with dots is as in mikefarah's yq 4.
package format
