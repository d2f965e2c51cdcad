package control

import (
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/platform/recovery"
)

// Due returns the keys that judge finds something to do about. A key that makes judge panic is due: its reconcile fails
// by itself, and no other key goes unseen.
func Due(keys []engine.Key, judge func(engine.Key) bool) []engine.Key {
	var out []engine.Key
	for _, key := range keys {
		if isDue(key, func() bool { return judge(key) }) {
			out = append(out, key)
		}
	}
	return out
}

func isDue(key engine.Key, judge func() bool) (due bool) {
	if recovery.Call(func() error { due = judge(); return nil }, "object", key) != nil {
		return true
	}
	return due
}
