package cli

import (
	"time"

	"tend.dev/tend/api"
)

// othersListing lists the fields of an object that no user set: what a sync, the autoscaler or a plugin put beside what
// was applied. What one of them set alone is one line.
func othersListing(object api.Object, now time.Time) listing {
	l := listing{
		header: []string{"FIELD", "VALUE", "MANAGER", "AGE"},
		narrow: narrowing{drop: []string{"AGE"}, cut: []string{"VALUE"}},
	}
	owners, err := ownersOf(object)
	if err != nil {
		return l // tend blame says why
	}
	users, managers := map[string]bool{}, map[string]bool{}
	for _, o := range owners {
		users[o.Path] = users[o.Path] || o.Manager == api.ManagerApply
		managers[o.Manager] = true
	}
	if len(managers) == 1 && !managers[api.ManagerApply] {
		l.rows = [][]string{{"all", "", owners[0].Manager, age(object.Metadata.UpdatedAt, now)}}
		return l
	}
	for _, o := range owners {
		if !users[o.Path] {
			l.rows = append(l.rows, []string{o.Path, cut(string(o.Value), 60), o.Manager, age(o.At, now)})
		}
	}
	return l
}
