package puller

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api/pull"
)

// TestBackoff: 5xx and cut connections are retried with growing waits, 429 after the time in the answer; 404 and 409
// end a job.
func TestBackoff(t *testing.T) {
	inBench(t, func(b *bench) {
		b.stop()
		b.plane.answer = func(*http.Request) (int, string) { return http.StatusBadGateway, "" }
		b.plane.asked, b.plane.began = nil, time.Now()
		b.start()
		time.Sleep(4 * time.Minute)
		b.plane.mu.Lock()
		var waits []string
		for i := 1; i < len(b.plane.asked); i++ {
			waits = append(waits, (b.plane.asked[i] - b.plane.asked[i-1]).String())
		}
		b.plane.mu.Unlock()
		if got := strings.Join(waits, " "); got != "1s 2s 4s 8s 16s 32s 1m0s 1m0s" {
			b.Errorf("waits %s", got)
		}
		b.plane.mu.Lock()
		b.plane.answer = func(*http.Request) (int, string) { return http.StatusTooManyRequests, "7" }
		b.plane.mu.Unlock()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if last := b.health[len(b.health)-1]; !last.Connected || !last.Authenticated {
			b.Errorf("a control plane that asks to wait has answered: %+v", last)
		}
		b.plane.mu.Lock()
		n := len(b.plane.asked)
		last := b.plane.asked[n-1] - b.plane.asked[n-2]
		b.plane.mu.Unlock()
		if last != 7*time.Second {
			b.Errorf("after Retry-After: 7 it asked again after %s", last)
		}
		b.plane.mu.Lock()
		b.plane.answer = func(r *http.Request) (int, string) {
			if strings.Contains(r.URL.Path, "closed") {
				return http.StatusConflict, ""
			}
			if strings.Contains(r.URL.Path, "unknown") {
				return http.StatusNotFound, ""
			}
			return 0, ""
		}
		b.plane.mu.Unlock()
		b.plane.give(applyJob("closed", "kc", "1"), applyJob("unknown", "ku", "1"), applyJob("j1", "k1", "1"))
		b.want(10*time.Second, "closed and unknown jobs", "j1/ack; j1/status applied, not ready yet")
		if b.cluster.applies != 1 {
			b.Errorf("applied %d times", b.cluster.applies)
		}
	})
}

// TestRefused: after a refused token the stored one is read again once. If it is the same, the puller ends; 403 ends it
// too.
func TestRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		fresh  bool
		ends   error
	}{
		"401":                           {http.StatusUnauthorized, false, ErrUnauthorized},
		"401 with another token stored": {http.StatusUnauthorized, true, nil},
		"403":                           {http.StatusForbidden, true, ErrForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			inBench(t, func(b *bench) {
				synctest.Wait()
				b.plane.mu.Lock()
				b.plane.answer = func(r *http.Request) (int, string) {
					if r.Header.Get("Authorization") == "Bearer t2" && tc.status == http.StatusUnauthorized {
						return 0, ""
					}
					return tc.status, ""
				}
				b.plane.mu.Unlock()
				if tc.fresh {
					_ = b.secret.Save(b.Context(), pull.Credential{ClusterID: "east", Token: "t2"})
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				select {
				case err := <-b.ended:
					if tc.ends == nil || !errors.Is(err, tc.ends) {
						b.Errorf("ended with %v, want %v", err, tc.ends)
					}
					b.ended <- nil
					if last := b.health[len(b.health)-1]; last.Authenticated || !last.Connected || last.Reason == "" {
						b.Errorf("%+v", last)
					}
				default:
					if tc.ends != nil {
						b.Error("it goes on")
					}
				}
			})
		})
	}
}
