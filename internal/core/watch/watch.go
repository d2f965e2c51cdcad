package watch

import (
	"cmp"
	"reflect"
	"slices"
)

// Facts holds the fields of a listed object that Diff compares.
type Facts struct {
	// ID identifies the object among all that were ever listed: a uid, or a path. If several have the same id, the
	// last one counts.
	ID string
	// A Selector matches Namespace and Labels.
	Namespace string
	Labels    map[string]string
	// Generation grows with every change of what is wanted of the object.
	Generation int64
	// Deleting is the mark that a user or program asked for the object's deletion.
	Deleting bool
	// Status is compared deeply. Leave out what changes by itself, such as the time of the last check.
	Status any
}

// Type is the change of an object between two listings.
type Type string

// The types of changes, in the order in which Diff returns them; updates of spec and status are mixed.
const (
	Created       Type = "CREATED"
	Deleted       Type = "DELETED"
	Updated       Type = "UPDATED"
	StatusUpdated Type = "STATUS_UPDATED"
)

// Types lists all types of changes.
var Types = []Type{Created, Deleted, Updated, StatusUpdated}

// Change is one change of one object.
type Change[T any] struct {
	Type Type
	ID   string
	// Object is as listed now; for Deleted it is the object as it was listed last.
	Object T
	// Old is the object as it was listed before; zero for Created.
	Old T
}

// Item is a listed object with its facts.
type Item[T any] struct {
	Facts  Facts
	Object T
}

// Diff returns the changes that lead from the cache to the listing, both by id: first what was created, then what was
// deleted, then what was updated, each in the order of the ids. An object has at most one change. A change of its spec
// (a greater generation, or a new deletion mark) goes before one of its status.
func Diff[T any](cache, listing map[string]Item[T]) []Change[T] {
	var created, deleted, updated []Change[T]
	for id, now := range listing {
		before, known := cache[id]
		switch {
		case !known:
			created = append(created, Change[T]{Type: Created, ID: id, Object: now.Object})
		case now.Facts.Generation > before.Facts.Generation || now.Facts.Deleting && !before.Facts.Deleting:
			updated = append(updated, Change[T]{Type: Updated, ID: id, Object: now.Object, Old: before.Object})
		case !reflect.DeepEqual(now.Facts.Status, before.Facts.Status):
			updated = append(updated, Change[T]{Type: StatusUpdated, ID: id, Object: now.Object, Old: before.Object})
		}
	}
	for id, before := range cache {
		if _, listed := listing[id]; !listed {
			deleted = append(deleted, Change[T]{Type: Deleted, ID: id, Object: before.Object, Old: before.Object})
		}
	}
	byID := func(a, b Change[T]) int { return cmp.Compare(a.ID, b.ID) }
	for _, changes := range [][]Change[T]{created, deleted, updated} {
		slices.SortFunc(changes, byID)
	}
	return slices.Concat(created, deleted, updated)
}

// Selector chooses objects of a listing. The zero value chooses all.
type Selector struct {
	// Namespace is the one namespace; empty means all.
	Namespace string
	// Labels must all be there with these values.
	Labels map[string]string
}

// Matches reports whether the selector chooses an object.
func (s Selector) Matches(f Facts) bool {
	if s.Namespace != "" && s.Namespace != f.Namespace {
		return false
	}
	for name, value := range s.Labels {
		if have, ok := f.Labels[name]; !ok || have != value {
			return false
		}
	}
	return true
}
