package relay

import (
	"testing"
	"testing/synctest"
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
		if left, may := s.rests(s.when.Add(test.after)); (may && left <= 0) != test.want {
			t.Errorf("%s: %v, %s left", name, may, left)
		}
	}
}

// TestAnEndWaitsNoLonger: it goes on the moment that the last connection ends, or has rested for long enough.
func TestAnEndWaitsNoLonger(t *testing.T) {
	for name, test := range map[string]struct {
		does func(*Relay, *link)
		want time.Duration
	}{
		"it ends":       {func(r *Relay, l *link) { time.Sleep(7 * time.Millisecond); r.end(l) }, 7 * time.Millisecond},
		"it rests":      {func(*Relay, *link) {}, restTime + lookTime},
		"it never ends": {func(_ *Relay, l *link) { l.last.hear([]byte("GET")) }, lateTime},
		"it is answered": {func(_ *Relay, l *link) {
			l.last.hear([]byte("GET"))
			time.Sleep(1100 * time.Millisecond)
			l.last.say(byPod)
		}, 1100*time.Millisecond + restTime + lookTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := New(Options{})
				l := &link{}
				l.cut = func() { r.end(l) }
				r.begin(l)
				r.finishing.Store(true)
				began := time.Now()
				go test.does(r, l)
				synctest.Wait()
				if r.await(lateTime, func(*link) bool { return true }); time.Since(began) != test.want {
					t.Errorf("it goes on after %s", time.Since(began))
				}
			})
		})
	}
}

// TestTheLastAnswer: an answer of HTTP/1.1 says that the connection ends, nothing else is changed, and nothing at all
// once the pod has switched to another protocol.
func TestTheLastAnswer(t *testing.T) {
	last := func(s *spoken, text string) string {
		s.hear([]byte("GET"))
		if s.answers([]byte(text)) {
			return string(closing([]byte(text)))
		}
		return text
	}
	var switched spoken
	for _, text := range []string{"HTTP/1.1 101 Switching Protocols\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"} {
		if got := last(&switched, text); got != text {
			t.Errorf("after a switch: %q", got)
		}
	}
	for text, want := range map[string]string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok": "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 101 Switching Protocols\r\n\r\n":       "HTTP/1.1 101 Switching Protocols\r\n\r\n",
		"HTTP/1.0 200 OK\r\n\r\n":                        "HTTP/1.0 200 OK\r\n\r\n",
		"HTTP/1.1 200":                                   "HTTP/1.1 200",
		"+OK\r\nHTTP/1.1 200 OK\r\n":                     "+OK\r\nHTTP/1.1 200 OK\r\n",
	} {
		if got := last(&spoken{}, text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
