package eventlog_test

import (
	"testing"

	"tend.dev/tend/internal/store/view"
)

// waitFor waits until a condition of the log holds.
func waitFor(t testing.TB, w *world, holds func() bool) {
	t.Helper()
	for {
		changed := w.log.Changed()
		if holds() {
			return
		}
		select {
		case <-changed:
		case <-w.ctx.Done():
			t.Fatal("the log didn't become as it should")
		}
	}
}

func nothingKnown() *view.Snapshot { return nil }
