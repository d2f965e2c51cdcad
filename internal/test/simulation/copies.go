package simulation

import (
	"context"
	"math/rand/v2"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
)

// backup is a copy of the store, with the world's records at that time.
type backup struct {
	store    *memory.Store
	archive  *archive
	at       time.Time
	revision int64
}

// oldEnough is the age from which the server recognizes a copy of the store as old: it stores its progress every five
// seconds.
const oldEnough = 10 * time.Second

// backUp copies the store.
func backUp(w *World, _ *rand.Rand) {
	if _, err := w.store.Get(context.Background(), records.ClusterKey); err != nil {
		return // there is no cluster yet
	}
	for _, m := range w.agents { // skip a copy that lacks a machine: it wouldn't wait for that machine's containers
		if _, err := w.store.Get(context.Background(), records.NodeKey(m.node)); err != nil {
			return
		}
	}
	if w.copied != nil {
		_ = w.copied.store.Close()
	}
	w.committing.Lock()
	defer w.committing.Unlock()
	w.storyf("a copy of the store is made")
	w.copied = &backup{store: w.store.Clone(), archive: w.archive.clone(), at: time.Now(), revision: w.revision()}
}

// leasesEnd is more writes than there are leases: the leases of a copy expire in it, which raises its revision by that
// many.
const leasesEnd = 10

// resumeTime is more than all faults last.
const resumeTime = 3 * time.Hour

// restore replaces the store by the copy. The server must detect that and pause until a person resumes it. As with
// every restore, operations since the copy are undone.
func restore(w *World, random *rand.Rand) {
	if w.copied == nil || !w.serversHealthy() || time.Since(w.copied.at) < oldEnough || w.away.Load() ||
		!w.weather.calm() || !w.strain.calm() {
		return
	}
	older := false
	if chance(random, 2) { // and everything has changed since the copy was made
		older = w.revision() > w.copied.revision+leasesEnd
		replaceSomething(w, random)
		w.pass(20 * time.Second)
		if w.away.Load() || !w.weather.calm() || !w.strain.calm() {
			return
		}
	}
	w.count.faults.Add(1)
	w.storyf("the server is stopped, and an older copy of the store restored")
	w.unmounted.Store(true) // answers meanwhile concern a store that is lost
	w.crashIn.Store(0)
	w.stop()
	for _, b := range w.standbys() {
		b.stop(false)
	}
	w.paused.Store(false) // of an earlier restore
	w.people.wait.Wait()
	_ = w.store.Close()
	w.store = w.copied.store.Clone()
	w.archive.restore(w.copied.archive)
	w.watched.restored()
	w.labs.restored()
	w.people.history.restored()
	w.people.promises.forget()
	w.unmounted.Store(false)
	w.start()
	for _, b := range w.standbys() {
		b.start()
	}
	if older {
		w.standsStill()
	}
	w.resume()
}

// serversHealthy reports whether nothing is wrong with any of the servers.
func (w *World) serversHealthy() bool {
	well := !w.off.Load() && w.reach.well()
	for _, b := range w.standbys() {
		well = well && !b.off.Load() && b.reach.well()
	}
	return well && (!w.shared() || len(w.standbys()) > 0)
}

// standsStill: a server that finds an older store refuses every verb until it is resumed.
func (w *World) standsStill() {
	w.pass(time.Second)
	for range w.servers() { // people ask each in turn
		w.refusesChanges()
	}
}

func (w *World) refusesChanges() {
	change := api.ConfigRequest{Set: map[string]string{"X": w.people.fresh()}}
	if w.askNow(api.Ref{Kind: "config", Scope: scope}, input{verb: "config"}, w.setting("", change)) {
		w.fail("config was set, although an older store was put back and not resumed")
	}
}

// restoreNamesake restores a copy in which another object had the name of one that exists now. Their releases have the
// same numbers.
func restoreNamesake(w *World, random *rand.Rand) {
	ref := anySlotted(random)
	again := func() {
		object := manifest(random, ref, true)
		w.people.wait.Go(func() {
			w.askNow(ref, input{verb: "delete"}, w.deleting(ref))
			w.applyAtLast(object)
		})
		w.pass(oldEnough + span(random, 20*time.Second))
	}
	again()
	backUp(w, random)
	again()
	restore(w, random)
}

// resume requests a resume until the server is no longer paused. If the store was replaced meanwhile, the request was
// for the former one.
func (w *World) resume() {
	w.paused.Store(true)
	w.people.wait.Go(func() {
		for end := time.Now().Add(resumeTime); w.paused.Load(); w.resumeNow() {
			if sleepFor(time.Second); time.Now().After(end) {
				w.fail("tend resume isn't done in %s", resumeTime)
				return
			}
		}
	})
}

func (w *World) resumeNow() {
	if w.unmounted.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), short)
	defer cancel()
	w.labs.resumed() // the clock may be set during the request, and the answer be lost
	defer w.labs.resumed()
	if result, err := w.client.Resume(ctx, api.UnknownStop); err == nil && !w.unmounted.Load() {
		w.storyf("resumed: %d adopted, %d stopped", len(result.Adopted), len(result.Stopped))
		w.paused.Store(false)
	}
}
