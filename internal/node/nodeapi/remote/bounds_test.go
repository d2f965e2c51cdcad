package remote

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/node/nodeapi/nodeapitest"
	"tend.dev/tend/internal/platform/limit"
)

// hostile is a node that makes requests of a server in its own words.
type hostile struct {
	t    *testing.T
	base string
	web  *http.Client
}

// hostileTo returns a node, with a connection of its own, of the server that a link leads to.
func hostileTo(t *testing.T, l *link) hostile {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: nodeTLS(t, l.ca, "evil"), ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return hostile{t, l.client.server + Prefix, &http.Client{Transport: transport}}
}

func (h hostile) ask(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, h.base+path, body)
	if err != nil {
		return nil, err
	}
	return h.web.Do(request)
}

// status makes a request, and returns what became of it.
func (h hostile) status(path string, body io.Reader) (status int, retry string) {
	h.t.Helper()
	answer, err := h.ask(h.t.Context(), http.MethodPost, path, body)
	if err != nil {
		h.t.Fatal(err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, answer.Header.Get("Retry-After")
}

// withBounds lets a test change the bounds of a handler, and see them.
func withBounds(change func(*bounds)) func(*HandlerOptions) {
	return func(o *HandlerOptions) { o.bounds = newBounds(); change(o.bounds) }
}

// TestANodeHasOneStream: the next one ends the one before, on another connection and unread too, and those that wait
// for it.
func TestANodeHasOneStream(t *testing.T) {
	w := nodeapitest.NewWorld(t)
	l := connect(t, w, nodeapitest.Here)
	<-l.client.Synced()
	changed := make(chan node.Change, 100)
	l.client.Subscribe(func(change node.Change) { changed <- change })
	var former io.Reader
	for range 20 {
		answer, err := hostileTo(t, l).ask(t.Context(), http.MethodGet, "follow", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if former != nil {
			if _, err := io.Copy(io.Discard, former); err == nil {
				t.Error("a stream that another one ended has a normal end")
			}
		}
		former = answer.Body
	}
	w.Deploy("a", nodeapitest.Here)
	for change := range changed { // the stream of another node goes on
		if change.Task == "a" {
			break
		}
	}
	if follows := slices.DeleteFunc(l.requests(),
		func(path string) bool { return !strings.HasPrefix(path, Prefix+"follow?") }); len(follows) != 1 {
		t.Errorf("another node began its stream again: %q", follows)
	}
}

// TestStreamsThatWait: of those that a node begins one has its turn at a time, and the newest goes on.
func TestStreamsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, began, most, running := newBounds(), 0, 0, 0
		all, end := context.WithCancel(t.Context())
		defer time.Sleep(time.Minute)
		defer end()
		var mu sync.Mutex
		for range 50 {
			go func() {
				ctx, cancel := context.WithCancel(all)
				defer cancel()
				leave, err := b.follow(ctx, "n", cancel)
				if err != nil {
					return
				}
				defer leave()
				mu.Lock()
				began, running = began+1, running+1
				most = max(most, running)
				mu.Unlock()
				<-ctx.Done()
				time.Sleep(time.Second) // what it writes takes a while to end
				mu.Lock()
				running--
				mu.Unlock()
			}()
		}
		synctest.Wait()
		time.Sleep(time.Minute)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if most != 1 || running != 1 || began > 3 {
			t.Errorf("%d of %d at once, %d run", most, began, running)
		}
	})
}

// TestReportsOfANodeAtOnce are few, however many connections it has: the others are to come again. Its other requests,
// and other nodes, are answered meanwhile.
func TestReportsOfANodeAtOnce(t *testing.T) {
	w := nodeapitest.NewWorld(t)
	l := connect(t, w, nodeapitest.Here)
	<-l.client.Synced()
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	busy := make(chan string)
	for range 5*boundary.Reports + 1 {
		h := hostileTo(t, l)
		body, in := io.Pipe()
		defer in.Close()
		asking.Go(func() {
			answer, err := h.ask(ctx, http.MethodPost, "report", body)
			if err != nil {
				return
			}
			defer answer.Body.Close()
			if answer.StatusCode == http.StatusTooManyRequests {
				select {
				case busy <- answer.Header.Get("Retry-After"):
				case <-ctx.Done():
				}
			}
		})
	}
	if retry := <-busy; retry != "1" {
		t.Errorf("is to come again after %q s", retry)
	}
	if status, _ := hostileTo(t, l).status("alive?ttl=1s", nil); status != http.StatusNoContent {
		t.Errorf("its heartbeat: %d", status)
	}
	if err := l.client.Report(t.Context(), node.Report{}); err != nil {
		t.Errorf("another node: %v", err)
	}
}

