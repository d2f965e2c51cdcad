//go:build simulate

package simulation

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/simulation/cluster"
)

// oracle judges each stored change of the cluster. It reads nothing that the operator knows.
type oracle struct {
	w *World

	// died is when an operator was killed last, in nanoseconds.
	died atomic.Int64

	mu     sync.Mutex
	writes int
	// last is the time and the object of the last change that counts at rest.
	last     time.Time
	lastWhat string
	// operations holds what happened to the objects of operations, by the operation's UID.
	operations map[types.UID]*deeds
	// paused is since when an instance is paused, by namespace and name.
	paused map[string]time.Time
	// transitions counts those of conditions, by what their Events must say.
	transitions map[transition]int
	// at holds when each of them happened last.
	at map[transition]time.Time
	// takeOvers holds when instances last let the operator take fields over, by namespace and name.
	takeOvers map[string]time.Time
	// guarded are the operations that need an approval, names all by namespace and name.
	guarded map[types.UID]bool
	names   map[types.UID]string
}

// deeds counts what happened to the objects of an operation.
type deeds struct {
	// created counts its Jobs, lost those that others than the operator deleted. live is the Job that exists.
	created, lost int
	live          string
	// ran: a pod of it existed. completed and failed: its Job ended so.
	ran, completed, failed bool
}

// transition identifies the Event of a transition: its object, its reason, and how its note begins.
type transition struct {
	uid           types.UID
	reason, begin string
}

func newOracle(w *World) *oracle {
	return &oracle{
		w: w, operations: map[types.UID]*deeds{}, paused: map[string]time.Time{}, transitions: map[transition]int{},
		at:   map[transition]time.Time{},
		last: time.Now(), takeOvers: map[string]time.Time{}, guarded: map[types.UID]bool{},
		names: map[types.UID]string{},
	}
}

// happened judges a change. The cluster is locked meanwhile.
func (o *oracle) happened(c cluster.Change) {
	o.mu.Lock()
	defer o.mu.Unlock()
	either := c.After
	if either == nil {
		either = c.Before
	}
	kind := either.GroupVersionKind()
	o.writes++
	if kind != cluster.Registration { // its status has the time of the last contact
		o.last, o.lastWhat = time.Now(), c.By+" "+kind.Kind+" "+either.GetNamespace()+"/"+either.GetName()
	}
	o.tell(c, either)
	switch kind {
	case cluster.Job, cluster.Workflow, cluster.Backup, cluster.Restore, cluster.ReplicationSource,
		cluster.ReplicationDestination, cluster.VolumeSnapshot:
		o.job(c, either)
	case cluster.Pod:
		o.of(either).ran = true
	case cluster.Instance:
		o.instance(c)
	case cluster.Operation:
		o.operation(c)
	case cluster.HelmRelease, cluster.OCIRepository:
		o.child(c, either)
	}
}

// tell adds a change to the story.
func (o *oracle) tell(c cluster.Change, either *unstructured.Unstructured) {
	word := "writes"
	switch {
	case c.Before == nil:
		word = "creates"
	case c.After == nil:
		word = "removes"
	}
	what := ""
	if either.GetKind() != "Event" {
		for _, condition := range conditionsOf(either) {
			if condition.status == "True" || condition.kind == "Ready" {
				what += " " + condition.kind + "=" + condition.status + "/" + condition.reason
			}
		}
	}
	o.w.storyf("    %s %s %s %s/%s%s", c.By, word, either.GetKind(), either.GetNamespace(), either.GetName(), what)
}

// of returns the deeds of the operation that an object belongs to.
func (o *oracle) of(object *unstructured.Unstructured) *deeds {
	uid := types.UID(object.GetLabels()[identity.LabelOperation])
	if o.operations[uid] == nil {
		o.operations[uid] = &deeds{}
	}
	return o.operations[uid]
}

// job: an operation has one object, such as a Job or a Backup, which is made once.
func (o *oracle) job(c cluster.Change, either *unstructured.Unstructured) {
	d := o.of(either)
	switch {
	case c.After == nil:
		d.live = ""
		if c.By != "operator" {
			d.lost++
		}
	case c.Before == nil:
		if d.live != "" {
			o.w.fail("%s %s of an operation is made while %s exists", either.GetKind(), either.GetName(), d.live)
		}
		if d.created > d.lost {
			o.w.fail("%s %s of an operation is made for the %d. time", either.GetKind(), either.GetName(), d.created+1)
		}
		d.created++
		d.live = either.GetName()
		if uid := types.UID(either.GetLabels()[identity.LabelOperation]); o.guarded[uid] {
			o.started(o.names[uid])
		}
	}
	d.copied(either)
	for _, condition := range conditionsOf(either) {
		d.completed = d.completed || condition.kind == "Complete"
		d.failed = d.failed || condition.kind == "Failed"
	}
	if either.GetKind() == "Workflow" {
		phase := text(either, "status", "phase")
		d.ran, d.completed = d.ran || phase != "", d.completed || phase == "Succeeded"
		d.failed = d.failed || phase == "Failed"
	}
}

