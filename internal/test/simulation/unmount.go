package simulation

import (
	"math/rand/v2"
	"time"

	"tend.dev/tend/internal/store/memory"
)

// collected is the time after which a server has collected unused files, and existing files are no longer new.
const collected = 70 * time.Minute

// unmount starts the server once with an empty store, as if the disk of --data weren't mounted, and then with its own
// again. Nothing may be lost by that.
func unmount(w *World, random *rand.Rand) {
	if w.shared() || w.away.Load() || !w.weather.calm() {
		return
	}
	w.count.faults.Add(1)
	w.storyf("the server starts with an empty store: the disk isn't mounted")
	w.unmounted.Store(true)
	w.kill()
	mine, cluster := w.store, w.cluster.Load()
	w.store = memory.New()
	w.start()
	long := span(random, 20*time.Second)
	if chance(random, 2) {
		long += collected
	}
	w.pass(long)
	w.kill()
	_ = w.store.Close()
	w.store = mine
	w.cluster.Store(cluster)
	w.storyf("the disk is mounted again")
	w.watched.filesExist()
	w.unmounted.Store(false)
	w.start()
}
