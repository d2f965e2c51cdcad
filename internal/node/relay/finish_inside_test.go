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
		"its answer pauses": {func(s *spoken) { s.hear([]byte("GET")); s.say(byPod) }, 2 * time.Second, false},
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

// TestTheLastAnswer: an answer of HTTP/1.1 says that the connection ends, nothing else is changed.
func TestTheLastAnswer(t *testing.T) {
	for text, want := range map[string]string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok": "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 101 Switching Protocols\r\n\r\n":       "HTTP/1.1 101 Switching Protocols\r\n\r\n",
		"HTTP/1.0 200 OK\r\n\r\n":                        "HTTP/1.0 200 OK\r\n\r\n",
		"HTTP/1.1 200":                                   "HTTP/1.1 200",
		"+OK\r\nHTTP/1.1 200 OK\r\n":                     "+OK\r\nHTTP/1.1 200 OK\r\n",
	} {
		if got := string(closing([]byte(text))); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
