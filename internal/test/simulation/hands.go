package simulation

import (
	"math/rand/v2"

	"tend.dev/tend/internal/node/runtime"
)

// Actions of people and machines on containers, without Tend.

// pick chooses a container; ok is false if there is none.
func (w *World) pick(random *rand.Rand) (runtime.Container, bool) {
	all := w.engine.Containers()
	if len(all) == 0 {
		return runtime.Container{}, false
	}
	return anyOf(random, all), true
}

// hand returns the action that does something to one random container.
func hand(name string, do func(w *World, container string, random *rand.Rand) error) func(w *World, random *rand.Rand) {
	return func(w *World, random *rand.Rand) {
		container, ok := w.pick(random)
		if !ok || w.away.Load() {
			return
		}
		w.count.hands.Add(1)
		w.storyf("a hand: %s %s", name, container.Name)
		_ = do(w, container.Name, random) // an action that is impossible on the container has no effect
	}
}

var (
	killByHand = hand("kill", func(w *World, c string, _ *rand.Rand) error { return w.engine.Kill(c, "KILL") })
	rmByHand   = hand("rm -f", func(w *World, c string, _ *rand.Rand) error { return w.engine.RemoveByHand(c) })
	stopByHand = hand("stop", func(w *World, c string, _ *rand.Rand) error { return w.engine.StopByHand(c) })
	crash      = hand("exit", func(w *World, c string,
		random *rand.Rand) error {
		return w.engine.Exit(c, random.IntN(3))
	})
	detach   = hand("network disconnect", func(w *World, c string, _ *rand.Rand) error { return w.engine.Detach(c) })
	outOfMem = hand("out of memory", func(w *World, c string, _ *rand.Rand) error { return w.engine.OOM(c) })
)

// loseImage removes an image from the machine, as a person who frees disk space does. It is restored when the faults
// end.
func loseImage(w *World, random *rand.Rand) {
	name := anyOf(random, []string{"web", "api", "db", "task"}) + ":" + anyOf(random, versions)
	w.count.hands.Add(1)
	w.storyf("a hand: rmi %s", name)
	w.engine.RemoveImage(name)
}

// retag moves the tag of an image to a new build.
func retag(w *World, random *rand.Rand) {
	name := anyOf(random, []string{"web", "api", "db"}) + ":" + anyOf(random, versions)
	w.count.hands.Add(1)
	w.storyf("a hand: retag %s", name)
	w.knowImage(w.engine.Retag(name), name)
}
