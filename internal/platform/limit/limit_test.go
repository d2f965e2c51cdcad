package limit

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestRates: each key has its own burst, and then its rate.
func TestRates(t *testing.T) {
	now := time.Unix(1000, 0)
	r := NewRates(2, 10, func() time.Time { return now })
	for i := range 10 {
		if wait := r.Ask("a"); wait != 0 {
			t.Fatalf("request %d waits for %v", i, wait)
		}
	}
	if r.Ask("a") != time.Second || r.Wait("a") != time.Second || r.Ask("b") != 0 || r.Wait("c") != 0 {
		t.Error("a doesn't wait alone")
	}
	now = now.Add(time.Second)
	if first, second, third := r.Ask("a"), r.Ask("a"), r.Ask("a"); first != 0 || second != 0 || third == 0 {
		t.Errorf("after a second they wait for %v, %v and %v; want the third alone to wait", first, second, third)
	}
	if r.Take("a", 21); r.Wait("a") != 11*time.Second {
		t.Errorf("after too many it waits for %v", r.Wait("a"))
	}
}

// TestPlaces: a key has its places; some wait for a time, and the others for none.
func TestPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPlaces(3, time.Minute)
		var mu sync.Mutex
		var leaves []func()
		refused := 0
		for range 20 {
			go func() {
				leave, ok := p.Enter(t.Context(), "a")
				mu.Lock()
				defer mu.Unlock()
				if ok {
					leaves = append(leaves, leave)
				} else {
					refused++
				}
			}()
		}
		synctest.Wait()
		if len(leaves) != 3 || refused != 5 {
			t.Fatalf("%d have a place, %d were refused", len(leaves), refused)
		}
		if leave, ok := p.Enter(t.Context(), "b"); !ok {
			t.Error("another key has none")
		} else {
			leave()
		}
		leaves[0]()
		leaves[0]()
		synctest.Wait()
		if len(leaves) != 4 {
			t.Errorf("%d have had a place after one left", len(leaves))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(leaves) != 4 || refused != 16 {
			t.Errorf("%d have had a place, %d were refused", len(leaves), refused)
		}
		for _, leave := range leaves {
			leave()
		}
		if len(p.of) != 0 {
			t.Errorf("remembers %v", p.of)
		}
	})
}

func TestBudget(t *testing.T) {
	b := NewBudget(100, 60)
	one, two, other := b.Open("a"), b.Open("a"), b.Open("b")
	if !one.Take(40) || two.Take(21) || !two.Take(20) || !other.Take(40) || other.Take(1) || b.Held() != 100 {
		t.Errorf("%d held", b.Held())
	}
	one.Close()
	one.Close()
	if b.Held() != 60 || !other.Take(20) {
		t.Errorf("%d held after one was closed", b.Held())
	}
	two.Close()
	other.Close()
	if b.Held() != 0 || len(b.of) != 0 {
		t.Errorf("%d held at the end, %v", b.Held(), b.of)
	}
}

func TestClient(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1:5": "192.0.2.1", "[::ffff:192.0.2.1]:5": "192.0.2.1", "[2001:db8::1]:5": "2001:db8::/64",
		"[2001:db8::2]:6": "2001:db8::/64", "pipe": "pipe",
	} {
		if got := Client(address); got != want {
			t.Errorf("%s: %s", address, got)
		}
	}
}
