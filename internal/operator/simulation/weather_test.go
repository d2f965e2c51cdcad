//go:build simulate

package simulation

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tend.dev/tend/internal/operator/simulation/cluster"
)

// weather is the fate of the requests that the operator makes to the API server.
type weather struct {
	w *World
	// down refuses every request. lossy loses answers to writes, and refuses some writes with a conflict.
	down, lossy atomic.Bool
	// late is by how much watches are late, in nanoseconds.
	late atomic.Int64
	// killIn counts the points around writes until the operator is killed; 0 and below is never.
	killIn atomic.Int64

	mu  sync.Mutex
	cut chan struct{}
}

// maxLate is the most by which watches are late.
const maxLate = 5 * time.Second

func newWeather(w *World) *weather { return &weather{w: w, cut: make(chan struct{})} }

var errLost = errors.New("read: connection reset by peer")

func (a *weather) before(r cluster.Request) error {
	// In a discovery, client-go holds a lock, and the clock of synctest stands while another goroutine waits for it.
	if r.Resource != cluster.Discovery {
		time.Sleep(a.w.between(time.Millisecond, 8*time.Millisecond))
	}
	switch {
	case a.down.Load():
		return fmt.Errorf("dial tcp: %w", errRefused)
	case r.IsWrite() && a.lossy.Load() && a.w.sometimes(8):
		of := schema.GroupResource{Resource: r.Resource}
		return apierrors.NewConflict(of, r.Name, errors.New("the object has been modified"))
	case r.IsWrite() && a.lossy.Load() && a.w.sometimes(8):
		return errLost
	}
	return nil
}

func (a *weather) after(r cluster.Request) error {
	if a.lossy.Load() && r.IsWrite() && a.w.sometimes(4) {
		return errLost
	}
	return nil
}

// kills counts a point around a write, and reports whether the operator dies there.
func (a *weather) kills() bool {
	if a.killIn.Load() <= 0 || a.killIn.Add(-1) != 0 {
		return false
	}
	a.w.storyf("the operator is killed at a write")
	return true
}

// Late implements cluster.Lag.
func (a *weather) Late() time.Duration { return time.Duration(a.late.Load()) }

// Cut implements cluster.Lag.
func (a *weather) Cut() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cut
}

// cutWatches ends all watches.
func (a *weather) cutWatches() {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.cut)
	a.cut = make(chan struct{})
}

// clear ends all faults.
func (a *weather) clear() {
	a.down.Store(false)
	a.lossy.Store(false)
	a.late.Store(0)
	a.killIn.Store(0)
}
