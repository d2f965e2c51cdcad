package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/liveness"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// Bounds in virtual time once all faults have ended: for the world to come to rest, and to roll out the corrections of
// people.
const (
	restTime    = 15 * time.Minute
	correctTime = 15 * time.Minute
)

// converge ends all faults and requires that the world reaches the declared state, and then does nothing.
func (w *World) converge() {
	w.storyf("-- all faults end")
	w.calmDown()
	if w.failed() {
		return
	}
	w.suspend()
	w.await(restTime, func() []string { return append(w.unsettled(), w.heldBack()...) })
	w.labsEnd()
	w.correct()
	w.await(correctTime, w.amiss)
	if left := w.amiss(); len(left) > 0 {
		w.fail("after %s without faults, the world isn't as declared: %s", correctTime, strings.Join(left, "; "))
		return
	}
	w.stops()
	w.deploy()
	w.returns()
	w.labLives()
	w.rests()
}

// backTime is the time that an agent has, after its cable is repaired, to connect (up to 7.5 s after the last attempt)
// and to stop the containers whose stop was requested meanwhile.
const backTime = 20 * time.Second

func (w *World) calmDown() {
	w.crashIn.Store(0)
	w.weather.clear()
	w.strain.clear()
	for _, m := range w.agents {
		m.off.Store(false)
	}
	w.healServers()
	w.pass(45 * time.Second) // a verb may still wait
	w.people.wait.Wait()
	w.weather.late.Wait()
	if w.skew.Load() != 0 {
		w.setClock(0)
	}
	w.restock()
	w.pass(backTime)
	w.decideNodes()
	w.people.promises.kept(w)
	w.ticks()
	w.readAll()
}

// suspend pauses cron jobs, so that the world can come to rest, starts frozen pods, and sets a key in every bucket, so
// that no environment stays pinned by a rollback.
func (w *World) suspend() {
	w.calm()
	for _, object := range w.declaredObjects() {
		switch {
		case object.Metadata.Deleting():
		case object.Kind == api.KindCronJob:
			var spec api.CronJobSpec
			decode(object.Spec, &spec)
			spec.Schedule = never
			w.insist(objectOf(object.Ref(), spec))
		case object.Kind.HasSlots():
			w.startAgain(object.Ref())
		}
	}
	w.people.wait.Wait()
}

// calm sets a key that all workloads have.
func (w *World) calm() {
	w.ask(api.Ref{Kind: "config", Scope: scope}, input{verb: "config"},
		w.setting("", api.ConfigRequest{Set: map[string]string{"CALM": w.people.fresh()}}))
}

// never is a schedule that isn't due during a run.
const never = "0 0 29 2 *"

// insist applies an object, and retries until it is applied.
func (w *World) insist(object api.Object) {
	for range 20 {
		if w.askNow(object.Ref(), applied(object), w.applying(object)) {
			return
		}
		w.pass(2 * time.Second)
	}
	w.fail("%s can't be applied although nothing is wrong", object.Ref())
}

// await lets time pass until left returns nothing twice in a row.
func (w *World) await(limit time.Duration, left func() []string) {
	clean := 0
	for end := time.Now().Add(limit); time.Now().Before(end) && !w.failed(); {
		w.pass(2 * time.Second)
		if clean++; len(left()) > 0 {
			clean = 0
		}
		if clean == 2 {
			return
		}
	}
}

// unsettled returns the objects that are neither in the declared state nor reported as failed. A run continues whatever
// the previous one's outcome is.
func (w *World) unsettled() []string {
	var out []string
	for _, object := range w.declaredObjects() {
		if !object.Kind.HasContainers() || boxed(object) || pinned(object) {
			continue
		}
		verdict, slots := w.verdict(object.Ref()), object.Kind.HasSlots()
		if verdict == silent && slots || (verdict != troubled || !slots) && len(w.differs(object)) > 0 {
			out = append(out, object.Ref().String())
		}
	}
	return out
}

// heldBack returns the nodes that get no pods yet, because they were lost repeatedly: a rollout there may miss its
// deadline.
func (w *World) heldBack() []string {
	page, err := w.store.List(context.Background(), records.LossesPrefix, store.ListOptions{})
	if err != nil {
		w.fail("read the store: %v", err)
	}
	var out []string
	for _, entry := range page.Entries {
		var losses api.NodeLosses
		if decode(entry.Value, &losses); liveness.Damped(losses) {
			out = append(out, entry.Key)
		}
	}
	return out
}

