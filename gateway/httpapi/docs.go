package httpapi

import (
	_ "embed"
	"net/http"
	"reflect"
)

//go:embed docs.html
var docsPage []byte

// docs serves a page that renders /openapi.json with nothing from elsewhere.
func docs(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'")
	_, _ = w.Write(docsPage)
}

// The types of hand-written descriptions.
var (
	typeOfTree     = reflect.TypeFor[[]treeEntry]()
	typeOfIngest   = reflect.TypeFor[ingestBody]()
	typeOfIngested = reflect.TypeFor[ingestedBody]()
	typeOfImported = reflect.TypeFor[importedBody]()
	typeOfEvent    = reflect.TypeFor[event]()
	typeOfExec     = reflect.TypeFor[execBody]()
)
