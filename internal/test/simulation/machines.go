package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// Faults of machines, and people's decisions about nodes, in worlds with several machines.

// powerCut cuts the power of a machine: its agent and its containers end at once.
func (w *World) powerCut(m *machine, d time.Duration) {
	if !w.several() || w.away.Load() {
		return
	}
	w.faultf("for %s, %s has no power", d, m.node)
	m.off.Store(true)
	m.stop(true)
	for _, c := range w.engine.Containers() {
		if c.Labels[api.LabelNode] == m.node {
			_ = w.engine.StopByHand(c.ID) // an ended one stays ended
		}
	}
	w.lasting(d, func() { m.off.Store(false) })
}

// make sets the availability of a node.
func (w *World) make(node, availability string) {
	if !w.several() {
		return
	}
	w.people.wait.Go(func() { w.makeNow(node, availability) })
}

func (w *World) makeNow(node, availability string) bool {
	if w.unmounted.Load() {
		return false
	}
	w.count.verbs.Add(1)
	ctx, cancel := context.WithTimeout(context.Background(), short)
	defer cancel()
	_, err := w.client.SetAvailability(ctx, node, availability, false)
	w.storyf("%s is to be %s: %s%s", node, availability, answerOf(err), because(err))
	return err == nil
}

// decideNodes resets people's decisions about nodes: at most one of them is drained, and the others accept pods.
func (w *World) decideNodes() {
	random := rand.New(rand.NewPCG(w.opts.Seed, 10<<32))
	w.drained = anyOf(random, []string{"", "n2", "n3"})
	for _, m := range w.agents {
		availability := api.NodeActive
		if m.node == w.drained {
			availability = api.NodeDrained
		}
		for tries := 0; !w.makeNow(m.node, availability); tries++ {
			if tries == 20 {
				w.fail("%s can't be made %s although nothing is wrong", m.node, availability)
				return
			}
			w.pass(2 * time.Second)
		}
	}
}

// remaining returns the pods of deployments on a drained node. Nothing keeps data in these worlds.
func (w *World) remaining() []string {
	var out []string
	for _, c := range w.ours() {
		slotted := api.Kind(c.Labels[api.LabelKind]).HasSlots() && c.Labels[api.LabelRole] == ""
		if w.drained != "" && c.Labels[api.LabelNode] == w.drained && slotted && c.State == runtime.StateRunning {
			out = append(out, fmt.Sprintf("%s runs on %s, which is drained", c.Name, w.drained))
		}
	}
	slices.Sort(out)
	return out
}
