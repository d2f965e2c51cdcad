package calls

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/internal/engine"
)

// TestACallThatPanicsHasAnAnswer: its key is reconciled with it, and its host has its share again.
func TestACallThatPanicsHasAnAnswer(t *testing.T) {
	before := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { slog.SetDefault(before) })
	synctest.Test(t, func(t *testing.T) {
		c := New(time.Minute, func(err error) string { return err.Error() })
		ctx, cancel := context.WithCancel(t.Context())
		var woken []engine.Key
		go func() { _ = c.Run(ctx, func(keys ...engine.Key) { woken = append(woken, keys...) }) }()
		synctest.Wait()
		for attempt := range 2 * MaxPerHost {
			id := ID{Key: engine.Key{Kind: "delivery", Name: "d"}, Attempt: attempt}
			c.Begin(id, "example.org", func(context.Context) string { panic("no answer") })
			synctest.Wait()
			if answer, ended := c.Answer(
				id); !ended || answer != "panic in internal/control/calls.TestACallThatPanicsHasAnAnswer: no answer" {
				t.Errorf("attempt %d: %q, %v", attempt, answer, ended)
			}
		}
		if len(woken) != 2*MaxPerHost {
			t.Errorf("%d keys were woken, want %d", len(woken), 2*MaxPerHost)
		}
		cancel()
		synctest.Wait()
	})
}
