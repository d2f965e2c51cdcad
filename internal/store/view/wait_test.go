package view_test

import (
	"testing"
	"testing/synctest"

	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/view"
)

// TestWhoWaitsComesAfterTheListeners: a listener has heard of a commit before a wait for its revision returns.
func TestWhoWaitsComesAfterTheListeners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		v := view.New(s, view.Options{Decode: decode})
		hears := make(chan struct{})
		v.OnChange(func(view.Change) { <-hears })
		run(t, v)
		<-v.Synced()
		revision, returned := write(t, s, put("/a", "1")), make(chan error, 1)
		synctest.Wait()
		if v.Revision() != revision {
			t.Fatalf("the view is at %d, want %d", v.Revision(), revision)
		}
		go func() { returned <- v.WaitFor(t.Context(), revision) }()
		synctest.Wait()
		if len(returned) > 0 {
			t.Error("who waits went on before the listener had heard of the commit")
		}
		close(hears)
		if err := <-returned; err != nil {
			t.Error(err)
		}
	})
}