// correct applies a sound manifest for each object that Tend reports as failed. All others must be in the declared
// state.
func (w *World) correct() {
	random := rand.New(rand.NewPCG(w.opts.Seed, 3<<32))
	for _, object := range w.declaredObjects() {
		if !object.Kind.HasContainers() || boxed(object) || w.failed() {
			continue
		}
		faults := strings.Join(w.differs(object), "; ")
		switch verdict := w.verdict(object.Ref()); {
		case verdict == troubled || pinned(object):
			w.insist(w.sound(random, object))
		case verdict == well && faults != "":
			w.fail("%s is said to be well, but: %s", object.Ref(), faults)
		case verdict == well || !object.Kind.HasSlots() && faults == "":
		default:
			w.fail("%s is neither as declared nor said to be in trouble: %s", object.Ref(), faults)
		}
	}
}

// pinned reports whether a rollback chose the image, environment and files of an object, until its next manifest.
func pinned(object api.Object) bool { return object.Metadata.Stamps[api.StampRollback] != "" }

// amiss returns the differences from the declared state, and the objects that aren't reported as ready.
func (w *World) amiss() []string {
	out := slices.Concat(w.differences(), w.remaining(), w.closedPorts())
	for _, object := range w.declaredObjects() {
		if object.Kind.HasSlots() && w.verdict(object.Ref()) != well {
			out = append(out, fmt.Sprintf("%s isn't said to be well, but: %s", object.Ref(), w.statusOf(object.Ref()).Status))
		}
	}
	return out
}

// sound is a manifest of an object that can be rolled out, and that it didn't have before.
func (w *World) sound(random *rand.Rand, object api.Object) api.Object {
	next := manifest(random, object.Ref(), true)
	fields := map[string]any{}
	decode(next.Spec, &fields)
	fields["env"] = map[string]string{"CORRECTED": w.people.fresh()}
	for _, field := range []string{"volumes", "secret_files", "ports"} {
		// the asset may be deleted, a key unset, a port occupied
		delete(fields, field)
	}
	if object.Kind == api.KindCronJob {
		fields["schedule"] = never
	}
	return objectOf(object.Ref(), fields)
}

// verdict is Tend's statement about an object.
type verdict int

const (
	silent verdict = iota
	well
	troubled
)

func (w *World) verdict(ref api.Ref) verdict {
	said, current := w.said(ref)
	ready, degraded := api.FindCondition(said, api.ConditionReady), api.FindCondition(said, api.ConditionDegraded)
	switch {
	case degraded != nil && degraded.Status == api.ConditionTrue:
		return troubled
	case ready != nil && ready.Status == api.ConditionTrue && current:
		return well
	}
	return silent
}

// said returns an object's conditions, and whether they are about its newest manifest.
func (w *World) said(ref api.Ref) (conditions []api.Condition, current bool) {
	object := w.statusOf(ref)
	var status struct {
		ObservedRevision int64           `json:"observedRevision"`
		Conditions       []api.Condition `json:"conditions"`
	}
	decode(object.Status, &status)
	return status.Conditions, status.ObservedRevision >= object.Metadata.Revision
}

// statusOf returns an object as Tend shows it, or the zero value.
func (w *World) statusOf(ref api.Ref) api.Object {
	ctx, cancel := context.WithTimeout(context.Background(), short)
	defer cancel()
	object, _ := w.client.Object(ctx, ref)
	return object
}

// declaredObjects are the objects as they lie in the store.
func (w *World) declaredObjects() []api.Object {
	page, err := w.store.List(context.Background(), records.DesiredPrefix, store.ListOptions{})
	if err != nil {
		w.fail("read the store: %v", err)
		return nil
	}
	out := make([]api.Object, len(page.Entries))
	for i, entry := range page.Entries {
		decode(entry.Value, &out[i])
	}
	return out
}

// readAll reads the declared state of every object into the history.
func (w *World) readAll() {
	found := map[api.Ref]declared{}
	for _, object := range w.declaredObjects() {
		spec, replicas := digestSpec(object)
		found[object.Ref()] = declared{there: true, deleting: object.Metadata.Deleting(), spec: spec, replicas: replicas}
	}
	for _, ref := range w.allRefs() {
		w.people.history.read(ref, found[ref])
	}
}
