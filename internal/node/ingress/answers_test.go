package ingress

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestAnAnswerWithoutAPodNamesNoObject: any visitor reads it. The access log has the ingress, and the cause.
func TestAnAnswerWithoutAPodNamesNoObject(t *testing.T) {
	for want, pods := range map[string][]Pod{
		"502 no connection to a pod\n": {deadPod(t, "p")},
		"503 no pod is ready\n":        nil,
	} {
		var log bytes.Buffer
		f := newFrontWith(t, Options{Hold: time.Millisecond, Access: slog.New(slog.NewJSONHandler(&log, nil))})
		f.serve(pods...)
		answer := httptest.NewRecorder()
		f.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "http://shop.org/", nil))
		if answer.Body.String() != want {
			t.Errorf("%q, want %q", answer.Body, want)
		}
		for _, field := range []string{`"ingress":"prod/shop"`, `"error":"`} {
			if !strings.Contains(log.String(), field) {
				t.Errorf("%q: the access log lacks %s: %s", want, field, &log)
			}
		}
	}
}
