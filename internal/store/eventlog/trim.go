package eventlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// Retention bounds what a log keeps. Entries beyond any bound are deleted, the oldest first; 0 means no bound.
// WithDefaults replaces each 0.
type Retention struct {
	// Count is the number of entries kept: one for each commit that changed something.
	Count int
	// Age is the time for which an entry is kept.
	Age time.Duration
	// Bytes bounds the values of all entries.
	Bytes int64
}

// DefaultRetention applies unless another one is set.
var DefaultRetention = Retention{Count: 100_000, Age: 7 * 24 * time.Hour, Bytes: 64 << 20}

// WithDefaults returns the retention with the default of each bound that is 0.
func (r Retention) WithDefaults() Retention {
	return Retention{
		Count: cmp.Or(r.Count, DefaultRetention.Count), Age: cmp.Or(r.Age, DefaultRetention.Age),
		Bytes: cmp.Or(r.Bytes, DefaultRetention.Bytes),
	}
}

// trimOps bounds one commit of Trim.
const trimOps = 1000

// Trim deletes the entries beyond the retention, and returns their number. Only the leading server calls it: to commits
// within its term. A crash within it loses nothing: the next call continues.
func (l *Log) Trim(ctx context.Context, to records.Committer, keep Retention, now time.Time) (int, error) {
	deleted := 0
	for _, batch := range batches(l.excess(keep, now)) {
		if err := l.deleteAll(ctx, to, batch); err != nil {
			return deleted, err
		}
		deleted += len(batch)
	}
	return deleted, nil
}

func batches(all []slot) [][]slot {
	var out [][]slot
	for len(all) > trimOps {
		out, all = append(out, all[:trimOps]), all[trimOps:]
	}
	if len(all) > 0 {
		out = append(out, all)
	}
	return out
}

// excess returns the oldest entries that the retention doesn't keep.
func (l *Log) excess(keep Retention, now time.Time) []slot {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, bytes := 0, l.bytes
	for n < len(l.slots) {
		s := l.slots[n]
		old := keep.Age > 0 && now.Sub(time.UnixMilli(s.at)) > keep.Age
		many := keep.Count > 0 && len(l.slots)-n > keep.Count
		large := keep.Bytes > 0 && bytes > keep.Bytes
		if !old && !many && !large {
			break
		}
		bytes -= int64(s.size)
		n++
	}
	return append([]slot(nil), l.slots[:n]...)
}

// deleteAll deletes the oldest entries, and raises the floor in the same commit.
func (l *Log) deleteAll(ctx context.Context, to records.Committer, batch []slot) error {
	key := l.opts.Prefix + floorName
	floor, err := l.opts.Store.Get(ctx, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("trim the log: %w", err)
	}
	last := batch[len(batch)-1].revision
	if parseFloor(floor.Value) >= last { // another server has deleted these already
		return nil
	}
	txn := records.NewTxn("events.trim").If(key, floor.Modified).Put(key, strconv.FormatInt(last, 10))
	for _, s := range batch {
		txn.Delete(s.key(l.opts.Prefix))
	}
	if _, err := txn.Commit(ctx, to); err != nil {
		return fmt.Errorf("trim the log: %w", err)
	}
	return nil
}
