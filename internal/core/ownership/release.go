package ownership

import (
	"encoding/json"
	"slices"

	"tend.dev/tend/api"
)

// Release returns the record once a manager has given up what it set: what others set too is theirs alone, the rest is
// that of api.ManagerReleased. The spec stays as it is.
func Release(stored Stored, manager string) (json.RawMessage, error) {
	before, err := read(stored, leaves(stored.Spec))
	if err != nil {
		return nil, err
	}
	others := before.fields(func(other string) bool { return other != manager })
	after := make(record, 0, len(before))
	for _, w := range before {
		if w.manager == manager {
			w.manager, w.actor, w.fields = api.ManagerReleased, manager, w.fields.Difference(others)
		}
		after = append(after, w)
	}
	return after.compact().text()
}

// Managers returns those that set something, in the order in which they began.
func Managers(stored Stored) (managers []string, err error) {
	who, err := read(stored, leaves(stored.Spec))
	for _, w := range who {
		if !slices.Contains(managers, w.manager) {
			managers = append(managers, w.manager)
		}
	}
	return managers, err
}