// TestWhatBodiesTake: what a server holds of bodies that don't end stays within its bounds, and goes with them. A list
// of empty values is measured by what it becomes.
func TestWhatBodiesTake(t *testing.T) {
	w := nodeapitest.NewWorld(t)
	var held *limit.Budget
	l := connect(t, w, nodeapitest.Here,
		withBounds(func(b *bounds) { b.bodies = limit.NewBudget(10<<20, 3<<20); held = b.bodies }))
	<-l.client.Synced()
	h := hostileTo(t, l)
	if status, retry := h.status("report",
		strings.NewReader(`{"tasks":[`+strings.Repeat("{},", 20_000)+`{}]}`)); status != http.StatusTooManyRequests ||
		retry == "" {
		t.Errorf("a list of empty values: %d", status)
	}
	if status, _ := h.status("report",
		strings.NewReader(`{"node":{"id":"`+strings.Repeat("x", 4<<20))); status != http.StatusTooManyRequests {
		t.Errorf("more than a node may have: %d", status)
	}
	if status, _ := h.status("report", strings.NewReader(`{`+strings.Repeat(" ", 2<<20)+`}`)); status != http.StatusOK {
		t.Errorf("less than that: %d", status)
	}
	if got := held.Held(); got != 0 {
		t.Errorf("%d bytes are held at the end", got)
	}
	for _, path := range []string{"referred", "release", "network", "ingress", "certificates/load", "sign", "build-secrets"} {
		body := strings.NewReader(`"` + strings.Repeat("x", boundary.MaxRequest) + `"`)
		if status, _ := h.status(path, body); status != http.StatusBadRequest {
			t.Errorf("%s with more than a request has: %d", path, status)
		}
	}
}

// TestTheRateOfReports: a node that reports without end waits once its burst is over.
func TestTheRateOfReports(t *testing.T) {
	w, now := nodeapitest.NewWorld(t), time.Now()
	l := connect(t, w, nodeapitest.Here, withBounds(func(b *bounds) {
		b.sent = limit.NewRates(boundary.SentRate, boundary.SentBurst, func() time.Time { return now })
	}))
	<-l.client.Synced()
	h, sent := hostileTo(t, l), 0
	report := []byte(`{` + strings.Repeat(" ", 15<<20) + `}`)
	for {
		status, retry := h.status("report", bytes.NewReader(report))
		if status == http.StatusTooManyRequests && retry != "" {
			break
		}
		if sent += len(report); status != http.StatusOK || sent > 2*boundary.SentBurst {
			t.Fatalf("%d after %d bytes", status, sent)
		}
	}
	if sent < boundary.SentBurst {
		t.Errorf("waits after %d bytes", sent)
	}
}

// TestTheBytesOfWhatWrites: whatever writes takes of the bytes that a node may send in a time, and waits once it has
// sent its burst. What only reads does neither.
func TestTheBytesOfWhatWrites(t *testing.T) {
	const size = 40 << 10
	w, now := nodeapitest.NewWorld(t), time.Now()
	for path, writes := range map[string]bool{
		"report": true, "network": true, "ingress": true, "certificates/store": true, "certificates/delete": true,
		"certificates/load": false, "release": false, "sign": false,
	} {
		l := connect(t, w, nodeapitest.Here, withBounds(func(b *bounds) {
			b.sent = limit.NewRates(boundary.SentRate, 2*size-1, func() time.Time { return now })
		}))
		h := hostileTo(t, l)
		for i := range 3 {
			status, retry := h.status(path, strings.NewReader(`{`+strings.Repeat(" ", size)+`}`))
			if busy := status == http.StatusTooManyRequests && retry != ""; busy != (writes && i == 2) {
				t.Errorf("%s, %d times: %d", path, i+1, status)
			}
		}
	}
}
