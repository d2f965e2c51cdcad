package view

import (
	"strings"

	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store"
)

// aside passes an event below an Aside's prefix to its reader. It reports whether there is such a prefix.
func (v *View) aside(event store.Event) bool {
	for _, a := range v.options.Aside {
		if !strings.HasPrefix(event.Key, a.Prefix) {
			continue
		}
		_ = recovery.Call(func() error {
			if event.Deleted {
				a.Reader.Delete(event.Key)
			} else {
				a.Reader.Put(event.Entry)
			}
			return nil
		}, "store_key", event.Key) // a reader that panics misses this event alone
		return true
	}
	return false
}

func (v *View) restart() {
	for _, a := range v.options.Aside {
		a.Reader.Restart()
	}
}

func (v *View) reached(revision int64) {
	for _, a := range v.options.Aside {
		a.Reader.Reached(revision)
	}
}
