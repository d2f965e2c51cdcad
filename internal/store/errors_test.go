package store_test

import (
	"errors"
	"fmt"
	"testing"

	"tend.dev/tend/internal/store"
)

func TestWhy(t *testing.T) {
	quorum := fmt.Errorf("%w: 2 of the 3 servers must be up", store.ErrNoQuorum)
	for want, err := range map[string]error{
		quorum.Error():                      fmt.Errorf("list /schema: %w", fmt.Errorf("read: %w", quorum)),
		"the store does not answer in time": fmt.Errorf("%w", store.ErrSlow),
		"list /schema: disk on fire":        fmt.Errorf("list /schema: %w", errors.New("disk on fire")),
	} {
		if got := store.Why(err); got.Error() != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
