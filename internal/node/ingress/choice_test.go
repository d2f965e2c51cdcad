package ingress

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// visit makes a request on a new connection.
func (f *front) visit() string {
	f.Helper()
	_, reader := f.dial("GET / HTTP/1.1\r\nHost: shop.org\r\nConnection: close\r\n\r\n")
	response, text := f.read(reader, "GET")
	if response.StatusCode != http.StatusOK {
		f.Fatalf("%s: %s", response.Status, text)
	}
	return text
}

// TestAPodThatIsGoneIsLeftOut: also for clients that make one request per connection. A request that chose the pod
// chooses again.
func TestAPodThatIsGoneIsLeftOut(t *testing.T) {
	now := time.Now()
	f := newFrontWith(t, Options{Now: func() time.Time { return now }})
	pod, conns := closing(t)
	f.serve(pod, podOf(t, "live", says("live")))
	for range 10 {
		f.visit()
	}
	if got := conns.Load(); got > 1 {
		t.Errorf("a pod that never answers was tried %d times in a second", got)
	}
}

// TestPodsTakeTurns: requests alternate between pods, whatever their answers, for clients that make one request per
// connection.
func TestPodsTakeTurns(t *testing.T) {
	f := newFront(t)
	var pods []Pod
	for _, name := range []string{"a", "b"} {
		pods = append(pods, podOf(t, name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-End")
			fmt.Fprint(w, name)
			w.Header().Set("X-End", "1")
		}))
	}
	f.serve(pods...)
	count := map[string]int{}
	for range 20 {
		count[f.visit()]++
	}
	if count["a"] != 10 || count["b"] != 10 {
		t.Errorf("of 20 requests in turn: %v", count)
	}
}

// closing returns a pod that accepts each connection, waits for a request, and closes without an answer.
func closing(t *testing.T) (Pod, *atomic.Int64) {
	conns := new(atomic.Int64)
	return script(t, func(conn net.Conn) {
		conns.Add(1)
		_, _ = http.ReadRequest(bufio.NewReader(conn))
	}), conns
}

// TestNoRequestTriesANodeThatIsAway: once a pod of another node could not be reached, a connection beside the requests
// finds out whether it can be again.
func TestNoRequestTriesANodeThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int32
		var works atomic.Bool
		away := &pod{Pod: Pod{Name: "away"}, reach: func(context.Context) error {
			tries.Add(1)
			time.Sleep(5 * time.Second)
			if works.Load() {
				return nil
			}
			return errNoRelay
		}}
		here := &pod{Pod: Pod{Name: "here"}}
		b := &backend{Route: &Route{Policy: PolicyLeastConn}, pods: []*pod{away, here}}
		here.active.Store(1) // away has fewer requests
		choose := func() string {
			defer synctest.Wait()
			return b.choose("", nil, time.Now()).Name
		}
		if got := choose(); got != "away" {
			t.Fatal("before:", got)
		}
		away.failed(time.Now())
		for second := range 20 { // a pause of 1 s, 5 s to fail, 2 s, 5 s to fail, 4 s
			if got := choose(); got != "here" {
				t.Errorf("after %d s: %s", second, got)
			}
			time.Sleep(time.Second)
		}
		if works.Store(true); tries.Load() != 3 {
			t.Errorf("%d tries within 20 s", tries.Load())
		}
		time.Sleep(5 * time.Second)
		if got := choose(); got != "away" {
			t.Error("once it is reached:", got)
		}
	})
}

// TestADrainWaitsForARequestOfTheOldTable: a request chooses a pod by the old table, while the new one without the pod
// is made. Draining the pod waits for it.
func TestADrainWaitsForARequestOfTheOldTable(t *testing.T) {
	var all pods
	chosen, _ := all.update([]Route{{Pods: []Pod{{Name: "p"}}}})
	_, left := all.update(nil)
	p := chosen[Pod{Name: "p"}]
	if !p.acquire() {
		t.Fatal("the old table is in force")
	}
	for _, gone := range left {
		gone.markRemoved()
	}
	all.update(nil)
	if known := all.named("p"); len(known) != 1 || known[0] != p {
		t.Errorf("a drain would wait for %v", known)
	}
	p.release()
	if all.update(nil); len(all.named("p")) > 0 {
		t.Error("it is known for ever")
	}
}
