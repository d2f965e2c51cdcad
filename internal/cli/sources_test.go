package cli

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestBucketValueEndsWithTheCommand: Ctrl-C ends the command even if the server doesn't answer.
func TestBucketValueEndsWithTheCommand(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		cancel()
		<-request.Context().Done()
	}))
	defer server.Close()
	a := &app{server: server.URL}
	if _, _, err := a.bucketValue(ctx)("prod", "web", "A"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was cancelled", err)
	}
}
