// Package mcp serves the Model Context Protocol at /mcp: the tools with which an agent works in its sandboxes. It is
// streamable HTTP and keeps nothing between two requests, so any replica answers any of them.
//
// A call ends, and its script with it, when its connection closes, whatever the protocol's version, and by
// notifications/cancelled, which may arrive at another gateway: it is handed on to all of them through Redis. Clients
// are told apart by the session that the answer to initialize names, under which nothing is kept. The calls of one
// batch (2025-03-26) end together. While a call lasts, its stream has a comment every 15 seconds.
//
// An answer has a budget of bytes, 256 KiB unless the call asks for more. What goes beyond it is left out, the middle
// of a text and the end of a list, and the answer says so: "truncated", and where a tool can go on, with what (next,
// nextOffset, nextAfter, nextCursor).
//
// A tool's result is one JSON object, as structured content and once more as the one text item: with "ok": true what
// was asked for, or, in a result marked isError, {"ok": false, "error", "code", "retryable", "applied"} with the codes
// of the REST interface. A script that exits with another status than 0 is not an error of the tool.
package mcp
