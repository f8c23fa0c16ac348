package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/adrg/xdg"

	"github.com/pgbox/pgbox/gateway/sandbox"
)

// client speaks to a running server's REST interface.
type client struct {
	agent       string // names this client in the audit log
	url, token  string
	adminSecret string // of the server; "": not sent
	from        string // where the address is from
}

// credentials is what `pgbox dev` leaves for the other sub-commands.
type credentials struct {
	URL   string `json:"url"`
	Token string `json:"token"`
}

func credentialsFile() string { return filepath.Join(xdg.ConfigHome, "pgbox", "credentials.json") }

func (c *client) resolve() error {
	if c.from == "" && c.url != "" {
		c.from = "--url"
	}
	for _, v := range []struct {
		to  *string
		env string
	}{{&c.url, "PGBOX_URL"}, {&c.token, "PGBOX_TOKEN"}, {&c.agent, "PGBOX_AGENT"}} {
		if *v.to == "" {
			*v.to = os.Getenv(v.env)
		}
	}
	if c.from == "" && c.url != "" {
		c.from = "PGBOX_URL"
	}
	if c.url != "" && c.token != "" {
		return nil
	}
	var saved credentials
	data, err := os.ReadFile(credentialsFile())
	if err == nil {
		err = json.Unmarshal(data, &saved)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read %s: %w", credentialsFile(), err)
	}
	if c.url == "" {
		c.url, c.from = saved.URL, "the last `pgbox dev`, in "+credentialsFile()
	}
	if c.token == "" {
		c.token = saved.Token
	}
	if c.url == "" || c.token == "" {
		return errors.New("no server known: set PGBOX_URL and PGBOX_TOKEN, pass --url and --token, or start `pgbox dev`")
	}
	return nil
}

// apiError is the error body of the REST interface.
type apiError struct {
	Message string   `json:"error"`
	Code    string   `json:"code"`
	Details []string `json:"details"`
	Applied string   `json:"applied"`

	Retryable bool `json:"retryable"`

	from string // where the address of a server that knows no such token is from
}

// again reports whether the server that died or stops was not the request's fault.
func (e *apiError) again() bool {
	return e.Retryable && (e.Code == "EUNAVAILABLE" || e.Code == "EOUTCOMEUNKNOWN" || e.Code == "ESHUTTINGDOWN")
}

func (e *apiError) Error() string {
	msg := e.Message
	if len(e.Details) > 0 {
		msg += ": " + strings.Join(e.Details, "; ")
	}
	msg = fmt.Sprintf("%s (%s, applied: %s)", msg, e.Code, e.Applied)
	if e.from != "" {
		msg += "; the address is from " + e.from
	}
	return msg
}

// do sends a request and returns the response of a 2xx answer; the caller closes its body. Any other answer
// is an *apiError.
func (c *client) do(ctx context.Context, method, path, contentType string, body io.Reader) (*http.Response, error) {
	if err := c.resolve(); err != nil {
		return nil, err
	}
	path, err := c.named(ctx, path)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(c.url, "/")+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if c.agent != "" {
		req.Header.Set(sandbox.AgentHeader, c.agent)
	}
	if c.adminSecret != "" {
		req.Header.Set("X-Admin-Secret", c.adminSecret)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if key, ok := ctx.Value(repeatKey{}).(string); ok {
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w (the address is from %s)", err, c.from)
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	e := new(apiError)
	if json.Unmarshal(data, e) != nil || e.Code == "" {
		return nil, fmt.Errorf("%s %s: %s", method, path, res.Status)
	}
	e.from = ""
	if res.StatusCode == http.StatusUnauthorized {
		e.from = c.from
	}
	return nil, e
}

// repeatKey is the context's key of a request that may be sent again.
type repeatKey struct{}

// repeats is how often a request is sent again to a server that was not there, or died, and repeatPause what lies
// between at first.
const (
	repeats     = 5
	repeatPause = 200 * time.Millisecond
)

// repeat is do for routes that take an Idempotency-Key: when the outcome is not known, the same request is sent again,
// which applies it once.
func (c *client) repeat(ctx context.Context, method, path, contentType string, body []byte) (*http.Response, error) {
	ctx = context.WithValue(ctx, repeatKey{}, rand.Text())
	for turn := 0; ; turn++ {
		res, err := c.do(ctx, method, path, contentType, bytes.NewReader(body))
		var refused *apiError
		if err == nil || turn == repeats || ctx.Err() != nil || errors.As(err, &refused) && !refused.again() ||
			errors.Is(err, syscall.ECONNREFUSED) {
			return res, err
		}
		select {
		case <-time.After(repeatPause << turn):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// call sends in as JSON (nil: no body) and decodes the answer into out (nil: discard).
func (c *client) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	contentType := ""
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body, contentType = bytes.NewReader(data), "application/json"
	}
	return c.send(ctx, method, path, contentType, body, out)
}

// send is call with a body that is not JSON.
func (c *client) send(ctx context.Context, method, path, contentType string, body io.Reader, out any) error {
	res, err := c.do(ctx, method, path, contentType, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if out == nil {
		_, err = io.Copy(io.Discard, res.Body)
		return err
	}
	if err := json.NewDecoder(res.Body).Decode(out); err != nil {
		return fmt.Errorf("%s %s: read the answer: %w", method, path, err)
	}
	return nil
}

// sandboxPath is the route of one sandbox.
func sandboxPath(id, rest string) string { return "/v1/sandboxes/" + url.PathEscape(id) + rest }

// filePath is the route of one file, which must be named absolutely.
func filePath(id, name string) (string, error) {
	if !strings.HasPrefix(name, "/") {
		return "", fmt.Errorf("%q: name files by absolute path", name)
	}
	parts := strings.Split(strings.TrimPrefix(name, "/"), "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return sandboxPath(id, "/files/"+strings.Join(parts, "/")), nil
}
