package routemux_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"tend.dev/tend/internal/platform/routemux"
)

// TestPatterns: a handler is listed by its pattern, and one that lists its own by these.
func TestPatterns(t *testing.T) {
	answer := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	}
	inner := routemux.New()
	inner.HandleFunc("GET /inner/{id}", answer(201))
	inner.HandleFunc("/inner/", answer(202))
	outer := routemux.New()
	outer.Handle("/inner/", inner)
	outer.Handle("POST /plain", answer(203))
	if got := outer.Patterns(); !slices.Equal(got, []string{"GET /inner/{id}", "/inner/", "POST /plain"}) {
		t.Errorf("%q", got)
	}
	for call, want := range map[[2]string]int{
		{"GET", "/inner/a"}: 201, {"PUT", "/inner/a"}: 202, {"POST", "/plain"}: 203, {"GET", "/plain"}: 405,
		{"GET", "/"}: 404,
	} {
		w := httptest.NewRecorder()
		outer.ServeHTTP(w, httptest.NewRequest(call[0], call[1], nil))
		if w.Code != want {
			t.Errorf("%q: %d, want %d", call, w.Code, want)
		}
	}
	if _, pattern := outer.Handler(httptest.NewRequest("POST", "/plain", nil)); pattern != "POST /plain" {
		t.Errorf("POST /plain has the pattern %q", pattern)
	}
}
