package view_test

import (
	"log/slog"
	"sync"
	"testing"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/view"
)

// TestWhatPanicsStopsNothingElse: a listener, a watch and a reader aside that panic only miss the change at which they
// did, and the view and all others continue.
func TestWhatPanicsStopsNothingElse(t *testing.T) {
	before := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { slog.SetDefault(before) })
	s, aside := memory.New(), &reader{}
	v := view.New(s, view.Options{Decode: decode, Aside: []view.Aside{{Prefix: "/aside/", Reader: aside}}})
	var mu sync.Mutex // of heard
	var heard []string
	v.OnChange(func(c view.Change) {
		if c.Key == "/poison" {
			panic("a listener")
		}
	})
	v.OnChange(func(c view.Change) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, c.Key)
	})
	run(t, v)
	<-v.Synced()
	broken := v.Watch(t.Context(), view.WatchOptions{Match: func(c view.Change) bool {
		if c.Key == "/poison" {
			panic("a match")
		}
		return true
	}})
	sound := v.Watch(t.Context(), view.WatchOptions{Prefix: "/after"})
	commit(t, s, v, put("/poison", "1"), put("/beside", "1"))
	commit(t, s, v, put("/aside/poison", "1"), put("/aside/b", "1"))
	last := commit(t, s, v, put("/after", "1"))

	ended(t, broken, view.ErrGone)
	if got := (<-sound.Changes())[0].Revision; got != last {
		t.Errorf("the other watch is at %d, want %d", got, last)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(heard) != 3 || heard[0] != "/poison" || heard[1] != "/beside" || heard[2] != "/after" {
		t.Errorf("the other listener heard %v", heard)
	}
	aside.mu.Lock()
	defer aside.mu.Unlock()
	if len(aside.keys) != 1 || aside.keys[0] != "/aside/b" || aside.reached != last {
		t.Errorf("the reader aside got %v and is at %d", aside.keys, aside.reached)
	}
}

// reader panics at a key.
type reader struct {
	mu      sync.Mutex
	keys    []string
	reached int64
}

func (r *reader) Restart() {}

func (r *reader) Put(e store.Entry) {
	if e.Key == "/aside/poison" {
		panic("a reader aside")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys = append(r.keys, e.Key)
}

func (r *reader) Delete(string) {}

func (r *reader) Reached(revision int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reached = revision
}