// instance: Ready is said of nothing that Helm never had.
func (o *oracle) instance(c cluster.Change) {
	o.takenOver(c)
	if c.After == nil {
		delete(o.paused, c.Before.GetNamespace()+"/"+c.Before.GetName())
		return
	}
	live := c.After
	at := live.GetNamespace() + "/" + live.GetName()
	disabled := live.GetAnnotations()[identity.AnnotationReconcile] == identity.ReconcileDisabled
	if !disabled || live.GetDeletionTimestamp() != nil {
		delete(o.paused, at)
	} else if _, is := o.paused[at]; !is {
		o.paused[at] = time.Now()
	}
	stamp := number(live, "spec", "values", "inline", "stamp")
	if stamp == forged {
		o.w.fail("%s has what no one signed", at)
	}
	o.events(c, func(condition condition) (transition, bool) {
		counts := condition.status != "False" || condition.kind == "Ready" || condition.again
		return transition{live.GetUID(), condition.reason, condition.kind + " is " + condition.status}, counts
	})
	for _, condition := range conditionsOf(live) {
		if condition.kind == "Ready" && condition.status == "True" && condition.generation == live.GetGeneration() {
			said := chart{text(live, "status", "lastAppliedChart", "version"), stamp}
			if !o.w.flux.ever(said) {
				o.w.fail("%s is said to be ready with %s and stamp %d, which Helm never deployed", at, said.version, said.stamp)
			}
		}
	}
}

// operation: what ended stays ended, and no condition claims what didn't happen.
func (o *oracle) operation(c cluster.Change) {
	if c.After == nil {
		return
	}
	live := c.After
	at := live.GetNamespace() + "/" + live.GetName()
	o.names[live.GetUID()] = at
	if text(live, "spec", "approvals", "required") == "true" || text(live, "spec", "type") == "Restore" {
		o.guarded[live.GetUID()] = true
	}
	was, is := text(c.Before, "status", "phase"), text(live, "status", "phase")
	if (was == "Succeeded" || was == "Failed" || was == "Cancelled") && is != was {
		o.w.fail("operation %s is %s after it was %s", at, is, was)
	}
	o.events(c, func(condition condition) (transition, bool) {
		reason := "OperationNot" + condition.kind
		if condition.status == "True" {
			reason = "Operation" + condition.kind
		}
		return transition{live.GetUID(), reason, condition.reason}, true
	})
	if text(live, "spec", "engine") == "helm" {
		return
	}
	d := o.operations[live.GetUID()]
	if d == nil {
		d = &deeds{}
	}
	for _, condition := range conditionsOf(live) {
		switch {
		case condition.status != "True":
		case condition.kind == "Running" && !d.ran:
			o.w.fail("operation %s is said to run, and nothing of it did", at)
		case condition.kind == "Succeeded" && !d.completed:
			o.w.fail("operation %s is said to have succeeded, and its object has not", at)
		case condition.kind == "Failed" && d.completed && d.lost == 0:
			o.w.fail("operation %s is said to have failed (%s), and its object has completed", at, condition.reason)
		case condition.kind == "Failed" && !d.failed && d.lost == 0 && !elsewhere[condition.reason]:
			o.w.fail("operation %s is said to have failed (%s), and its object has not", at, condition.reason)
		case condition.kind == "Cancelled" && live.GetDeletionTimestamp() == nil && !isCancelled(live):
			o.w.fail("operation %s is said to be cancelled, and no one did that", at)
		}
	}
}

// child: while an instance is paused, the operator leaves its children alone.
func (o *oracle) child(c cluster.Change, either *unstructured.Unstructured) {
	if !byOperator(c) {
		return
	}
	o.deleted(c)
	if either.GetKind() == "HelmRelease" {
		o.overwritten(c)
		if c.After != nil {
			o.dependency(c.After)
		}
	}
	for _, owner := range either.GetOwnerReferences() {
		since, is := o.paused[either.GetNamespace()+"/"+owner.Name]
		if is && time.Since(since) > 2*maxLate {
			o.w.fail("%s %s/%s is written while its instance is paused", either.GetKind(), either.GetNamespace(),
				either.GetName())
		}
	}
}

// events counts the transitions of a change, each of which must have an Event.
func (o *oracle) events(c cluster.Change, of func(condition) (transition, bool)) {
	before := map[string]condition{}
	if c.Before != nil {
		for _, condition := range conditionsOf(c.Before) {
			before[condition.kind] = condition
		}
	}
	for _, next := range conditionsOf(c.After) {
		was, known := before[next.kind]
		if known && was.status == next.status && was.reason == next.reason {
			continue
		}
		next.again = known
		if is, counts := of(next); counts {
			o.transitions[is]++
			o.at[is] = time.Now()
		}
	}
}
