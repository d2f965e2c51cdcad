package local

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// listeners are servers with one store, which listen for heartbeats.
type listeners struct {
	*testing.T
	store *full
	at    []*Service
}

// listening runs a test with so many servers, named s0, s1 … if there are several. Their settings are the usual ones:
// heartbeats 5 s apart, which last 25 s.
func listening(t *testing.T, servers int, test func(*listeners), edit ...func(*Options)) {
	synctest.Test(t, func(t *testing.T) {
		l := &listeners{T: t, store: &full{Store: memory.New()}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		for i := range servers {
			o := Options{Store: l.store, View: view.New(l.store, view.Options{Decode: records.Decode, Indexes: records.Indexes}),
				Own: "own", Timeout: 30 * time.Second, Lease: 25 * time.Second}
			if servers > 1 {
				o.Server, o.Life = string(rune('a'+i)), time.Now()
			}
			for _, change := range edit {
				change(&o)
			}
			s := New(o)
			l.at = append(l.at, s)
			go func() { done <- o.View.Run(ctx) }()
			go func() { done <- s.Listen(ctx) }()
		}
		test(l)
		cancel()
		for range 2 * servers {
			<-done
		}
		_ = l.store.Close()
	})
}

func (l *listeners) pass(seconds float64) {
	time.Sleep(time.Duration(seconds * float64(time.Second)))
	synctest.Wait()
}

func (l *listeners) beat(c *Control) {
	l.Helper()
	if err := c.Alive(l.Context(), 0); err != nil {
		l.Error(err)
	}
	synctest.Wait()
}

// stored returns what the store has of the heartbeat of n1, and the lease; false if there is none.
func (l *listeners) stored() (beat records.Heartbeat, lease store.LeaseID, exists bool) {
	l.Helper()
	read, err := l.store.Get(l.Context(), records.AliveKey("n1"))
	if err == nil {
		err = json.Unmarshal(read.Value, &beat)
	}
	return beat, read.Lease, err == nil
}

// TestTwoMissedBeatsAreWritten: 10 s after the last beat, not before, with the time of that; and the heartbeat ends
// when it would have ended without.
func TestTwoMissedBeatsAreWritten(t *testing.T) {
	for name, closes := range map[string]bool{"the node is silent": false, "its connection ended": true} {
		t.Run(name, func(t *testing.T) {
			listening(t, 1, func(l *listeners) {
				c := l.at[0].Node("n1")
				for range 5 {
					l.beat(c)
					l.pass(5)
				}
				l.beat(c)
				if closes {
					c.Close()
				}
				_, lease, _ := l.stored()
				last := time.Now()
				l.pass(9)
				if beat, _, exists := l.stored(); !exists || !beat.Last.IsZero() {
					l.Errorf("9 s after its last beat: %+v, %v", beat, exists)
				}
				l.pass(2)
				if beat, bound, _ := l.stored(); !beat.Last.Equal(last) || bound != lease {
					l.Errorf("11 s after its last beat, at %s: %+v under lease %d, want %d", last, beat, bound, lease)
				}
				l.pass(13.5)
				if _, _, exists := l.stored(); !exists {
					l.Error("its heartbeat is gone 24.5 s after the last beat")
				}
				l.pass(1)
				if _, _, exists := l.stored(); exists {
					l.Error("its heartbeat lasts longer than 25 s: what is missing was taken for a beat")
				}
				l.pass(60)
				if len(l.at[0].hears) > 0 {
					l.Error("the server still listens for it")
				}
			})
		})
	}
}

// TestTheNextBeatIsHeard: it takes back what was written, once, also if it can't be written at first: the heartbeat is
// renewed all the same.
func TestTheNextBeatIsHeard(t *testing.T) {
	for name, refuses := range map[string]bool{"it is written": false, "the disk is full": true} {
		t.Run(name, func(t *testing.T) {
			listening(t, 1, func(l *listeners) {
				c := l.at[0].Node("n1")
				l.beat(c)
				l.pass(18)
				l.store.refuses = refuses
				for range 6 {
					l.beat(c)
					beat, _, exists := l.stored()
					if !exists || beat.Last.IsZero() == refuses {
						l.Fatalf("after a beat: %+v, %v", beat, exists)
					}
					l.pass(5)
				}
				l.store.refuses = false
				l.beat(c)
				before := l.revision()
				for range 6 {
					l.beat(c)
					l.pass(5)
				}
				if beat, _, _ := l.stored(); !beat.Last.IsZero() || l.revision() != before {
					l.Errorf("%+v, written %d times by beats that came in time", beat, l.revision()-before)
				}
			})
		})
	}
}

func (l *listeners) revision() int64 {
	read, err := l.store.Get(l.Context(), records.AliveKey("n1"))
	if err != nil {
		l.Fatal(err)
	}
	return read.Modified
}

// TestAnotherServerHearsIt: who has heard the node before writes nothing of it.
func TestAnotherServerHearsIt(t *testing.T) {
	listening(t, 2, func(l *listeners) {
		l.beat(l.at[0].Node("n1"))
		l.pass(5)
		c := l.at[1].Node("n1")
		for range 6 {
			l.beat(c)
			if beat, _, _ := l.stored(); beat.Server != "b" || !beat.Life.Equal(l.at[1].Life) || !beat.Last.IsZero() {
				l.Fatalf("%+v", beat)
			}
			l.pass(5)
		}
		if len(l.at[0].hears) > 0 {
			l.Error("the first one still listens for it")
		}
	})
}

// TestAnotherServerHearsItUnseen: the same, though the one that has heard it before can't see that.
func TestAnotherServerHearsItUnseen(t *testing.T) {
	listening(t, 1, func(l *listeners) {
		blind := New(Options{Store: l.store, View: view.New(l.store, view.Options{}), Lease: 25 * time.Second})
		l.beat(blind.Node("n1"))
		c := l.at[0].Node("n1")
		for range 4 {
			l.pass(5)
			l.beat(c)
		}
		blind.listen(l.Context())
		if beat, _, exists := l.stored(); !exists || !beat.Last.IsZero() {
			l.Errorf("%+v, %v", beat, exists)
		}
	})
}

// TestAServerListensToOthers: its own node stands still only with itself, and says nothing then.
func TestAServerListensToOthers(t *testing.T) {
	listening(t, 1, func(l *listeners) {
		own := l.at[0].Node("own")
		l.beat(own)
		l.pass(20)
		read, err := l.store.Get(l.Context(), records.AliveKey("own"))
		if err != nil || !records.HeartbeatOf(read.Value).Last.IsZero() {
			l.Errorf("%s, %v", read.Value, err)
		}
	})
}

// TestABeatWhileAnotherNodeIsWritten: the store is slow, and what is about to be written of a node is no longer true.
func TestABeatWhileAnotherNodeIsWritten(t *testing.T) {
	listening(t, 1, func(l *listeners) {
		nodes := []string{"n1", "n2", "n3", "n4"}
		beat := func() {
			for _, node := range nodes {
				l.beat(l.at[0].Node(node))
			}
		}
		for range 2 {
			beat()
			l.pass(5)
		}
		beat()
		l.store.takes.Store(int64(time.Second / 2))
		l.pass(10.2) // what the first one misses is being written
		l.store.takes.Store(0)
		beat()
		l.pass(4)
		missed := 0
		for _, node := range nodes {
			read, err := l.store.Get(l.Context(), records.AliveKey(node))
			if err != nil {
				l.Fatal(err)
			}
			if !records.HeartbeatOf(read.Value).Last.IsZero() {
				missed++
			}
		}
		if missed > 1 {
			l.Errorf("%d nodes have beaten 4 s ago, and are said to have missed two beats", missed)
		}
	})
}

// TestANodeThatBeatsSeldom: its own flags say so, and the server's say otherwise. Two of its own beats count, from its
// first one on.
func TestANodeThatBeatsSeldom(t *testing.T) {
	listening(t, 1, func(l *listeners) {
		c := l.at[0].Node("n1")
		l.beat(c)
		before := l.revision()
		for range 6 {
			l.pass(5)
			l.beat(c)
		}
		if now := l.revision(); now != before {
			l.Errorf("beats 5 s apart are missed by a server whose own are 1 s apart: %d writes", now-before)
		}
	}, func(o *Options) { o.Heartbeat = time.Second })
}
