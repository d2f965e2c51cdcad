package store

import "fmt"

// The limits of one commit. All backends refuse larger ones alike, so that a commit that passes on one passes on the
// others.
const (
	// MaxOps bounds the operations and, separately, the preconditions of a commit.
	MaxOps = 10_000
	// MaxBytes bounds Txn.Size.
	MaxBytes = 16 << 20
)

// Size returns the size that MaxBytes bounds: the keys and values written, and twice the keys compared (a conflict
// reads them).
func (t Txn) Size() int {
	size := 0
	for _, op := range t.Do {
		size += len(op.Key) + len(op.Value)
	}
	for _, c := range t.If {
		size += 2 * len(c.Key)
	}
	return size
}

// Validate returns the errors common to all backends: ErrInvalid, ErrTooLarge. Backends call it before they write
// anything.
func (t Txn) Validate() error {
	if n := max(len(t.Do), len(t.If)); n > MaxOps {
		return fmt.Errorf("commit %s: %w: %d operations or preconditions, at most %d", t.Site, ErrTooLarge, n, MaxOps)
	}
	if n := t.Size(); n > MaxBytes {
		return fmt.Errorf("commit %s: %w: %d bytes, at most %d", t.Site, ErrTooLarge, n, MaxBytes)
	}
	return t.validateKeys()
}

func (t Txn) validateKeys() error {
	written := make(map[string]struct{}, len(t.Do))
	for _, op := range t.Do {
		if op.Key == "" {
			return fmt.Errorf("commit %s: %w: an empty key", t.Site, ErrInvalid)
		}
		if _, twice := written[op.Key]; twice {
			return fmt.Errorf("commit %s: %w: %s is written twice", t.Site, ErrInvalid, op.Key)
		}
		written[op.Key] = struct{}{}
	}
	for _, c := range t.If {
		if c.Key == "" {
			return fmt.Errorf("commit %s: %w: an empty key in a precondition", t.Site, ErrInvalid)
		}
	}
	return nil
}
