package remote

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/node/nodeapi/nodeapitest"
)

// write makes a request of a node that writes, and reports whether it was answered.
func write(t *testing.T, b *bounds, node string) bool {
	answered := false
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/", nil)
	err := b.within("POST report", node, httptest.NewRecorder(), r, func(*http.Request) error { answered = true; return nil })
	return err == nil && answered
}

// TestAnAgentThatReportsALotIsSlowed: the reports of 250 pods that start at once don't wait. One that goes on, a report
// at a time as agents do, waits and is never refused.
func TestAnAgentThatReportsALotIsSlowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, began := newBounds(), time.Now()
		for i := range 250 * 6 {
			if !write(t, b, "n1") {
				t.Fatalf("report %d is refused", i)
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("250 pods that start at once wait for %v", took)
		}
		for i := range 5000 {
			if !write(t, b, "n1") {
				t.Fatalf("report %d is refused", i)
			}
		}
		if took := time.Since(began); took < 3*time.Minute || took > 5*time.Minute {
			t.Errorf("6500 reports take %v, want 225 s: 2000 at once, then 20 a second", took)
		}
	})
}

// TestANodeThatWritesWithoutEnd: whatever it has under way at once, it writes no more than its rate, and delays no
// other node.
func TestANodeThatWritesWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, began := newBounds(), time.Now()
		const long = 10 * time.Minute
		most := int64(boundary.WriteBurst + boundary.WriteRate*(long+boundary.RequestWait).Seconds())
		var written atomic.Int64
		var wait sync.WaitGroup
		for range 50 {
			wait.Go(func() {
				for time.Since(began) < long && written.Load() <= most {
					if write(t, b, "evil") {
						written.Add(1)
					} else {
						time.Sleep(time.Second / 2)
					}
				}
			})
		}
		time.Sleep(long / 2)
		if before := time.Now(); !write(t, b, "n1") || time.Since(before) != 0 {
			t.Errorf("another node waits for %v", time.Since(before))
		}
		wait.Wait()
		if written.Load() > most {
			t.Errorf("%d writes in %v, want %d at most", written.Load(), long, most)
		}
	})
}

// TestWhatCountsAsAWrite: what may write waits for its rate, and what reads doesn't. Of heartbeats see
// TestAHeartbeatThatAlternates.
func TestWhatCountsAsAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := nodeapitest.NewWorld(t)
		<-w.View.Synced()
		w.Deploy("web", nodeapitest.Here)
		h := NewHandler(HandlerOptions{Service: w.Service, Callbacks: answeredBy(http.NotFoundHandler()),
			Node: func(*http.Request) (string, error) { return nodeapitest.Here, nil }})
		for call, waits := range map[string]bool{
			"POST report": true, `POST ingress {"node":"n1"}`: true, `POST network {"node":"n1"}`: true,
			"POST certificates/store": true, "POST certificates/delete": true, "POST locks/a": true,
			"POST callbacks/t/web/a": true, "DELETE callbacks/t/web/a": true, "GET callbacks/t/web/a": false,
			"HEAD callbacks/t/web/a": false, "POST callbacks/t/wrong/a": false, "POST callbacks/a": false,
			"POST certificates/list": false, "POST certificates/load": false,
			"GET state": false, "POST alive?ttl=1m": false, "POST referred []": false, "POST release": false,
		} {
			h.bounds.written.Take(nodeapitest.Here, boundary.WriteBurst+1)
			h.bounds.networks.Take(nodeapitest.Here, boundary.NetworkBurst+1)
			h.bounds.calls.node.written.Take(nodeapitest.Here, boundary.WriteBurst+1)
			words := strings.Fields(call + " {}")
			began := time.Now()
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(words[0], Prefix+words[1], strings.NewReader(words[2])))
			if took := time.Since(began); (took > 0) != waits {
				t.Errorf("%s takes %v, waits: %v", call, took, waits)
			}
			time.Sleep(time.Hour)
		}
	})
}

// TestThrottledWritesLetHeartbeatsIn: a hundred writes of a node wait for its rate. Its heartbeats,
// and what it asks beside them, are answered at once.
func TestThrottledWritesLetHeartbeatsIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := nodeapitest.NewWorld(t)
		<-w.View.Synced()
		h := NewHandler(HandlerOptions{Service: w.Service,
			Node: func(*http.Request) (string, error) { return nodeapitest.Here, nil }})
		ask := func(path string) time.Duration {
			began := time.Now()
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", Prefix+path, strings.NewReader("{}")))
			return time.Since(began)
		}
		h.bounds.written.Take(nodeapitest.Here, boundary.WriteBurst+boundary.WriteRate*5)
		for i := range 100 {
			go ask([]string{"certificates/store", "ingress"}[i%2])
		}
		synctest.Wait()
		for _, path := range []string{"alive?ttl=1m", "release", "certificates/load"} {
			if took := ask(path); took != 0 {
				t.Errorf("%s waits for %v", path, took)
			}
		}
		time.Sleep(time.Minute)
	})
}

// TestAHeartbeatThatAlternates: each heartbeat to another server than the one before is written. After the burst they
// wait; one that is renewed doesn't.
func TestAHeartbeatThatAlternates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := nodeapitest.NewWorld(t)
		<-w.View.Synced()
		h := NewHandler(HandlerOptions{Service: w.Service,
			Node: func(*http.Request) (string, error) { return nodeapitest.Here, nil }})
		beat := func() time.Duration {
			began, answer := time.Now(), httptest.NewRecorder()
			h.ServeHTTP(answer, httptest.NewRequest("POST", Prefix+"alive?ttl=1m", nil))
			if answer.Code != http.StatusNoContent {
				t.Fatal(answer.Code, answer.Body)
			}
			return time.Since(began)
		}
		other := w.Service.Node(nodeapitest.Here) // as another server has it
		for i, taken := range []float64{boundary.WriteBurst, boundary.WriteRate, 0} {
			if took := beat(); (took > 0) != (i > 0) {
				t.Errorf("move %d takes %v", i, took)
			}
			h.bounds.moved.Take(nodeapitest.Here, taken)
			if took := beat(); took != 0 {
				t.Errorf("a heartbeat that is renewed waits for %v", took)
			}
			synctest.Wait() // until both have seen what the other one wrote
			if err := other.Alive(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
	})
}
