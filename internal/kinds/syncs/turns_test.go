package syncs

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/internal/store/records"
)

// TestSourcesThatHangLoseTheirTurn: more of them than are polled at once hold up each other, and no others; each gets
// its turn again, and says what it waits for.
func TestSourcesThatHangLoseTheirTurn(t *testing.T) {
	inHarness(t, func(h *harness) {
		const hanging = 2*pollsAtOnce + 3
		hang := func(ctx context.Context) (string, error) { <-ctx.Done(); return "", context.Cause(ctx) }
		for i := range hanging {
			name := fmt.Sprintf("hang%02d", i)
			h.behave("/"+name, hang, nil)
			h.declare(name, "uid-"+name)
			after(time.Millisecond)
		}
		h.behave("/a", has("r1"), applies("r1", nil))
		h.declare("a", "uid-a")
		after(3*quickTime + time.Second)
		if got := h.status("a"); got != "Applied r1" {
			t.Errorf("status %s behind %d sources that hang", got, hanging)
		}
		after(time.Hour)
		h.take()
		h.behave("/a", has("r2"), applies("r2", nil))
		after(time.Minute + time.Second)
		if got := h.status("a"); got != "Applied r2" {
			t.Errorf("status %s an hour later", got)
		}
		h.take()
		after(2 * time.Hour)
		polled := h.take()
		for i := range hanging {
			name := fmt.Sprintf("hang%02d", i)
			if got := h.status(name); got != "FetchFailed " || !strings.Contains(polled, "poll /"+name) {
				t.Errorf("status %s of %s, which was polled: %v", got, name, strings.Contains(polled, "poll /"+name))
			}
		}
		h.behave("/hang00", has("r1"), applies("r1", nil))
		after(2 * time.Hour)
		if got := h.status("hang00"); got != "Applied r1" {
			t.Errorf("status %s of one that hangs no more", got)
		}
	})
}

// TestPollsThatCantBeEnded: those of folders whose disk doesn't answer hold up no other source either, and none is
// polled twice at a time. They are polled again once the disk answers.
func TestPollsThatCantBeEnded(t *testing.T) {
	inHarness(t, func(h *harness) {
		answer := make(chan struct{})
		var at, most atomic.Int32
		for i := range 2*pollsAtOnce + 1 {
			name := fmt.Sprintf("stuck%02d", i)
			h.behave("/"+name, func(context.Context) (string, error) {
				if i == 0 {
					most.Store(max(most.Load(), at.Add(1)))
					defer at.Add(-1)
				}
				<-answer
				return "r1", nil
			}, applies("r1", nil))
			h.declare(name, "uid-"+name)
		}
		after(time.Millisecond)
		h.behave("/a", has("r1"), applies("r1", nil))
		h.declare("a", "uid-a")
		after(3*quickTime + time.Minute)
		if got := h.status("a"); got != "Applied r1" {
			t.Errorf("status %s behind disks that don't answer", got)
		}
		after(time.Hour)
		if got := h.status("stuck00"); got != "FetchFailed " || most.Load() != 1 {
			t.Errorf("status %s of one that doesn't answer; it was polled %d times at once", got, most.Load())
		}
		h.write(records.NewTxn("test").Delete(records.ObjectKey(refTo("stuck01"))))
		after(time.Second)
		if got := h.take(); !strings.Contains(got, "drop uid-stuck01") {
			t.Errorf("one that was removed leaves what was fetched: %s", got)
		}
		close(answer)
		after(time.Hour)
		if got := h.status("stuck00"); got != "Applied r1" {
			t.Errorf("status %s once the disk answers", got)
		}
	})
}

// TestAPollThatPanicsHasFailed, and the source has its turn again.
func TestAPollThatPanicsHasFailed(t *testing.T) {
	before := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { slog.SetDefault(before) })
	synctest.Test(t, func(t *testing.T) {
		turns, p := newTurns(), &polling{}
		for range 2 * pollsAtOnce {
			if got := turns.take(t.Context(), p, func(context.Context) fetched {
				panic(
					"a source like no other")
			}); got.err == nil {
				t.Fatal("it has no error")
			}
		}
		got := turns.take(t.Context(), p, func(context.Context) fetched { return fetched{revision: "1"} })
		if got.err != nil || got.revision != "1" {
			t.Errorf("the next poll: %+v", got)
		}
	})
}
