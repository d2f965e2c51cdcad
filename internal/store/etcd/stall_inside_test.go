package etcd

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"tend.dev/tend/internal/store"
)

// TestAStalledDisk: a write that takes too long is a stall, until the disk has it.
func TestAStalledDisk(t *testing.T) { synctest.Test(t, stallsInTime) }

func stallsInTime(t *testing.T) {
	d := stall{dir: t.TempDir()}
	<-d.write()
	if text, err := os.ReadFile(filepath.Join(d.dir, "probe")); err != nil || string(text) != "." {
		t.Errorf("%q, %v", text, err)
	}
	for waits, want := range map[time.Duration]bool{0: false, callTime: false, 10 * time.Second: false,
		2 * stallTime: true} {
		began := time.Now().Add(-waits)
		d.since.Store(&began)
		if err := d.err(); errors.Is(err, store.ErrStalled) != want {
			t.Errorf("after %v: %v", waits, err)
		}
	}
	d.since.Store(nil)
	if err := d.err(); err != nil {
		t.Errorf("once it is written: %v", err)
	}
}

// TestTheEndWaitsForNoStalledDisk: the end of a store lets a write of a disk that works finish, and one of a disk that
// stalls wait, also before the disk counts as stalled.
func TestTheEndWaitsForNoStalledDisk(t *testing.T) {
	for name, test := range map[string]struct {
		takes time.Duration
		want  bool // it is written once probe has ended
	}{
		"a disk that works": {lastWrite / 2, true},
		"a stalled one":     {time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d stall
				ended, written := make(chan struct{}), make(chan struct{})
				returned := make(chan struct{})
				go func() {
					defer close(returned)
					d.probe(ended, func() <-chan struct{} {
						time.AfterFunc(test.takes, func() { close(written) })
						return written
					})
				}()
				synctest.Wait()
				close(ended)
				select {
				case <-returned:
				case <-time.After(stallTime / 2):
					t.Fatal("the end still waits for the disk")
				}
				select {
				case <-written:
					if !test.want {
						t.Error("the end waited for the disk")
					}
				default:
					if test.want {
						t.Error("a write was left behind")
					}
				}
			})
		})
	}
}

// TestWhatEtcdSaysOfASlowStore: a slow read is reported as slow; a slow commit has an unknown outcome, unless it was
// certainly refused.
func TestWhatEtcdSaysOfASlowStore(t *testing.T) {
	var s calls
	s.begin(func() error { return nil }, func() error { return nil })
	for theirs, test := range map[error]struct {
		want    error
		unknown bool
	}{
		rpctypes.ErrTimeout:                {store.ErrSlow, true},
		rpctypes.ErrTooManyRequests:        {store.ErrSlow, false},
		rpctypes.ErrStopped:                {store.ErrClosed, true},
		rpctypes.ErrTimeoutDueToLeaderFail: {store.ErrNoQuorum, true},
		rpctypes.ErrNoLeader:               {store.ErrNoQuorum, false},
	} {
		if err := s.translate("list", theirs); !errors.Is(err, test.want) {
			t.Errorf("a read: %v is %v", theirs, err)
		}
		err := s.translateCommit("commit", theirs)
		if errors.Is(err, store.ErrUnknownOutcome) != test.unknown || !errors.Is(err, test.want) {
			t.Errorf("a commit: %v is %v", theirs, err)
		}
	}
}
