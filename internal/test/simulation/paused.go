package simulation

import (
	"context"
	"math/rand/v2"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// Of several servers one is started with --paused, as after the restore of its store by hand. That pauses all of them:
// none accepts a change until a person has resumed the cluster at any of them.

// pauses restarts a server with --paused, if nothing else is wrong that could delay its start.
func (w *World) pauses(number int) {
	s := w.seat(number)
	if w.paused.Load() || !w.serversHealthy() || !w.weather.calm() || !w.strain.calm() || w.away.Load() {
		return
	}
	w.crashIn.Store(0)
	w.faultf("server %s is started with --paused", s.name)
	s.stop(false)
	w.pausing = number
	s.start()
	w.pausing = nobody
	for range 20 {
		if w.pass(time.Second); w.pauseInStore() > 0 {
			break
		}
	}
	for range w.servers() { // people ask each in turn
		w.refusesWhilePaused()
	}
	w.resume()
}

// nobody is the number of no server.
const nobody = -1

// pauseInStore returns the number of the pause that the store has; 0 for none.
func (w *World) pauseInStore() int64 {
	pause, _ := decodedAt[records.Pause](context.Background(), w.store, records.PauseKey)
	return pause.Number
}

// refusesWhilePaused requires that a change is refused if the store is paused before and after it.
func (w *World) refusesWhilePaused() {
	before := w.pauseInStore()
	change := api.ConfigRequest{Set: map[string]string{"X": w.people.fresh()}}
	if w.askNow(api.Ref{Kind: "config", Scope: scope}, input{verb: "config"}, w.setting("", change)) && before > 0 &&
		before == w.pauseInStore() {
		w.fail("config was set, although the cluster is paused and not resumed")
	}
}

// pauseOfSeveral pauses a world of several servers now and then.
func (w *World) pauseOfSeveral(step int) {
	random := rand.New(rand.NewPCG(w.opts.Seed, 16<<32+uint64(step)))
	if len(w.standbys()) > 0 && random.IntN(30) == 0 {
		w.pauses(random.IntN(w.servers()))
	}
}
