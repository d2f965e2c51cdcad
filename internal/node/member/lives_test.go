package member

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/internal/node/nodeapi/remote"
)

// TestLivesThatEndSoonAreRare: while one server says that the cluster is paused and another that it isn't, the machine
// begins again ever more rarely, since each time its ports are closed. A long life forgets that.
func TestLivesThatEndSoonAreRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		number := 0
		var lasts atomic.Int64
		var rests []time.Duration // before each life
		ended := time.Now()
		live := func(held bool) error {
			rests = append(rests, time.Since(ended))
			if number++; held != (number%2 == 0) {
				t.Errorf("life %d is held: %v", number, held)
			}
			if number > 1000 {
				return errors.New("it begins again without a rest")
			}
			time.Sleep(time.Duration(lasts.Load()))
			if ended = time.Now(); held {
				return remote.ErrResumed
			}
			return remote.ErrRestored
		}
		done := make(chan error, 1)
		go func() { done <- lives(ctx, slog.New(slog.DiscardHandler), live) }()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if most := int(10 * time.Minute / (longRest / 2)); number > most+10 || number < 2 {
			t.Errorf("%d lives in 10 minutes, want at most about %d", number, most)
		}
		if slices.Max(rests) > 2*longRest {
			t.Error("the ports stayed closed for", slices.Max(rests))
		}
		lasts.Store(int64(longLife))
		time.Sleep(longLife + 2*longRest)
		synctest.Wait()
		at := len(rests)
		time.Sleep(3 * longLife)
		synctest.Wait()
		if len(rests) == at || slices.Max(rests[at:]) > 2*firstRest {
			t.Error("after long lives it rests for", rests[at:])
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestAnotherEndIsFinal: the machine doesn't begin again after a failure.
func TestAnotherEndIsFinal(t *testing.T) {
	broken, number := errors.New("the root is broken"), 0
	err := lives(t.Context(), slog.New(slog.DiscardHandler), func(bool) error { number++; return broken })
	if !errors.Is(err, broken) || number != 1 {
		t.Errorf("%v after %d lives", err, number)
	}
}
