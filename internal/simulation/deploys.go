package simulation

import (
	"math/rand/v2"
	"strings"
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
		w.storyf("-- %s gets a release that doesn't work", object.Ref())
		w.watched.guard(serving)
		w.insist(w.unsound(random, object, len(serving)))
		w.pass(3 * time.Minute)
		w.watched.guard(nil)
		if w.verdict(object.Ref()) == well {
			w.fail("%s is said to be well, although its newest release can't be", object.Ref())
		}
		w.insist(w.sound(random, object))
		w.await(correctTime, w.amiss)
		return
	}
}

// moves builds the images that run anew under their tags: that has to be noticed.
func (w *World) moves() {
	for _, object := range w.declaredObjects() {
		var spec api.DeploymentSpec
		decode(object.Spec, &spec)
		if object.Kind.HasSlots() && !object.Metadata.Deleting() && spec.ReplicaCount() > 0 {
			w.storyf("-- %s moves", spec.Image)
			w.knowImage(w.engine.Retag(spec.Image), spec.Image)
			break
		}
	}
	w.await(correctTime, w.amiss)
	if left := w.amiss(); len(left) > 0 {
		w.fail("%s after an image moved, the world isn't as declared: %s", correctTime, strings.Join(left, "; "))
	}
}

// servingOf are the containers of an object that run.
func (w *World) servingOf(ref api.Ref) map[string]bool {
	out := map[string]bool{}
	for _, c := range w.ours() {
		if ownerOf(c) == ref && c.State == runtime.StateRunning {
			out[c.ID] = true
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
