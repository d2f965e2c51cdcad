package daemon

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// TestAPartThatPanicsRunsAgain: the server continues after a panic; only a part that ends by itself ends it.
func TestAPartThatPanicsRunsAgain(t *testing.T) {
	before := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { slog.SetDefault(before) })
	synctest.Test(t, func(t *testing.T) {
		ctx, failed := context.WithCancelCause(t.Context())
		runs := 0
		running := part{"broken", func(ctx context.Context) error {
			if runs++; runs < 4 {
				panic("broken")
			}
			<-ctx.Done()
			return nil
		}}.start(failed)
		time.Sleep(time.Minute)
		if runs != 4 || ctx.Err() != nil {
			t.Errorf("it ran %d times, and the server ended with %v", runs, context.Cause(ctx))
		}
		if err := running.stop(); err != nil {
			t.Error(err)
		}
		part{"ends", func(context.Context) error { return nil }}.start(failed)
		synctest.Wait()
		if !errors.Is(context.Cause(ctx), errEndedEarly) {
			t.Errorf("a part that ends by itself: %v", context.Cause(ctx))
		}
	})
}
