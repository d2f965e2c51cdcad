package local

import (
	"testing"
	"time"

	"tend.dev/tend/internal/store/records"
)

// TestAServerThatWasStartedAgainWaits for 10 s for the nodes that it heard before. Then it says that it doesn't hear
// them, whose heartbeats end when they would have ended without.
func TestAServerThatWasStartedAgainWaits(t *testing.T) {
	for name, test := range map[string]struct {
		server string
		before records.Heartbeat // what the earlier life has left
		beats  bool              // the node does, within the time
		marked bool
	}{
		"the node is silent":              {"", records.Heartbeat{}, false, true},
		"the node beats":                  {"", records.Heartbeat{}, true, false},
		"beside others":                   {"a", records.Heartbeat{Server: "a"}, false, true},
		"another server hears it":         {"a", records.Heartbeat{Server: "b"}, false, false},
		"it was alone":                    {"a", records.Heartbeat{}, false, true},
		"it was beside others":            {"", records.Heartbeat{Server: "b"}, false, true},
		"the node was silent before that": {"", records.Heartbeat{Last: time.Unix(7, 0).UTC()}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			var life time.Time
			listening(t, 1, func(l *listeners) {
				lease, err := l.store.Grant(l.Context(), 25*time.Second)
				if err != nil {
					l.Fatal(err)
				}
				test.before.Life = life.Add(-time.Minute)
				key := records.AliveKey("n1")
				if _, err := records.NewTxn("test").PutLeased(key, test.before, lease).Commit(l.Context(), l.store); err != nil {
					l.Fatal(err)
				}
				l.pass(4)
				if test.beats {
					l.beat(l.at[0].Node("n1"))
				}
				before := l.revision()
				l.pass(5.5)
				if l.revision() != before {
					l.Error("something is written within 9.5 s")
				}
				l.pass(1)
				beat, bound, exists := l.stored()
				if beat.Unheard != test.marked || !exists || !test.beats && bound != lease {
					l.Errorf("after 10.5 s: %+v under lease %d, %v", beat, bound, exists)
				}
				before = l.revision()
				l.pass(3)
				if l.revision() != before {
					l.Error("it is written again")
				}
				l.beat(l.at[0].Node("n1"))
				if beat, _, _ := l.stored(); !beat.Beats() || !beat.Life.Equal(life) {
					l.Errorf("after a beat: %+v", beat)
				}
			}, func(o *Options) { life = time.Now(); o.Server, o.Life = test.server, life })
		})
	}
}

// TestTheStoreIsSlowWhileAServerWaits: what can't be written yet is written later.
func TestTheStoreIsSlowWhileAServerWaits(t *testing.T) {
	listening(t, 1, func(l *listeners) {
		lease, err := l.store.Grant(l.Context(), 25*time.Second)
		if err != nil {
			l.Fatal(err)
		}
		old := records.Heartbeat{Life: l.at[0].Life.Add(-time.Minute)}
		key := records.AliveKey("n1")
		if _, err := records.NewTxn("test").PutLeased(key, old, lease).Commit(l.Context(), l.store); err != nil {
			l.Fatal(err)
		}
		l.store.refuses = true
		l.pass(14)
		l.store.refuses = false
		l.pass(2)
		if beat, _, _ := l.stored(); !beat.Unheard {
			l.Errorf("%+v", beat)
		}
	}, func(o *Options) { o.Life = time.Now() })
}
