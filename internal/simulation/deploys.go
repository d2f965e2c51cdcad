package simulation

import (
	"math/rand/v2"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/runtime"
)

// deploy rolls out what can't work onto a deployment that does, with pods that start before others stop: none of those that
// serve may go. Then it is corrected.
func (w *World) deploy() {
	random := rand.New(rand.NewPCG(w.opts.Seed, 4<<32))
	for _, object := range w.declaredObjects() {
		if object.Kind != api.KindDeployment || object.Metadata.Deleting() || w.failed() {
			continue
		}
		serving := w.servingOf(object.Ref())
		if len(serving) == 0 {
			continue
		}
		if slices.Contains(served, object.Name) {
			w.insist(ingressManifest(object.Name))
		}
		w.storyf("-- %s gets a release that doesn't work", object.Ref())
		w.watched.guard(serving)
		w.insist(w.unsound(random, object, len(serving)))
		for range 36 {
			w.pass(5 * time.Second)
			w.requests(len(serving) + 1)
		}
		w.watched.guard(nil)
		if w.verdict(object.Ref()) == well {
			w.fail("%s is said to be well, although its newest release can't be", object.Ref())
		}
		w.insist(w.sound(random, object))
		w.await(correctTime, w.amiss)
		return
	}
}

// servingOf are the containers of an object that run, with their names by id.
func (w *World) servingOf(ref api.Ref) map[string]string {
	out := map[string]string{}
	for _, c := range w.ours() {
		if ownerOf(c) == ref && c.State == runtime.StateRunning {
			out[c.ID] = c.Name
		}
	}
	return out
}

// unsound is a manifest of a release that never gets ready.
func (w *World) unsound(random *rand.Rand, object api.Object, replicas int) api.Object {
	spec := api.DeploymentSpec{
		Container: api.Container{Image: object.Name + ":" + anyOf(random, []string{tagCrash, tagUnready, tagBad})}, Replicas: &replicas,
		Probes: &api.Probes{Readiness: readiness()},
		Strategy: &api.Strategy{Order: api.OrderStartFirst, Deadline: "30s", Drain: "0s", MaxParallel: 1 + random.IntN(2),
			OnFailure: anyOf(random, []string{"", api.OnFailureRollback})},
	}
	return objectOf(object.Ref(), spec)
}
