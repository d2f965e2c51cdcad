package simulation

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// labMishap causes an action or a fault around labs, after some steps of a world that has them.
func (w *World) labMishap(step int) {
	if !w.labWorld() {
		return
	}
	random := rand.New(rand.NewPCG(w.opts.Seed, 13<<32+uint64(step)))
	ref := anyOf(random, labCast)
	object, what := w.labManifest(random, ref), random.IntN(40)
	if there := w.labs.unended(); what >= 12 && len(there) > 0 {
		ref = anyOf(random, there)
	}
	switch what {
	case 0, 1, 2, 3, 4:
		w.apply(object)
	case 5:
		w.remove(ref)
	case 6, 7, 8:
		w.people.wait.Go(func() {
			if w.askNow(ref, input{verb: "delete"}, w.deleting(ref)) {
				w.applyAtLast(object)
			}
		})
	case 12, 13, 14, 15:
		w.atInstant(ref, random)
	case 16, 17:
		w.awayAcrossInstant(random)
	case 18:
		w.handOnLab(ref, random)
	case 19, 20:
		w.extend(ref, time.Duration(1+random.IntN(60))*time.Second)
	case 21:
		w.stopLab(ref)
	}
}

func (w *World) extend(ref api.Ref, more time.Duration) {
	w.ask(ref, input{verb: "extend"}, func(ctx context.Context) error { return w.extending(ctx, ref, more) })
}

func (w *World) extending(ctx context.Context, ref api.Ref, more time.Duration) error {
	_, err := w.client.ExtendLabs(ctx, client.TargetOf(ref), more)
	return err
}

func (w *World) stopLab(ref api.Ref) {
	w.ask(ref, input{verb: "stop"}, func(ctx context.Context) error {
		_, err := w.client.StopLabs(ctx, client.TargetOf(ref))
		return err
	})
}

// atInstant has people do something at the very instant at which a lab begins or ends.
func (w *World) atInstant(ref api.Ref, random *rand.Rand) {
	in, due := w.labs.next(ref)
	what, more := random.IntN(4), time.Duration(1+random.IntN(30))*time.Second
	if !due {
		return
	}
	w.people.wait.Go(func() {
		sleepFor(in)
		switch what {
		case 0:
			w.extend(ref, more)
		case 1:
			w.stopLab(ref)
		case 2:
			w.remove(ref)
		case 3:
			_ = w.engine.Exit(w.labs.containerOf(ref), 0) // one that doesn't run has nothing to end
		}
	})
}

// awayAcrossInstant keeps all servers down while some lab begins or ends.
func (w *World) awayAcrossInstant(random *rand.Rand) {
	refs := slices.DeleteFunc(slices.Clone(labCast), func(ref api.Ref) bool { _, due := w.labs.next(ref); return !due })
	before, after := span(random, 5*time.Second), span(random, 10*time.Second)
	if len(refs) == 0 {
		return
	}
	ref := anyOf(random, refs)
	in, _ := w.labs.next(ref)
	w.pass(max(in-before, 0))
	w.faultf("all servers are killed before the instant of %s, and off for %s", ref, before+after)
	w.serversAway(before + after)
}

// handOnLab acts on the container of a lab without Tend.
func (w *World) handOnLab(ref api.Ref, random *rand.Rand) {
	container := w.labs.containerOf(ref)
	if container == "" || w.away.Load() {
		return
	}
	w.count.hands.Add(1)
	w.storyf("a hand: on the container of %s", ref)
	what := anyOf(random, []func(string) error{
		w.engine.StopByHand, w.engine.RemoveByHand, w.engine.OOM, func(c string) error { return w.engine.Kill(c, "KILL") },
	})
	_ = what(container) // an action that is impossible on the container has no effect
}

// farOff is a time further away than people wait for.
const farOff = 90 * time.Second

// next returns the time until the lab with a name begins or ends next; due is false if that isn't soon.
func (l *labs) next(ref api.Ref) (in time.Duration, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, life := range l.present() {
		if life.ref != ref || len(life.declared) == 0 {
			continue
		}
		if in = life.declared[len(life.declared)-1].spec.StartsAt().Sub(l.w.now()); !life.started.IsZero() {
			in = time.Until(life.started.Add(life.whole()))
		}
		if in > 0 && in < farOff && life.ended.IsZero() {
			return in, true
		}
	}
	return 0, false
}

// containerOf returns the engine's id of a lab's running container, or "".
func (l *labs) containerOf(ref api.Ref) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, life := range l.present() {
		if life.ref == ref && !life.started.IsZero() && life.ended.IsZero() {
			return life.container
		}
	}
	return ""
}

// present are the lives of the labs there are, in the order of their keys.
func (l *labs) present() (out []*labLife) {
	for _, key := range slices.Sorted(maps.Keys(l.uids)) {
		out = append(out, l.lives[l.uids[key]])
	}
	return out
}
