package ownership

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"tend.dev/tend/api"
)

// Blame lists the leaves of a spec with their managers, ordered by path, then in the order they were set.
func Blame(stored Stored) ([]api.FieldOwner, error) {
	who, err := read(stored, leaves(stored.Spec))
	if err != nil {
		return nil, err
	}
	return who.owners(stored.Spec, func(fieldpath.Path) bool { return true }), nil
}

// owners lists the leaves of a spec that count, with their managers.
func (r record) owners(spec Tree, counts func(fieldpath.Path) bool) []api.FieldOwner {
	out := []api.FieldOwner{}
	walk(spec, func(path fieldpath.Path, value any) {
		if !counts(path) {
			return
		}
		line, _ := Text(value) // it was read from such a text
		for _, w := range r {
			if w.fields.Has(path) {
				out = append(out, api.FieldOwner{Path: pathText(path), Value: line, Manager: w.manager, Actor: w.actor,
					At: w.at, OrBefore: w.orBefore})
			}
		}
	})
	return out
}
