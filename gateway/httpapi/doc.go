// Package httpapi is the REST interface: it turns requests into calls of
// sandbox.Service and results into JSON, and knows nothing of Postgres or bash.
//
// The routes are registered through huma, which validates JSON bodies and describes everything in
// /openapi.json; routes that carry raw bytes or streams are plain handlers with a
// hand-written description beside them. Every error has the same body ([ErrorBody]); its HTTP
// status comes from the one table in package wire.
package httpapi
