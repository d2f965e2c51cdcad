package relay

import (
	"testing"
	"time"
)

// TestWhatRests: a connection does between two requests, but never while one waits for its answer, and one that
// speaks HTTP/2 never.
func TestWhatRests(t *testing.T) {
	for name, test := range map[string]struct {
		says  func(*spoken)
		after time.Duration
		want  bool
	}{
		"nothing was asked": {func(*spoken) {}, restTime, true},
		"asked":             {func(s *spoken) { s.hear([]byte("GET / HTTP/1.1\r\n")) }, time.Hour, false},
		"being answered":    {func(s *spoken) { s.hear([]byte("GET")); s.say(podAtIt) }, time.Hour, false},
		"answered":          {func(s *spoken) { s.hear([]byte("GET")); s.say(byPod) }, restTime, true},
		"answered just now": {func(s *spoken) { s.hear([]byte("GET")); s.say(byPod) }, 0, false},
		"asked again": {func(s *spoken) { s.hear([]byte("GET")); s.say(byPod); s.hear([]byte("GET")) },
			time.Hour, false},
		"HTTP/2": {func(s *spoken) { s.hear([]byte("PRI * HTTP/2.0\r\n")); s.hear([]byte("x")); s.say(byPod) },
			time.Hour, false},
	} {
		var s spoken
		s.say(byPod) // as a connection begins
		test.says(&s)
		if got := s.rests(s.when.Add(test.after)); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
