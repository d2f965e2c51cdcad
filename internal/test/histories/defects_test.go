//go:build integration

package histories

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"
)

// defects are faults of a server as its clients would see them: each changes the requests to a real one, or its
// answers.
var defects = map[string]func(*background) func(caller) caller{
	"reads are answered from a view that lags":           lags,
	"a write is acknowledged that is never committed":    acknowledgesEarly,
	"a write is applied again after it was acknowledged": appliesTwice,
}

// TestHistoriesShowDefects: each defect is found.
func TestHistoriesShowDefects(t *testing.T) {
	c := newTrio(t, nil)
	for name, defect := range defects {
		t.Run(name, func(t *testing.T) {
			later := &background{}
			failed := c.record(200, &counts{}, defect(later))
			later.wait.Wait()
			if len(failed) == 0 {
				t.Error("no history shows it")
			}
		})
	}
	t.Run("a server that is cut off answers reads as if it knew the newest", c.hidesStaleness)
}

// hidesStaleness: a server that is cut off marks its reads as stale. If it did not, a history would show it.
func (c *trio) hidesStaleness(t *testing.T) {
	for _, hidden := range []bool{false, true} {
		h := &history{number: int(2 * (1000 + c.recorded.Add(1))), began: time.Now(), said: map[int]string{},
			counts: &counts{}, callers: map[string]caller{}}
		for _, name := range c.names {
			next := c.servers[name].caller()
			h.callers[name] = func(call call) reply {
				r := next(call)
				if hidden {
					r.stale = ""
				}
				return r
			}
		}
		key := h.keys()[0]
		h.ask("a", asked{key: key, verb: apply, value: "web:1", replicas: 1})
		h.ask("c", asked{key: key, verb: read})
		c.network.set(c.network.cut, true, c.links("c")...)
		written := func() bool {
			h.ask("a", asked{key: key, verb: apply, value: "web:2", replicas: 1})
			seen := h.callers["a"](asked{key: key, verb: read}.request())
			return seen.status == http.StatusOK && seen.stale == "" && bytes.Contains(seen.body, []byte("web:2"))
		}
		if err := waitFor("the other two go on", written); err != nil {
			t.Error(err)
		}
		h.ask("a", asked{key: key, verb: read}) // the writes may have had no answer, and prove nothing then
		if promised := h.ask("c", asked{key: key, verb: read}); promised != hidden {
			t.Errorf("the answer of a server that is cut off counts as the newest: %t, want %t", promised, hidden)
		}
		c.network.set(c.network.cut, false, c.links("c")...)
		c.ready(c.names...)
		if wrong := h.judge(); len(wrong) > 0 != hidden {
			t.Errorf("with the warning hidden (%t) the history shows %q", hidden, wrong)
		}
	}
}

// background are calls that nobody waits for but the end of a test.
type background struct{ wait sync.WaitGroup }

func (b *background) after(d time.Duration, do func()) {
	b.wait.Add(1)
	time.AfterFunc(d, func() { defer b.wait.Done(); do() })
}

// lagTime is the age that an answer may have.
const lagTime = 200 * time.Millisecond

func lags(*background) func(caller) caller {
	return func(next caller) caller {
		var mu sync.Mutex
		kept, at := map[string]reply{}, map[string]time.Time{}
		return func(c call) reply {
			key := c.path + "?" + c.query.Encode()
			mu.Lock()
			defer mu.Unlock()
			if c.method == http.MethodGet && time.Since(at[key]) < lagTime {
				return kept[key]
			}
			mu.Unlock()
			r := next(c)
			mu.Lock()
			if c.method == http.MethodGet && r.meaning() != refused {
				kept[key], at[key] = r, time.Now()
			}
			return r
		}
	}
}

// acknowledgesEarly answers some applies from what would be stored, and stores nothing.
func acknowledgesEarly(*background) func(caller) caller {
	return func(next caller) caller {
		return func(c call) reply {
			if c.path == "/v1/apply" && rand.IntN(5) == 0 {
				c.query = url.Values{"dry_run": {"1"}}
			}
			return next(c)
		}
	}
}

// appliesTwice sends some applies again after they were answered.
func appliesTwice(later *background) func(caller) caller {
	return func(next caller) caller {
		return func(c call) reply {
			r := next(c)
			if again := c; c.path == "/v1/apply" && r.meaning() == done && rand.IntN(5) == 0 {
				again.query = maps.Clone(c.query)
				later.after(100*time.Millisecond, func() { next(again) })
			}
			return r
		}
	}
}
