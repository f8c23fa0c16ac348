// Package yaml turns YAML documents into the values of package jq and back. Comments, styles and anchors stay with the
// parts of a document that a new value leaves as they are.
package yaml
