package control

import (
	"cmp"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// Input is something that steps read besides their own object: it returns the objects whose steps a change may concern.
// It changes nothing. The Shell keeps the objects of its kind.
type Input func(s records.Snapshot, change view.Change) []api.Ref

// Records returns the Input of the records of a type. concerns is given the record as it is, or as it was if it was
// deleted.
func Records[R any](concerns func(s records.Snapshot, key string, record *R) []api.Ref) Input {
	return func(s records.Snapshot, change view.Change) []api.Ref {
		if record, ok := Changed(change).(*R); ok {
			return concerns(s, change.Key, record)
		}
		return nil
	}
}

// Heartbeats returns the Input of nodes that fall silent or answer again.
func Heartbeats(concerns func(records.Snapshot) []api.Ref) Input {
	return func(s records.Snapshot, change view.Change) []api.Ref {
		if strings.HasPrefix(change.Key, records.AlivePrefix) && (change.Old == nil || change.Deleted) {
			return concerns(s)
		}
		return nil
	}
}

// Named returns the Input of the keys that begin with a prefix, and go on with a name that concerns is given.
func Named(prefix string, concerns func(name string) []api.Ref) Input {
	return func(_ records.Snapshot, change view.Change) []api.Ref {
		if name, found := strings.CutPrefix(change.Key, prefix); found {
			return concerns(name)
		}
		return nil
	}
}

// Changed returns a record as it is after a change, or as it was before if it was deleted.
func Changed(change view.Change) any {
	return cmp.Or(change.New, change.Old)
}

// Refs returns all objects of a kind.
func Refs(s records.Snapshot, kind api.Kind) (out []api.Ref) {
	for object := range s.Objects(kind) {
		out = append(out, object.Value.Ref())
	}
	return out
}
