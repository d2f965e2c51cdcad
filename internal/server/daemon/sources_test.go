package daemon

import (
	"errors"
	"slices"
	"testing"
	"time"

	"tend.dev/tend/api"
)

// TestSourcesOfFiles: a server that failed is asked last, until it answers.
func TestSourcesOfFiles(t *testing.T) {
	var s sources
	want := func(when string, order ...string) {
		t.Helper()
		if got := s.order([]string{"a", "b", "c"}); !slices.Equal(got, order) {
			t.Errorf("%s: %v, want %v", when, got, order)
		}
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	want("at first", "a", "b", "c")
	s.note("a", errors.New("silent"), now.Add(time.Minute))
	s.note("b", errors.New("silent"), now)
	want("after two failures", "c", "b", "a")
	s.note("b", &api.Problem{Status: 404}, now)
	want("after an answer", "b", "c", "a")
	s.note("a", nil, now)
	want("after a copy", "a", "b", "c")
}
