package dependency

import (
	"slices"

	"tend.dev/tend/api"
)

// Cycle returns a cycle that can be reached from one of the starts, with the first workload again at its end; nil if
// there is none. It visits each workload once.
func Cycle(starts []api.Ref, needs func(api.Ref) []api.Ref) []api.Ref {
	w := walk{needs: needs, done: map[api.Ref]bool{}}
	for _, start := range starts {
		if circle := w.from(start); circle != nil {
			return circle
		}
	}
	return nil
}

type walk struct {
	needs func(api.Ref) []api.Ref
	path  []api.Ref
	done  map[api.Ref]bool
}

func (w *walk) from(ref api.Ref) []api.Ref {
	if i := slices.Index(w.path, ref); i >= 0 {
		return append(slices.Clone(w.path[i:]), ref)
	}
	if w.done[ref] {
		return nil
	}
	w.path = append(w.path, ref)
	for _, next := range w.needs(ref) {
		if circle := w.from(next); circle != nil {
			return circle
		}
	}
	w.path = w.path[:len(w.path)-1]
	w.done[ref] = true
	return nil
}
