package simulation

import (
	"math/rand/v2"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// deploy rolls out a broken release onto a working deployment: the damage must be limited to one step of the rollout.
// It may cost no serving pod if pods start before others stop, else as many as are replaced at once. Then the release
// is corrected.
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
		unsound, step := w.unsound(random, object, len(serving))
		w.watched.guard(serving, step)
		w.insist(unsound)
		for range 36 {
			w.pass(5 * time.Second)
			if step == 0 {
				w.requests(len(serving) + 1)
			}
		}
		w.watched.guard(nil, 0)
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

// unsound returns a manifest of a release that never becomes good, and the number of serving pods that it may cost.
func (w *World) unsound(random *rand.Rand, object api.Object, replicas int) (unsound api.Object, step int) {
	tag := anyOf(random, []string{tagCrash, tagUnready, tagDies, tagDies, tagBad})
	spec := api.DeploymentSpec{
		Container: api.Container{Image: object.Name + ":" + tag}, Replicas: &replicas,
		Strategy: &api.Strategy{Order: anyOf(random, []string{api.OrderStartFirst, api.OrderStopFirst}),
			Deadline: "30s", Drain: "0s",
			MaxParallel: 1 + random.IntN(2), OnFailure: anyOf(random, []string{"", api.OnFailurePause, api.OnFailureRollback})},
	}
	if tag == tagUnready || chance(random, 2) {
		spec.Probes = &api.Probes{Readiness: readiness()}
	}
	if spec.Strategy.Order == api.OrderStopFirst {
		step = spec.Strategy.MaxParallel
	}
	return objectOf(object.Ref(), spec), step
}
