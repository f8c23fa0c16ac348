// Package wire has the error codes that clients compare, and what HTTP makes of them.
package wire

import (
	"maps"
	"net/http"
	"slices"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// Code is a machine-readable error code of the wire: what a client of the HTTP and MCP
// interfaces compares.
type Code string

// Every code that pgbox answers. Errno codes carry the errno's name.
const (
	CodeAuthRequired         Code = "AUTH_REQUIRED"
	CodeAuthInvalid          Code = "AUTH_INVALID"
	CodeAuthUnknownTenant    Code = "AUTH_UNKNOWN_TENANT"
	CodeAuthIdentityRequired Code = "AUTH_IDENTITY_REQUIRED"
	CodeAuthIdentityInvalid  Code = "AUTH_IDENTITY_INVALID"
	CodeAuthNotConfigured    Code = "AUTH_NOT_CONFIGURED"
	CodeAdminNotConfigured   Code = "ADMIN_NOT_CONFIGURED"
	CodeForbidden            Code = "FORBIDDEN"
	CodeEPERM                Code = "EPERM"
	CodeEACCES               Code = "EACCES"
	CodeENOENT               Code = "ENOENT"
	CodeSandboxNotFound      Code = "SANDBOX_NOT_FOUND"
	CodeNotFound             Code = "NOT_FOUND"
	CodeMethodNotAllowed     Code = "METHOD_NOT_ALLOWED"
	CodeRedirect             Code = "REDIRECT"
	CodeRange                Code = "RANGE_NOT_SATISFIABLE"
	CodeExecTimeout          Code = "EXEC_TIMEOUT"
	CodeEEXIST               Code = "EEXIST"
	CodeENOTEMPTY            Code = "ENOTEMPTY"
	CodeEditNoMatch          Code = "EDIT_NO_MATCH"
	CodeEditNotUnique        Code = "EDIT_NOT_UNIQUE"
	CodeEditBinary           Code = "EDIT_BINARY"
	CodeEditLoneSurrogate    Code = "EDIT_LONE_SURROGATE"
	CodeESTALE               Code = "ESTALE"
	CodeIdempotencyKeyReused Code = "IDEMPOTENCY_KEY_REUSED"
	CodePreconditionFailed   Code = "PRECONDITION_FAILED"
	CodeInvalidInput         Code = "INVALID_INPUT"
	CodeEISDIR               Code = "EISDIR"
	CodeENOTDIR              Code = "ENOTDIR"
	CodeELOOP                Code = "ELOOP"
	CodeEINVAL               Code = "EINVAL"
	CodeEILSEQ               Code = "EILSEQ"
	CodeENAMETOOLONG         Code = "ENAMETOOLONG"
	CodePayloadTooLarge      Code = "PAYLOAD_TOO_LARGE"
	CodeEFBIG                Code = "EFBIG"
	CodeENOBUFS              Code = "ENOBUFS"
	CodeEDQUOT               Code = "EDQUOT"
	CodeUnsupportedMediaType Code = "UNSUPPORTED_MEDIA_TYPE"
	CodeReadOnlyViolation    Code = "EREADONLY_VIOLATION"
	CodeRateLimited          Code = "RATE_LIMITED"
	CodeLockTimeout          Code = "ELOCKTIMEOUT"
	CodeLockLost             Code = "ELOCKLOST"
	CodeSessionClosing       Code = "ESESSIONCLOSING"
	CodeShuttingDown         Code = "ESHUTTINGDOWN"
	CodeRuntimeBusy          Code = "ERUNTIME_BUSY"
	CodeUnavailable          Code = "EUNAVAILABLE"
	CodeSlow                 Code = "ESLOW" // of a stream only
	CodeOutcomeUnknown       Code = "EOUTCOMEUNKNOWN"
	CodeInternal             Code = "INTERNAL_ERROR"
)

type meaning struct {
	status    int
	retryable bool
}

// codes is the one table from code to HTTP status and whether sending the same request again may succeed.
var codes = map[Code]meaning{
	CodeAuthRequired:         {http.StatusUnauthorized, false},
	CodeAuthInvalid:          {http.StatusUnauthorized, false},
	CodeAuthUnknownTenant:    {http.StatusUnauthorized, false},
	CodeAuthIdentityRequired: {http.StatusUnauthorized, false},
	CodeAuthIdentityInvalid:  {http.StatusUnauthorized, false},
	CodeAuthNotConfigured:    {http.StatusInternalServerError, false},
	CodeAdminNotConfigured:   {http.StatusInternalServerError, false},
	CodeForbidden:            {http.StatusForbidden, false},
	CodeEPERM:                {http.StatusForbidden, false},
	CodeEACCES:               {http.StatusForbidden, false},
	CodeENOENT:               {http.StatusNotFound, false},
	CodeSandboxNotFound:      {http.StatusNotFound, false},
	CodeNotFound:             {http.StatusNotFound, false},
	CodeMethodNotAllowed:     {http.StatusMethodNotAllowed, false},
	CodeRedirect:             {http.StatusTemporaryRedirect, false},
	CodeRange:                {http.StatusRequestedRangeNotSatisfiable, false},
	CodeExecTimeout:          {http.StatusRequestTimeout, false},
	CodeEEXIST:               {http.StatusConflict, false},
	CodeENOTEMPTY:            {http.StatusConflict, false},
	CodeEditNoMatch:          {http.StatusConflict, false},
	CodeEditNotUnique:        {http.StatusConflict, false},
	CodeESTALE:               {http.StatusConflict, true},
	CodeIdempotencyKeyReused: {http.StatusConflict, false},
	CodePreconditionFailed:   {http.StatusPreconditionFailed, false},
	CodeInvalidInput:         {http.StatusBadRequest, false},
	CodeEISDIR:               {http.StatusBadRequest, false},
	CodeENOTDIR:              {http.StatusBadRequest, false},
	CodeELOOP:                {http.StatusBadRequest, false},
	CodeEINVAL:               {http.StatusBadRequest, false},
	CodeEILSEQ:               {http.StatusBadRequest, false},
	CodeENAMETOOLONG:         {http.StatusBadRequest, false},
	CodeEditBinary:           {http.StatusBadRequest, false},
	CodeEditLoneSurrogate:    {http.StatusBadRequest, false},
	CodePayloadTooLarge:      {http.StatusRequestEntityTooLarge, false},
	CodeEFBIG:                {http.StatusRequestEntityTooLarge, false},
	CodeENOBUFS:              {http.StatusRequestEntityTooLarge, false},
	CodeEDQUOT:               {http.StatusRequestEntityTooLarge, false},
	CodeUnsupportedMediaType: {http.StatusUnsupportedMediaType, false},
	CodeReadOnlyViolation:    {http.StatusUnprocessableEntity, false},
	CodeRateLimited:          {http.StatusTooManyRequests, true},
	CodeLockTimeout:          {http.StatusServiceUnavailable, true},
	CodeLockLost:             {http.StatusServiceUnavailable, true},
	CodeSessionClosing:       {http.StatusServiceUnavailable, true},
	CodeShuttingDown:         {http.StatusServiceUnavailable, true},
	CodeRuntimeBusy:          {http.StatusServiceUnavailable, true},
	CodeUnavailable:          {http.StatusServiceUnavailable, true},
	CodeSlow:                 {http.StatusServiceUnavailable, true},
	CodeOutcomeUnknown:       {http.StatusServiceUnavailable, false},
	CodeInternal:             {http.StatusInternalServerError, false},
}

// Codes are all codes, sorted.
func Codes() []Code { return slices.Sorted(maps.Keys(codes)) }

// OfStatus is the code of an HTTP status that was answered without one.
func OfStatus(status int) Code {
	switch status {
	case http.StatusNotFound:
		return CodeNotFound
	case http.StatusMethodNotAllowed:
		return CodeMethodNotAllowed
	case http.StatusPreconditionFailed:
		return CodePreconditionFailed
	case http.StatusRequestEntityTooLarge:
		return CodePayloadTooLarge
	case http.StatusUnsupportedMediaType:
		return CodeUnsupportedMediaType
	case http.StatusRequestedRangeNotSatisfiable:
		return CodeRange
	}
	switch status / 100 {
	case 3:
		return CodeRedirect
	case 4:
		return CodeInvalidInput
	}
	return CodeInternal
}

// Status is the HTTP status that answers c; an unknown code is 500.
func (c Code) Status() int {
	if w, ok := codes[c]; ok {
		return w.status
	}
	return http.StatusInternalServerError
}

// Retryable reports whether sending the same request again may succeed and cannot apply it twice.
func (c Code) Retryable() bool { return codes[c].retryable }

// CodeOf is the code of an errno that reached the edge.
func CodeOf(e vfs.Errno) Code {
	switch e {
	case vfs.ESRCH:
		return CodeSandboxNotFound
	case vfs.EROFS:
		return CodeReadOnlyViolation
	case vfs.ENOSPC:
		return CodeEDQUOT
	case vfs.EBUSY, vfs.EXDEV, vfs.ETXTBSY, vfs.ENXIO, vfs.ENODEV, vfs.EOPNOTSUPP, vfs.EBADF, vfs.ESPIPE, vfs.EMLINK,
		vfs.EOVERFLOW:
		// A path that exists but cannot be used this way.
		return CodeEINVAL
	}
	if c := Code(e.Name()); codes[c].status != 0 {
		return c
	}
	return CodeInternal
}
