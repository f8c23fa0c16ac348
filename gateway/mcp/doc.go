// Package mcp serves the Model Context Protocol at /mcp: the tools with which an agent works in its sandboxes. It is streamable HTTP and
// keeps nothing between two requests, so any replica answers any of them.
//
// A tool's result is one JSON object, as structured content and once more as the one text item: with "ok": true what was asked for, or, in
// a result marked isError, {"ok": false, "error", "code", "retryable", "applied"} with the codes of the REST interface. A script that
// exits with another status than 0 is not an error of the tool.
package mcp
