package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"tend.dev/tend/internal/observe/tracing"
)

// Caller makes requests of the other end. Both fields are required.
type Caller struct {
	// Base precedes the paths: a URL that ends with a slash.
	Base string
	Do   func(*http.Request) (*http.Response, error)
}

// Send sends a request; it returns an error for an answer that is one. The caller closes the body.
func (c Caller) Send(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.Base+path, body)
	if err != nil {
		return nil, err
	}
	tracing.Inject(ctx, request.Header)
	answer, err := c.Do(request)
	if err != nil {
		return nil, err
	}
	if err := Answer(answer); err != nil {
		_ = answer.Body.Close()
		return nil, err
	}
	return answer, nil
}

// Get reads an answer.
func (c Caller) Get(ctx context.Context, path string, into any) error {
	return c.ask(ctx, http.MethodGet, path, nil, into)
}

// Post sends a value and reads the answer.
func (c Caller) Post(ctx context.Context, path string, value, into any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return c.ask(ctx, http.MethodPost, path, bytes.NewReader(body), into)
}

func (c Caller) ask(ctx context.Context, method, path string, body io.Reader, into any) error {
	answer, err := c.Send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(Bounded(answer.Body, maxAnswer)).Decode(into); err != nil {
		return fmt.Errorf("read the answer to %s: %w", path, err)
	}
	return nil
}
