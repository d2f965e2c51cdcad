package verbs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/dependency"
	"tend.dev/tend/internal/core/suggest"
	"tend.dev/tend/internal/store/records"
)

// checkDependencies refuses objects that would wait forever: for a workload that neither the apply nor the store has,
// or, in a cycle, for themselves. It doesn't check unchanged objects.
func checkDependencies(snap records.Snapshot, next []api.Object, pruned []records.Read[api.Object], found *faults) {
	world := worldOf(snap, next, pruned)
	for _, object := range next {
		for i, needed := range api.Dependencies(object) {
			if !world.has(needed) {
				found.add(Invalid, object.Ref(), "depends_on.workloads["+strconv.Itoa(i)+"]",
					"apply it first or in the same apply, or leave it out", "%s does not exist%s", needed,
					world.hint(object.Ref(), needed, awaitable))
			}
		}
	}
	var starts []api.Ref
	for _, object := range next {
		starts = append(starts, object.Ref())
	}
	if circle := dependency.Cycle(starts, world.needs); circle != nil {
		names := make([]string, len(circle))
		for i, ref := range circle {
			names[i] = ref.String()
		}
		field := "depends_on.workloads"
		if !slices.Contains(world.declared(circle[0]), circle[1]) {
			field = "${ref." + circle[1].String() + "…}"
		}
		found.add(Invalid, circle[0], field, "take one of them out", "goes round in a circle: %s",
			strings.Join(names, " → "))
	}
}

// warnOfReferences warns of references to an object that is nowhere, where another one of the scope was probably meant.
// They are no fault: what they name may be applied later.
func warnOfReferences(world dependencyWorld, all []placed) {
	for i := range all {
		p := &all[i]
		var warnings []string
		for _, r := range api.References(string(p.next.Spec)) {
			if r.Escaped || r.Space != api.SpaceRef || r.Check() != nil {
				continue
			}
			target, _ := r.Target(p.next.Scope)
			if target.Scope != p.next.Scope || world.has(target) {
				continue
			}
			if hint := world.hint(p.next.Ref(), target, awaitable); hint != "" {
				warnings = append(warnings, fmt.Sprintf("%s: there is no %s%s", r.Text, target, hint))
			}
		}
		slices.Sort(warnings)
		p.result.Warnings = append(p.result.Warnings, slices.Compact(warnings)...)
	}
}

// dependencyWorld is the store as it will be after the apply.
type dependencyWorld struct {
	snap records.Snapshot
	next map[api.Ref]api.Object
	gone map[api.Ref]bool
}

func worldOf(snap records.Snapshot, next []api.Object, pruned []records.Read[api.Object]) dependencyWorld {
	world := dependencyWorld{snap: snap, next: map[api.Ref]api.Object{}, gone: map[api.Ref]bool{}}
	for _, object := range pruned {
		world.gone[object.Value.Ref()] = true
	}
	for _, object := range next {
		world.next[object.Ref()] = object
	}
	return world
}

func (w dependencyWorld) has(ref api.Ref) bool {
	_, applied := w.next[ref]
	return applied || w.snap.Object(ref).Exists() && !w.gone[ref]
}

// needs returns the objects whose releases an object waits for: those it depends on, and those whose image or release
// it names. With two that name each other, each new release of one would make one of the other, without end.
func (w dependencyWorld) needs(ref api.Ref) []api.Ref {
	out := w.declared(ref)
	for _, r := range api.References(string(w.object(ref).Spec)) {
		if r.Escaped || r.Space != api.SpaceRef || r.Check() != nil {
			continue
		}
		if target, field := r.Target(ref.Scope); field == "image" || field == "release" {
			out = append(out, target)
		}
	}
	return out
}

func (w dependencyWorld) declared(ref api.Ref) []api.Ref { return api.Dependencies(w.object(ref)) }

// object is one as it will be; the zero value if there is none.
func (w dependencyWorld) object(ref api.Ref) api.Object {
	if object, applied := w.next[ref]; applied {
		return object
	}
	if object := w.snap.Object(ref); object.Exists() {
		return *object.Value
	}
	return api.Object{}
}

// hint asks whether another workload of the scope was meant, of the kinds that may be.
func (w dependencyWorld) hint(by, ref api.Ref, may func(api.Kind) bool) string {
	near, ok := suggest.Object(ref, func(yield func(api.Ref) bool) {
		for other := range w.next {
			if other.Scope == ref.Scope && may(other.Kind) && other != by && !yield(other) {
				return
			}
		}
		for other := range w.snap.Refs(ref.Scope) {
			if may(other.Kind) && other != by && w.has(other) && !yield(other) {
				return
			}
		}
	})
	if !ok {
		return ""
	}
	return suggest.Behind(near.String())
}

// awaitable reports whether others can wait for an object of a kind.
func awaitable(kind api.Kind) bool {
	return slices.Contains([]api.Kind{api.KindDeployment, api.KindStatefulSet, api.KindJob}, kind)
}
