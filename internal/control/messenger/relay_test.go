package messenger

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/internal/core/sink"
)

// relayed is the variable that makes this test binary act as the child process.
const relayed = "TEND_TEST_RELAY"

func relay(t *testing.T, within time.Duration, url string) sink.Answer {
	t.Helper()
	t.Setenv(relayed, "1")
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	return (&Messenger{Program: os.Args[0]}).Relay(ctx, sink.Relay{URL: url, Title: "web failed", Text: "no node fits"})
}

// TestRelay checks what the services of shoutrrr receive. A missing answer, an endless one and a refusal end the
// attempt without showing the address.
func TestRelay(t *testing.T) {
	got := make(chan string, 1)
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/s3cret/ok":
			got <- string(body)
		case "/s3cret/no":
			w.WriteHeader(http.StatusForbidden)
		case "/s3cret/silent":
			<-release
		case "/s3cret/endless":
			for {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}
	}))
	defer server.Close()
	defer close(release)
	address := "generic+" + server.URL + "/s3cret/"
	if answer := relay(t, time.Minute, address+"ok?template=json"); sink.Judge(answer) != sink.Delivered {
		t.Fatalf("%+v", answer)
	}
	if body := <-got; !strings.Contains(body, "no node fits") || !strings.Contains(body, "web failed") {
		t.Errorf("the service got %q", body)
	}
	for url, want := range map[string]string{
		address + "no":                      "answered 403",
		address + "silent":                  "no answer in time",
		"nonsense://s3cret":                 "does not support its address",
		"discord://s3cret":                  "does not support its address",
		"generic+http://127.0.0.1:1/s3cret": "could not be reached",
	} {
		within := time.Minute
		if strings.HasSuffix(url, "silent") {
			within = 2 * time.Second
		}
		answer := relay(t, within, url)
		text := sink.Text(answer)
		if sink.Judge(answer) != sink.Retry || !strings.Contains(text, want) || strings.Contains(text, "s3cret") {
			t.Errorf("%s: %s, want %q", url, text, want)
		}
	}
	if answer := relay(t, time.Minute, address+"endless"); strings.Contains(sink.Text(answer), "s3cret") ||
		sink.Text(answer) == "generic+http: no answer in time" {
		t.Errorf("an endless answer: %+v", answer)
	}
}
