package process

import (
	"context"
	"sync"
)

// keyed holds one lock per key. Waiting for a lock ends with the caller's context.
type keyed struct {
	mu   sync.Mutex
	held map[string]chan struct{}
}

func (k *keyed) lock(ctx context.Context, key string) (unlock func(), err error) {
	for {
		k.mu.Lock()
		free, taken := k.held[key]
		if !taken {
			if k.held == nil {
				k.held = map[string]chan struct{}{}
			}
			mine := make(chan struct{})
			k.held[key] = mine
			k.mu.Unlock()
			return func() { k.unlock(key, mine) }, nil
		}
		k.mu.Unlock()
		select {
		case <-free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (k *keyed) unlock(key string, mine chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.held, key)
	close(mine)
}
