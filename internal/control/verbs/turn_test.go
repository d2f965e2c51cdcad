package verbs

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/internal/store/records"
)

// hanging is a store that doesn't answer.
type hanging struct{}

func (hanging) Fresh(ctx context.Context) (records.Snapshot, error) {
	<-ctx.Done()
	return records.Snapshot{}, ctx.Err()
}

// TestNoVerbWaitsWithoutEnd for those before it: a store that doesn't answer would keep all of them.
func TestNoVerbWaitsWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Reader: hanging{}})
		ctx, cancel := context.WithCancel(t.Context())
		target, first := TargetOf(ref("prod", "web")), make(chan error, 1)
		go func() { _, err := s.Scale(ctx, target, 1, FieldManager{}); first <- err }()
		synctest.Wait()
		began := time.Now()
		_, err := s.Scale(t.Context(), target, 2, FieldManager{})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != turnTime {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		cancel()
		<-first
	})
}
