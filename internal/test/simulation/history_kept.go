package simulation

import (
	"context"
	"strconv"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// keepsHistory: a transaction that deletes a release of a workload leaves as many newer ones as the limit, whatever
// still refers to older ones. So a release can't take the place of one to roll back to.
func (l *link) keepsHistory(txn store.Txn) {
	for _, op := range txn.Do {
		owner, number, of := droppedRelease(op)
		if !of || !owner.Kind.HasSlots() {
			continue
		}
		entry, err := l.Store.Get(context.Background(), records.ObjectKey(owner))
		if err != nil {
			continue // it goes as a whole
		}
		var object api.Object
		var spec api.DeploymentSpec
		decode(entry.Value, &object)
		decode(object.Spec, &spec)
		newer := 0
		for _, kept := range l.under(records.ReleasePrefix(owner)) {
			var release api.Release
			if decode(kept.Value, &release); release.Number > number {
				newer++
			}
		}
		if keep := spec.KeepReleaseCount(); newer < keep && !object.Metadata.Deleting() {
			l.w.fail("%s loses v%d by %s, while it has %d newer releases and is to keep %d", owner, number,
				txn.Site, newer, keep)
		}
	}
}

// droppedRelease returns the owner and the number of the release that an operation deletes.
func droppedRelease(op store.Op) (owner api.Ref, number int, of bool) {
	parts := strings.Split(strings.TrimPrefix(op.Key, records.ReleasesPrefix), "/")
	if !op.Delete || !strings.HasPrefix(op.Key, records.ReleasesPrefix) || len(parts) != 4 {
		return api.Ref{}, 0, false
	}
	number, err := strconv.Atoi(strings.TrimPrefix(parts[3], "v"))
	return api.Ref{Kind: api.Kind(parts[0]), Scope: parts[1], Name: parts[2]}, number, err == nil
}
