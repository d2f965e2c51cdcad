package etcd

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store"
)

// A byte is written to the disk every probeEvery. The disk counts as stalled once that has taken stallTime.
//
// A disk that is merely slow must not count. etcd warns of it from a sync of 1 s on, and serves. With peers it elects
// another leader when a leader's disk holds it up for longer than the election timeout of 1 s: three members go on by
// themselves. Its own bound for a call is 5 s and two election timeouts, 7 s; callTime is 8 s. A disk that answers
// within these still serves calls, however late, so stallTime is longer than they are: from then on a call could only
// time out, and is refused at once instead.
const (
	probeEvery = 5 * time.Second
	stallTime  = 12 * time.Second
	// lastWrite is the time for which the end waits for a write: after it, a disk that works is left alone.
	lastWrite = time.Second
)

// stall records since when the disk has not finished a write. etcd itself reports nothing while its disk stalls: calls
// wait.
type stall struct {
	dir   string
	since atomic.Pointer[time.Time]
}

// err returns store.ErrStalled while the disk is stalled.
func (d *stall) err() error {
	since := d.since.Load()
	if since == nil {
		return nil
	}
	waits := time.Since(*since)
	if waits < stallTime {
		return nil
	}
	return fmt.Errorf("%w: the disk of %s has not finished a write for %s", store.ErrStalled, d.dir,
		waits.Round(time.Second))
}

// Stalled returns store.ErrStalled, with the time since the last finished write, while the disk finishes none.
func (s *Store) Stalled() error { return s.stall.err() }

// probeDisk writes to the disk until the store ends.
func (s *Store) probeDisk() { s.stall.probe(s.lifetime.Done(), s.stall.write) }

// probe calls write again and again until ended is closed. Then it waits for a write no longer than lastWrite: a write
// on a stalled disk outlives the store.
func (d *stall) probe(ended <-chan struct{}, write func() <-chan struct{}) {
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	for {
		now := time.Now()
		d.since.Store(&now)
		written := write()
		select {
		case <-written:
		case <-ended:
			select {
			case <-written:
			case <-time.After(lastWrite):
			}
			return
		}
		d.since.Store(nil)
		select {
		case <-ticker.C:
		case <-ended:
			return
		}
	}
}

// write begins to write a byte and returns a channel that closes once the disk has it, or has refused it.
func (d *stall) write() <-chan struct{} {
	written := make(chan struct{})
	recovery.Go(func() {
		defer close(written)
		file, err := os.OpenFile(filepath.Join(d.dir, "probe"), os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return
		}
		defer file.Close()
		if _, err := file.WriteAt([]byte{'.'}, 0); err == nil {
			_ = file.Sync()
		}
	})
	return written
}
