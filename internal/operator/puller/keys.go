package puller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"
)

// The bounds of remembered keys: a page is full at pageKeys, and a ConfigMap holds 1 MiB. When all pages are full, the
// oldest one is begun again. A job is not sent again after its lifetime of a day.
const (
	// KeyPages is the number of pages.
	KeyPages = 16
	pageKeys = 250
	maxKey   = 200
)

// Keys remembers the keys of finished jobs. It adds them to one page until that is full, so that a job costs one write
// of bounded size.
type Keys struct {
	store KeyStore
	now   func() time.Time

	mu     sync.Mutex
	loaded bool
	pages  [KeyPages][]doneKey
	// page is the page that is written.
	page int
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
	for _, page := range k.pages {
		if slices.ContainsFunc(page, func(d doneKey) bool { return d.Key == short(key) }) {
			return true, nil
		}
	}
	return false, nil
}

// Remember stores keys.
func (k *Keys) Remember(ctx context.Context, keys ...string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.load(ctx); err != nil {
		return err
	}
	for len(keys) > 0 {
		page, next := k.page, k.pages[k.page]
		if len(next) >= pageKeys {
			page, next = (page+1)%KeyPages, nil
		}
		room := min(len(keys), pageKeys-len(next))
		next = slices.Clone(next)
		for _, key := range keys[:room] {
			next = append(next, doneKey{short(key), k.now().UTC()})
		}
		text, err := json.Marshal(next)
		if err == nil {
			err = k.store.Save(ctx, page, text)
		}
		if err != nil {
			return fmt.Errorf("remember a job that was done: %w", err)
		}
		k.page, k.pages[page], keys = page, next, keys[room:]
	}
	return nil
}

// load reads all pages. The one with the newest key is the one to write.
func (k *Keys) load(ctx context.Context) error {
	if k.loaded {
		return nil
	}
	var newest time.Time
	for page := range k.pages {
		text, err := k.store.Load(ctx, page)
		if err != nil {
			return fmt.Errorf("read the jobs that were done: %w", err)
		}
		var keys []doneKey
		if len(text) > 0 && json.Unmarshal(text, &keys) != nil {
			keys = nil // start over if damaged: a job that is done twice changes nothing
		}
		k.pages[page] = keys
		if n := len(keys); n > 0 && !keys[n-1].At.Before(newest) {
			k.page, newest = page, keys[n-1].At
		}
	}
	k.loaded = true
	return nil
}

// short bounds the length of a key. A longer key keeps its end, which names the generation.
func short(key string) string { return key[max(len(key)-maxKey, 0):] }
