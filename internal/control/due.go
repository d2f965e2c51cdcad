package control

import (
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/reconciler"
)

// Due returns the keys that judge finds something to do about. A key that makes judge panic is due: its reconcile fails
// by itself, and no other key goes unseen.
func Due(keys []reconciler.Key, judge func(reconciler.Key) bool) []reconciler.Key {
	var out []reconciler.Key
	for _, key := range keys {
		if isDue(key, func() bool { return judge(key) }) {
			out = append(out, key)
		}
	}
	return out
}

func isDue(key reconciler.Key, judge func() bool) (due bool) {
	if recovery.Call(func() error { due = judge(); return nil }, "object", key) != nil {
		return true
	}
	return due
}
