package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Replica is one gateway.
type Replica struct {
	Name, URL, Token string
	keys             string // precedes every idempotency key, which is the caller's for a day
}

// Reply is what clients look at in an answer.
type Reply struct {
	Status    int    `json:"-"`
	ID        string `json:"id"`
	Code      string `json:"code"`
	Message   string `json:"error"`
	Applied   string `json:"applied"`
	Retryable bool   `json:"retryable"`
	Committed bool   `json:"committed"`
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	ExitCode  int    `json:"exitCode"`
	Version   int64  `json:"version"`
	Results   []struct {
		Stdout    string `json:"stdout"`
		Stderr    string `json:"stderr"`
		ExitCode  int    `json:"exitCode"`
		Error     string `json:"error"`
		Version   int64  `json:"version"`
		Committed bool   `json:"committed"`
	} `json:"results"`
}

// client does not keep connections for long: a replica that is replaced is found again.
var client = &http.Client{Transport: &http.Transport{
	DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, MaxIdleConnsPerHost: 64,
	IdleConnTimeout: 10 * time.Second,
}}

// Do sends a request. An error means that there was no answer, or none that can be read.
func (r Replica) Do(ctx context.Context, method, path, key string, body any) (a Reply, err error) {
	data, err := json.Marshal(body)
	if err != nil {
		return a, err
	}
	req, err := http.NewRequestWithContext(ctx, method, r.URL+path, bytes.NewReader(data))
	if err != nil {
		return a, err
	}
	// The transport would send it again by itself otherwise, and call that one request.
	req.GetBody = nil
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+r.Token)
	if key != "" {
		req.Header.Set("Idempotency-Key", r.keys+key)
	}
	res, err := client.Do(req)
	if err != nil {
		return a, err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return a, err
	}
	a.Status = res.StatusCode
	if len(raw) == 0 {
		return a, nil
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return a, fmt.Errorf("status %d, body %.200q: %w", res.StatusCode, raw, err)
	}
	return a, nil
}

func (a *Reply) ok() bool { return a.Status >= 200 && a.Status < 300 }

func (a *Reply) String() string {
	return fmt.Sprintf("%d %s applied %s: %s", a.Status, a.Code, a.Applied, a.Message)
}
