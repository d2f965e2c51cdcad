package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"
)

// The bounds of remembered keys: a job is not sent again after its lifetime of a day, and a ConfigMap holds 1 MiB.
const (
	keyAge  = 7 * 24 * time.Hour
	maxKeys = 4000
	maxKey  = 200
)

// Keys remembers the keys of finished jobs.
type Keys struct {
	store KeyStore
	now   func() time.Time

	mu     sync.Mutex
	loaded bool
	keys   []doneKey
}

type doneKey struct {
	Key string    `json:"key"`
	At  time.Time `json:"at"`
}

// NewKeys returns the keys kept in a store.
func NewKeys(store KeyStore, now func() time.Time) *Keys { return &Keys{store: store, now: now} }

// Done reports whether a job with the key was done.
func (k *Keys) Done(ctx context.Context, key string) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.load(ctx); err != nil {
		return false, err
	}
	return slices.ContainsFunc(k.keys, func(d doneKey) bool { return d.Key == short(key) }), nil
}

// Remember stores keys. It drops old ones, and the oldest if there are too many.
func (k *Keys) Remember(ctx context.Context, keys ...string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.load(ctx); err != nil {
		return err
	}
	now := k.now().UTC()
	next := slices.DeleteFunc(slices.Clone(k.keys), func(d doneKey) bool { return now.Sub(d.At) > keyAge })
	for _, key := range keys {
		next = slices.DeleteFunc(next, func(d doneKey) bool { return d.Key == short(key) })
		next = append(next, doneKey{short(key), now})
	}
	next = next[max(len(next)-maxKeys, 0):]
	text, err := json.Marshal(next)
	if err == nil {
		err = k.store.Save(ctx, text)
	}
	if err != nil {
		return fmt.Errorf("remember a job that was done: %w", err)
	}
	k.keys = next
	return nil
}

func (k *Keys) load(ctx context.Context) error {
	if k.loaded {
		return nil
	}
	text, err := k.store.Load(ctx)
	if err != nil {
		return fmt.Errorf("read the jobs that were done: %w", err)
	}
	var keys []doneKey
	if len(text) > 0 && json.Unmarshal(text, &keys) != nil {
		keys = nil // start over if damaged: a job that is done twice changes nothing
	}
	k.keys, k.loaded = keys, true
	return nil
}

// short bounds the length of a key. A longer key keeps its end, which names the generation.
func short(key string) string { return key[max(len(key)-maxKey, 0):] }
