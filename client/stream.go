package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxLine bounds a line of a stream: an object may be as large as an apply.
const maxLine = 32 << 20

// errSilent ends a stream that showed no sign of life.
var errSilent = errors.New("the stream sent nothing for too long")

// stream reads JSON values, one a line.
type stream struct {
	body    io.ReadCloser
	scanner *bufio.Scanner
	cancel  context.CancelFunc
	// alive ends a stream that is silent for too long; nil if silence is allowed.
	alive *time.Timer
	limit time.Duration
}

// openStream begins a stream. A silence longer than limit cuts it; 0 means no limit.
func (c *Client) openStream(ctx context.Context, r request, limit time.Duration) (*stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	response, err := c.send(ctx, r)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	s := &stream{body: response.Body, scanner: bufio.NewScanner(response.Body),
		cancel: func() { cancel(nil) }, limit: limit}
	s.scanner.Buffer(make([]byte, 0, 64<<10), maxLine)
	if limit > 0 {
		s.alive = time.AfterFunc(limit, func() { cancel(errSilent) })
	}
	return s, nil
}

// next reads one value; io.EOF at the clean end.
func (s *stream) next(into any) error {
	if !s.scanner.Scan() {
		if err := s.scanner.Err(); err != nil {
			return fmt.Errorf("read the stream: %w", err)
		}
		return io.EOF
	}
	if s.alive != nil {
		s.alive.Reset(s.limit)
	}
	if err := json.Unmarshal(s.scanner.Bytes(), into); err != nil {
		return fmt.Errorf("read the stream: %w", err)
	}
	return nil
}

// Close ends the stream.
func (s *stream) Close() error {
	s.cancel()
	if s.alive != nil {
		s.alive.Stop()
	}
	return s.body.Close()
}

func streamRequest(path string) request { return request{method: http.MethodGet, path: path} }
