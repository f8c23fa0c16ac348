package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pgbox/pgbox/gateway/exec"
	"github.com/pgbox/pgbox/gateway/fserr"
)

// What a tool does to the world, for clients that ask before they call.
type effect int

const (
	reads     effect = iota // changes nothing
	adds                    // makes something new
	repeats                 // changes, and once more changes nothing else
	overrides               // changes what is there
)

func (e effect) annotations(title string) *sdk.ToolAnnotations {
	return &sdk.ToolAnnotations{
		Title: title, ReadOnlyHint: e == reads, DestructiveHint: new(e == repeats || e == overrides), IdempotentHint: e == reads || e == repeats,
		OpenWorldHint: new(false), // a sandbox reaches nothing outside
	}
}

// call is one call of a tool.
type call struct {
	exec.Caller
	req *sdk.CallToolRequest
}

// add registers a tool whose arguments are In. What f returns becomes the result, an error one that is marked isError.
func add[In any](s *sdk.Server, name, title, description string, e effect, f func(ctx context.Context, c call, in *In) (any, error)) {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		panic(fmt.Sprintf("mcp: the arguments of %s have no schema: %v", name, err)) // a fault of this package
	}
	checked, err := schema.Resolve(nil)
	if err != nil {
		panic(fmt.Sprintf("mcp: the arguments of %s have no schema: %v", name, err))
	}
	s.AddTool(&sdk.Tool{Name: name, Title: title, Description: description, InputSchema: schema, Annotations: e.annotations(title)},
		func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			ctx, done := within(ctx, req)
			defer done()
			in := new(In)
			if err := decode(req.Params.Arguments, checked, in); err != nil {
				return failed(name, failure(fserr.CodeInvalidInput, err.Error()), nil)
			}
			out, err := f(ctx, call{caller(req), req}, in)
			if err != nil {
				return failed(name, err, out)
			}
			return result(out, false)
		})
}

// decode checks the arguments against their schema first, whose messages name what is wrong.
func decode(raw json.RawMessage, schema *jsonschema.Resolved, in any) error {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	var any map[string]any
	if err := json.Unmarshal(raw, &any); err != nil {
		return errors.New("the arguments have to be a JSON object")
	}
	if err := schema.Validate(any); err != nil {
		return err
	}
	return json.Unmarshal(raw, in)
}

// fault is the result of a tool that failed.
type fault struct {
	OK        bool         `json:"ok"`
	Error     string       `json:"error"`
	Code      fserr.Code   `json:"code"`
	Details   []string     `json:"details,omitempty"`
	Retryable bool         `json:"retryable"`
	Applied   exec.Applied `json:"applied"`
	Output    any          `json:"output,omitempty"` // what a script that was ended had printed
}

func failed(tool string, err error, output any) (*sdk.CallToolResult, error) {
	var known *exec.Error
	if !errors.As(err, &known) {
		known = internal(tool, err)
	} else if known.Code == fserr.CodeInternal {
		known = internal(tool, errors.Join(known.Unwrap()...))
	}
	return result(fault{Error: known.Message, Code: known.Code, Details: known.Details, Retryable: known.Retryable, Applied: known.Applied, Output: output}, true)
}

// result renders v, which has a field "ok".
func result(v any, isError bool) (*sdk.CallToolResult, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	text := bytes.TrimRight(b.Bytes(), "\n")
	return &sdk.CallToolResult{IsError: isError, StructuredContent: json.RawMessage(text), Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}, nil
}

// ok is embedded in what a tool returns.
type ok struct {
	OK bool `json:"ok"`
}

var done = ok{true}
