package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/wire"
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
		Title: title, ReadOnlyHint: e == reads, DestructiveHint: new(e == repeats || e == overrides),
		IdempotentHint: e == reads || e == repeats,
		OpenWorldHint:  new(false), // a sandbox reaches nothing outside
	}
}

// call is one call of a tool.
type call struct {
	sandbox.Caller
	req *sdk.CallToolRequest
}

// add registers a tool whose arguments are In. What f returns becomes the result, an error one that is marked isError.
func add[In any](
	s *sdk.Server, name, title, description string, e effect, f func(ctx context.Context, c call, in *In) (any, error),
) {
	schema, err := jsonschema.For[In](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[sandbox.Session](): {Types: []string{"boolean", "string"}},
	}})
	if err != nil {
		panic(fmt.Sprintf("mcp: the arguments of %s have no schema: %v", name, err)) // a fault of this package
	}
	checked, err := schema.Resolve(nil)
	if err != nil {
		panic(fmt.Sprintf("mcp: the arguments of %s have no schema: %v", name, err))
	}
	s.AddTool(&sdk.Tool{Name: name, Title: title, Description: description, InputSchema: schema,
		Annotations: e.annotations(title)},
		func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			ctx, done := within(ctx, req)
			defer done()
			in := new(In)
			if err := decode(req.Params.Arguments, schema, checked, in); err != nil {
				return failed(name, failure(wire.CodeInvalidInput, err.Error()), nil)
			}
			budget := answerBytes
			if w, ok := any(in).(interface{ wants() int }); ok {
				budget = max(budget, 2*min(w.wants(), maxRead)) // JSON escapes make it longer
			}
			out, err := f(ctx, call{caller(req), req}, in)
			if err != nil {
				return failed(name, err, out)
			}
			return result(out, false, budget)
		})
}

// decode checks the arguments against their schema first, whose messages name what is wrong.
func decode(raw json.RawMessage, schema *jsonschema.Schema, checked *jsonschema.Resolved, in any) error {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	var args map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&args); err != nil || args == nil {
		return errors.New("the arguments have to be a JSON object")
	}
	if accept(args, schema) {
		var err error
		if raw, err = json.Marshal(args); err != nil {
			return err
		}
	}
	if err := unknown(args, schema); err != nil {
		return err
	}
	args = nil
	if err := json.Unmarshal(raw, &args); err != nil {
		return err
	}
	if err := checked.Validate(args); err != nil {
		return err
	}
	return json.Unmarshal(raw, in)
}

// fault is the result of a tool that failed.
type fault struct {
	OK        bool            `json:"ok"`
	Error     string          `json:"error"`
	Code      wire.Code       `json:"code"`
	Details   []string        `json:"details,omitempty"`
	Retryable bool            `json:"retryable"`
	Applied   sandbox.Applied `json:"applied"`
	Output    any             `json:"output,omitempty"` // what a script that was ended had printed
}

func failed(tool string, err error, output any) (*sdk.CallToolResult, error) {
	var known *sandbox.Error
	if !errors.As(err, &known) {
		known = internal(tool, err)
	} else if known.Code == wire.CodeInternal {
		known = internal(tool, errors.Join(known.Unwrap()...))
	}
	// What a script had printed keeps to its own bound.
	return result(fault{Error: known.Message, Code: known.Code, Details: known.Details, Retryable: known.Retryable,
		Applied: known.Applied, Output: output}, true, 2*maxRead)
}

// answerBytes bounds the answer of a tool whose caller did not ask for more: a model reads all of it.
const answerBytes = 256 << 10

// pictured is a result with an image.
type pictured struct {
	v    any
	data []byte
	kind string
}

// refused is a result that says why nothing was done.
type refused struct{ v any }

// result renders v, which has a field "ok", in about budget bytes.
func result(v any, isError bool, budget int) (*sdk.CallToolResult, error) {
	if p, ok := v.(pictured); ok {
		res, err := result(p.v, isError, budget)
		if err == nil {
			res.Content = append(res.Content, &sdk.ImageContent{Data: p.data, MIMEType: p.kind})
		}
		return res, err
	}
	if r, ok := v.(refused); ok {
		return result(r.v, true, budget)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	text := fit(bytes.TrimRight(b.Bytes(), "\n"), budget)
	return &sdk.CallToolResult{IsError: isError, StructuredContent: json.RawMessage(text),
		Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}, nil
}

// ok is embedded in what a tool returns.
type ok struct {
	OK bool `json:"ok"`
}

var done = ok{true}
