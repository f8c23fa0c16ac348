package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/pgbox/pgbox/gateway/auth"
	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/wire"
)

// ErrorBody is the body of every error.
type ErrorBody struct {
	Message   string   `json:"error" doc:"for people; may change"`
	Code      string   `json:"code" doc:"for programs"`
	Details   []string `json:"details,omitempty" doc:"every fault of the input"`
	Retryable bool     `json:"retryable" doc:"the same request may succeed later, and sending it again cannot apply it twice"`
	Applied   string   `json:"applied" enum:"no,yes,unknown" doc:"whether anything was changed"`
	RequestID string   `json:"requestId,omitempty"`

	// What a script that was ended had printed.
	TimedOut   bool    `json:"timedOut,omitempty"`
	Truncated  bool    `json:"truncated,omitempty" doc:"the middle of stdout or stderr is missing"`
	DurationMs *int64  `json:"durationMs,omitempty"`
	Stdout     *string `json:"stdout,omitempty"`
	Stderr     *string `json:"stderr,omitempty"`

	status int
}

// Error makes ErrorBody an error.
func (e *ErrorBody) Error() string { return e.Code + ": " + e.Message }

// GetStatus makes ErrorBody what huma writes as it is.
func (e *ErrorBody) GetStatus() int { return e.status }

func newErrorBody(ctx context.Context, code wire.Code, message string, details ...string) *ErrorBody {
	return &ErrorBody{
		Message: message, Code: string(code), Details: details, Retryable: code.Retryable(),
		Applied:   string(sandbox.AppliedNo),
		RequestID: requestID(ctx), status: code.Status(),
	}
}

func invalidInput(ctx context.Context, details ...string) *ErrorBody {
	return newErrorBody(ctx, wire.CodeInvalidInput, "validation_error", details...)
}

// toBody is the one place where an error becomes what a client sees. What is not a known kind of error is logged
// and answered without its text, which may hold SQL or names of the host.
func toBody(ctx context.Context, err error) *ErrorBody {
	var (
		body    *ErrorBody
		known   *sandbox.Error
		large   *http.MaxBytesError
		refused *auth.Error
	)
	switch {
	case errors.As(err, &body):
		return body
	case errors.As(err, &known):
		if known.Code == wire.CodeInternal {
			slog.ErrorContext(ctx, "internal error", "request", requestID(ctx), "err", errors.Join(known.Unwrap()...))
		}
		b := newErrorBody(ctx, known.Code, known.Message, known.Details...)
		b.Retryable, b.Applied = known.Retryable, string(known.Applied)
		return b
	case errors.As(err, &large):
		return newErrorBody(ctx, wire.CodePayloadTooLarge, "the request body is larger than allowed")
	case errors.As(err, &refused):
		return newErrorBody(ctx, refused.Code, err.Error())
	case errors.Is(err, context.Canceled):
		return newErrorBody(ctx, wire.CodeSessionClosing, "the client went away")
	}
	slog.ErrorContext(ctx, "internal error", "request", requestID(ctx), "err", err)
	return newErrorBody(ctx, wire.CodeInternal, "internal error")
}

func writeError(w http.ResponseWriter, r *http.Request, err error) {
	body := toBody(r.Context(), err)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	for k, v := range body.GetHeaders() {
		w.Header()[k] = v
	}
	w.WriteHeader(body.status)
	_ = encode(w, body) // the client is gone when this fails
}

// humaError is how huma's own findings (validation, media type, size) become an ErrorBody.
func humaError(hctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
	ctx := context.Background()
	if hctx != nil {
		ctx = hctx.Context()
	}
	switch status {
	case http.StatusRequestEntityTooLarge:
		return newErrorBody(ctx, wire.CodePayloadTooLarge, "the request body is larger than allowed")
	case http.StatusUnsupportedMediaType:
		return newErrorBody(ctx, wire.CodeUnsupportedMediaType, "this route does not take bodies of that type")
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestTimeout:
		var details []string
		for _, e := range errs {
			var d *huma.ErrorDetail
			if !errors.As(e, &d) {
				return toBody(ctx, e)
			}
			where := strings.TrimPrefix(strings.TrimPrefix(d.Location, "body"), ".")
			switch {
			case where == "" && status == http.StatusBadRequest:
				details = append(details, "Invalid JSON body")
			case where == "":
				details = append(details, d.Message)
			default:
				details = append(details, where+": "+d.Message)
			}
		}
		if len(details) == 0 {
			details = []string{"Invalid JSON body"}
		}
		return invalidInput(ctx, details...)
	}
	for _, e := range errs {
		return toBody(ctx, e)
	}
	// huma also asks for one of each status, without a cause, to learn the schema of errors.
	return newErrorBody(ctx, wire.CodeInternal, msg)
}

func init() {
	// huma's seam for error bodies is a pair of package variables.
	huma.NewErrorWithContext = humaError
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		return humaError(nil, status, msg, errs...)
	}
	huma.DefaultArrayNullable = false
}
