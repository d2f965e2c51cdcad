package ownership

import (
	"encoding/json"
	"time"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"tend.dev/tend/api"
)

// Stored is the stored part of an object; zero before it is created.
type Stored struct {
	Spec Tree
	// Fields is the stored record of the owners. Without it, the manager `apply` owns every field.
	Fields json.RawMessage
	// Since is the time of the object's last write. Fields without a known manager get this time.
	Since time.Time
}

// Change is one manager's change.
type Change struct {
	// Manager is the role, Actor the user or program that acts in it, At the time of the change.
	Manager string
	Actor   string
	At      time.Time
	// About selects the top-level fields that the change may set. The others keep their values and owners. Default:
	// all.
	About func(field string) bool
	// Whole: the declaration is the spec that the object is to have. What others set and it leaves out is taken from
	// them too, and goes.
	Whole bool
}

// Outcome is the result of a change of an object.
type Outcome struct {
	// Spec is the declared spec plus the fields that other managers own. Added is set if there are such fields.
	Spec  Tree
	Added bool
	// Kept lists these fields with their owners.
	Kept []api.FieldOwner
	// Fields is the stored text if no manager's fields change.
	Fields json.RawMessage
	// Conflicts are the fields that Spec and Fields take from another manager, by path. A caller that may not take them
	// must not store the outcome.
	Conflicts []api.FieldConflict
}

// comparison compares a manager's declaration with the stored object.
type comparison struct {
	live, next Tree
	// declared are the leaves of next, changed those that are not in live with the same value.
	declared, changed *fieldpath.Set
}

func compare(live, next Tree) comparison {
	c := comparison{live: live, next: next, declared: fieldpath.NewSet(), changed: fieldpath.NewSet()}
	walk(next, func(path fieldpath.Path, value any) {
		c.declared.Insert(path)
		if stored, there := lookup(live, path); !there || !same(stored, value) {
			c.changed.Insert(path)
		}
	})
	return c
}

// Apply returns the outcome of a manager's declaration of a spec. It doesn't change its arguments.
func Apply(stored Stored, declared Tree, change Change) (Outcome, error) {
	before, err := read(stored, leaves(stored.Spec))
	if err != nil {
		return Outcome{}, err
	}
	c := compare(stored.Spec, declared)
	others := before.fields(func(manager string) bool { return manager != change.Manager })
	taken := c.contested(others)
	if change.Whole {
		taken = taken.Union(others.Difference(c.declared))
	}
	out := Outcome{Spec: declared, Fields: stored.Fields, Conflicts: before.conflicts(taken, change.Manager, c.live)}
	all := c.declared
	if left := others.Difference(taken).Difference(c.declared); !left.Empty() {
		out.Spec, out.Added = c.with(left), true
		out.Kept = before.owners(stored.Spec, left.Has)
		all = leaves(out.Spec)
	}
	if after := before.after(c, change, taken, all); !after.equal(before) {
		out.Fields, err = after.text()
	}
	return out, err
}

// contested returns the leaves of other managers that the declaration changes, or replaces with a value or a block.
func (c comparison) contested(others *fieldpath.Set) *fieldpath.Set {
	taken := fieldpath.NewSet()
	if others.Empty() {
		return taken
	}
	c.changed.Iterate(func(path fieldpath.Path) {
		for length := 1; length < len(path); length++ {
			above := path[:length]
			if stored, _ := lookup(c.live, above); others.Has(above) && !isBlock(stored) {
				taken.Insert(above)
			}
		}
		stored, _ := lookup(c.live, path)
		if declared, _ := lookup(c.next, path); isBlock(declared) && isBlock(stored) {
			return // an empty block: the fields of others in it stay
		}
		if others.Has(path) {
			taken.Insert(path)
		}
		if block, ok := stored.(Tree); ok {
			walkBelow(path.Copy(), block, func(below fieldpath.Path, _ any) {
				if others.Has(below) {
					taken.Insert(below)
				}
			})
		}
	})
	return taken
}

func isBlock(value any) bool {
	_, ok := value.(Tree)
	return ok
}

// with returns the declaration, plus the fields of other managers that it omits.
func (c comparison) with(left *fieldpath.Set) Tree {
	out := clone(c.next)
	left.Iterate(func(path fieldpath.Path) {
		value, _ := lookup(c.live, path)
		insert(out, path, value)
	})
	return out
}

// conflicts returns the leaves that a manager takes, with the managers it takes them from.
func (r record) conflicts(taken *fieldpath.Set, manager string, live Tree) []api.FieldConflict {
	var out []api.FieldConflict
	if taken.Empty() {
		return nil
	}
	walk(live, func(path fieldpath.Path, value any) {
		if !taken.Has(path) {
			return
		}
		for _, w := range r {
			if w.manager != manager && w.fields.Has(path) {
				line, _ := Text(value) // it was read from such a text
				out = append(out, api.FieldConflict{Path: pathText(path), Manager: w.manager, Actor: w.actor,
					At: w.at, Value: line})
			}
		}
	})
	return out
}

// after returns the record for the stored change; all contains its leaves.
func (r record) after(c comparison, change Change, taken, all *fieldpath.Set) record {
	unchanged := c.declared.Difference(c.changed)
	out := make(record, 0, len(r)+1)
	for _, w := range r {
		if w.manager == change.Manager {
			w.fields = w.fields.Intersection(unchanged)
		} else {
			w.fields = w.fields.Difference(taken)
		}
		if w.manager == api.ManagerReleased { // it waits for the next who declares it
			w.fields = w.fields.Difference(c.declared)
		}
		w.fields = w.fields.Intersection(all)
		out = append(out, w)
	}
	out = out.compact()
	claimed := c.declared
	if change.About != nil {
		claimed = about(claimed, change.About).Union(c.changed)
	}
	own := out.fields(func(manager string) bool { return manager == change.Manager })
	claimed = claimed.Intersection(all).Difference(own)
	return out.add(change, claimed)
}

func about(fields *fieldpath.Set, mentioned func(field string) bool) *fieldpath.Set {
	out := fieldpath.NewSet()
	fields.Iterate(func(path fieldpath.Path) {
		if mentioned(*path[0].FieldName) {
			out.Insert(path)
		}
	})
	return out
}
