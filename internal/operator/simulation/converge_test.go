//go:build simulate

package simulation

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"tend.dev/tend/api"
	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/simulation/cluster"
)

// A world without faults must come to rest within settles, and then write nothing for rests.
const (
	settles = 8 * time.Hour
	rests   = 70 * time.Minute
)

// check judges what Tend says while faults last.
func (w *World) check() {
	for _, object := range w.plane.objects(api.KindApplicationInstance) {
		status := w.plane.status(object.Ref())
		if status == nil || status.ObservedGeneration != object.Metadata.Generation {
			continue
		}
		ready := api.FindCondition(status.Conditions, api.ConditionReady)
		stamp := specOf(w, object).Values.Inline.Stamp
		if ready != nil && ready.Status == api.ConditionTrue && !w.flux.stamped(stamp) {
			w.fail("Tend says that %s is ready with stamp %d, which Helm never deployed", object.Ref(), stamp)
		}
	}
}

// converge ends the faults, waits for rest, and compares the cluster with what people declared.
func (w *World) converge() {
	w.storyf("the faults end")
	w.weather.clear()
	w.plane.mend()
	startStorage(w, nil)
	createNamespaces(w, nil)
	for _, live := range w.cluster.List(cluster.Instance) {
		if live.GetAnnotations()[identity.AnnotationReconcile] != "" {
			w.annotate(cluster.Instance, live.GetNamespace(), live.GetName(), identity.AnnotationReconcile, nil)
		}
	}
	w.start()
	for began := time.Now(); ; {
		time.Sleep(5 * time.Minute)
		w.check()
		if w.failed() {
			return
		}
		last, what := w.oracle.lastWrite()
		if time.Since(last) >= rests {
			break
		}
		if createNamespaces(w, nil); time.Since(began) > settles {
			w.fail("after %s without faults there is no rest: %s", settles, what)
			return
		}
	}
	for _, difference := range w.differences() {
		w.fail("at rest: %s", difference)
	}
}

func (o *oracle) lastWrite() (time.Time, string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last, o.lastWhat
}

// differences compares the cluster, and what Tend says of it, with what people declared.
func (w *World) differences() (all []string) {
	differs := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	known := map[string]bool{}
	for _, object := range w.plane.objects(api.KindApplicationInstance) {
		if object.Metadata.DeletedAt != nil {
			differs("%s is still being deleted: %+v", object.Ref(), w.plane.status(object.Ref()))
			continue
		}
		known[object.Scope+"/"+object.Name] = true
		w.application(object, differs)
	}
	for _, live := range w.cluster.List(cluster.Instance) {
		if at := live.GetNamespace() + "/" + live.GetName(); !known[at] {
			differs("the cluster has the instance %s, which no one declares", at)
		}
	}
	for _, live := range w.cluster.List(cluster.HelmRelease) {
		if at := live.GetNamespace() + "/" + live.GetName(); !known[at] && isOwned(live) {
			differs("the cluster has the HelmRelease %s, which no one declares", at)
		}
	}
	for _, live := range w.cluster.List(cluster.OCIRepository) {
		if at := live.GetNamespace() + "/" + live.GetName(); isOwned(live) && !known[strings.TrimSuffix(at, "-source")] {
			differs("the cluster has the source %s, which no one declares", at)
		}
	}
	operations := map[string]bool{}
	for _, object := range w.plane.objects(api.KindOperation) {
		operations[object.Scope+"/"+object.Name] = true
		w.ended(object, differs)
	}
	for _, live := range append(w.cluster.List(cluster.Job), w.cluster.List(cluster.Workflow)...) {
		if at := live.GetNamespace() + "/" + live.GetName(); !operations[at] {
			differs("the cluster has the %s %s of no operation", live.GetKind(), at)
		}
	}
	w.leftCopies(differs)
	w.unreported(differs)
	return all
}

