package verbs

import (
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
)

// shown returns a result without the objects of scopes that are not to be seen by the one who applies: an asset that
// changes is also in use there.
func shown(result api.ApplyResult, rights source.Rights) api.ApplyResult {
	result.Objects = seenOf(rights, result.Objects, func(o api.ObjectResult) api.Ref { return o.Ref })
	result.Pruned = seenOf(rights, result.Pruned, refItself)
	result.Withdrawn = seenOf(rights, result.Withdrawn, refItself)
	result.Plan = shownPlan(result.Plan, rights)
	return result
}

// shownPlan returns a plan without the actions on objects of such scopes.
func shownPlan(plan []api.PlannedAction, rights source.Rights) []api.PlannedAction {
	return seenOf(rights, plan, func(a api.PlannedAction) api.Ref { return a.Object })
}

func refItself(ref api.Ref) api.Ref { return ref }

func seenOf[T any](rights source.Rights, all []T, refOf func(T) api.Ref) []T {
	return slices.DeleteFunc(slices.Clone(all), func(item T) bool { return unseen(refOf(item), rights) })
}

// unseen reports whether an object is in a scope that is not to be seen.
func unseen(ref api.Ref, rights source.Rights) bool {
	return ref.Scope != api.Unscoped && !rights.Sees(ref.Scope)
}