// application compares one application.
func (w *World) application(object api.Object, differs func(string, ...any)) {
	spec, status, ref := specOf(w, object), w.plane.status(object.Ref()), object.Ref()
	live := w.cluster.Get(cluster.Instance, object.Scope, object.Name)
	if live == nil {
		differs("%s is not in the cluster: %+v", ref, status)
		return
	}
	if status != nil && conflicts(status) { // a person decides
		return
	}
	version, stamp := text(live, "spec", "chart", "version"), number(live, "spec", "values", "inline", "stamp")
	if version != spec.Chart.Version || stamp != spec.Values.Inline.Stamp {
		differs("%s is of %s, stamp %d, in the cluster; declared is %s, stamp %d", ref, version, stamp, spec.Chart.Version,
			spec.Values.Inline.Stamp)
	}
	ready := conditionOf(live, "Ready")
	var said api.Condition
	if status != nil {
		if c := api.FindCondition(status.Conditions, api.ConditionReady); c != nil {
			said = *c
		}
	}
	if string(said.Status) != ready.status || said.Reason != ready.reason {
		differs("Tend says Ready=%s/%s of %s, the cluster says %s/%s", said.Status, said.Reason, ref, ready.status,
			ready.reason)
	}
	if ready.generation != live.GetGeneration() {
		differs("Ready of %s is of generation %d, not %d", ref, ready.generation, live.GetGeneration())
	}
	if lacks := w.lacks(live); lacks != "" {
		if ready.status != "False" || ready.reason != appsv1alpha1.BlockedMissingDependencies {
			differs("%s depends on %s, which isn't there, and Ready is %s/%s", ref, lacks, ready.status, ready.reason)
		}
		return
	}
	release := w.cluster.Get(cluster.HelmRelease, object.Scope, object.Name)
	if text(release, "spec", "suspend") == "true" != spec.Suspend {
		differs("%s has suspend: %t, and its HelmRelease has not", ref, spec.Suspend)
	}
	if spec.Suspend {
		return
	}
	want := chart{text(live, "status", "lastAppliedChart", "version"), spec.Values.Inline.Stamp}
	if want.version != spec.Chart.Version && !w.upgraded(live.GetNamespace(), live.GetName(), want.version) {
		differs("%s is declared with %s, and has %s", ref, spec.Chart.Version, want.version)
	}
	has, _ := w.flux.has(object.Scope, object.Name)
	if on := w.awaits(release); on != "" {
		if ready.status == "True" && has != want {
			differs("%s waits for %s; Helm has %+v, and Ready is True", ref, on, has)
		}
		return
	}
	good := !want.fails() && !isMissing(want.version)
	if is := ready.status == "True"; is != good || good && has != want {
		differs("%s is to have %+v; Helm has %+v, and Ready is %s/%s", ref, want, has, ready.status, ready.reason)
	}
}

// conflicts reports whether Tend says that others have set a field that it declares.
func conflicts(status *api.DeliveredStatus) bool {
	c := api.FindCondition(status.Conditions, api.ConditionReady)
	return c != nil && c.Reason == api.ReasonFieldConflict
}

// upgraded reports whether an operation upgraded an application to a version.
func (w *World) upgraded(namespace, name, version string) bool {
	for _, op := range w.cluster.List(cluster.Operation) {
		if op.GetNamespace() == namespace && text(op, "spec", "targetRef", "name") == name &&
			text(op, "status", "phase") != "Failed" && text(op, "spec", "parameters", "targetVersion") == version {
			return true
		}
	}
	return false
}

// ended compares one operation.
func (w *World) ended(object api.Object, differs func(string, ...any)) {
	status, ref := w.plane.status(object.Ref()), object.Ref()
	live := w.cluster.Get(cluster.Operation, object.Scope, object.Name)
	if status == nil {
		differs("Tend says nothing of %s", ref)
		return
	}
	if live == nil { // an operation is done once: one that is gone stays gone
		switch status.Phase {
		case api.OperationSucceeded, api.DeliveredMissing, api.DeliveredFailed, api.OperationCancelled:
			return
		}
		differs("%s is not in the cluster, and Tend says %s", ref, status.Phase)
		return
	}
	phase, blocked := text(live, "status", "phase"), conditionOf(live, "Blocked").status == "True"
	if object.Metadata.DeletedAt != nil && !blocked && phase != "Succeeded" {
		differs("%s is still being deleted", ref)
		return
	}
	target := text(live, "spec", "targetRef", "name")
	instance := w.cluster.Get(cluster.Instance, object.Scope, target)
	stopped := conditionOf(instance, "Ready").reason == api.ReasonFieldConflict || // nothing changes its release
		text(instance, "spec", "suspend") == "true" || w.lacks(instance) != ""
	endless := w.awaits(w.cluster.Get(cluster.HelmRelease, object.Scope, target)) != "" ||
		isMissing(text(live, "spec", "parameters", "targetVersion")) // until its timeout, which is a day
	waits := phase == "Pending" || phase == "Running" && text(live, "spec", "engine") == "helm"
	if waits && (blocked || text(live, "spec", "engine") == "helm" && !stopped && endless) {
		return
	}
	if phase != "Succeeded" && phase != "Failed" && phase != "Cancelled" {
		differs("%s is %s at rest: %+v", ref, phase, conditionsOf(live))
	}
	if object.Metadata.DeletedAt == nil && status.Phase != phase {
		differs("Tend says that %s is %s, the cluster says %s: %+v", ref, status.Phase, phase, *status)
	}
}

// unreported: each transition of an object that still exists has its Event, and one of them.
func (w *World) unreported(differs func(string, ...any)) {
	said := w.eventsOf()
	w.oracle.mu.Lock()
	happened := maps.Clone(w.oracle.transitions)
	w.oracle.mu.Unlock()
	for _, live := range append(w.cluster.List(cluster.Instance), w.cluster.List(cluster.Operation)...) {
		for is, times := range happened {
			if is.uid == live.GetUID() && said[is] != times {
				differs("%s %s/%s: %s (%s) happened %d times, Events say %d", live.GetKind(), live.GetNamespace(),
					live.GetName(), is.begin, is.reason, times, said[is])
			}
		}
	}
}

func specOf(w *World, object api.Object) (spec declared) {
	decode(w, object.Spec, &spec)
	return spec
}

func decode(w *World, text []byte, into any) {
	if err := json.Unmarshal(text, into); err != nil {
		w.fail("read %s: %v", text, err)
	}
}
