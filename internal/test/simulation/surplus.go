package simulation

import (
	"context"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// surplus: a transaction that makes pods of a deployment leaves no more of them than are declared. A pod and its
// replacement count as one. Deployments with frozen pods aren't checked: those count too.
func (l *link) surplus(txn store.Txn) {
	for owner := range madeFor(txn) {
		entry, err := l.Store.Get(context.Background(), records.ObjectKey(owner))
		if err != nil || len(l.under(records.FrozenSetPrefix(owner))) > 0 {
			continue
		}
		var object api.Object
		var spec api.DeploymentSpec
		decode(entry.Value, &object)
		decode(object.Spec, &spec)
		if places := l.places(owner); places > spec.ReplicaCount() {
			l.w.fail("%s gets %d pods by %s, declared are %d", owner, places, txn.Site, spec.ReplicaCount())
		}
	}
}

// madeFor returns the deployments for which a transaction makes pods.
func madeFor(txn store.Txn) map[api.Ref]bool {
	out := map[api.Ref]bool{}
	for _, condition := range txn.If {
		for _, op := range txn.Do {
			if op.Key != condition.Key || condition.Modified != 0 || !strings.HasPrefix(op.Key, records.TasksPrefix) {
				continue
			}
			var task api.Task
			decode(op.Value, &task)
			if task.Kind == api.KindDeployment && task.Role == api.RoleMain {
				out[task.Owner()] = true
			}
		}
	}
	return out
}

// places returns the number of filled places of a deployment, according to the store.
func (l *link) places(owner api.Ref) int {
	live, replaced := map[string]bool{}, map[string]bool{}
	for _, entry := range l.under(records.TasksPrefix) {
		var task api.Task
		var status api.TaskStatus
		decode(entry.Value, &task)
		if task.Owner() != owner || task.Role != api.RoleMain || task.Desired != api.DesiredRunning {
			continue
		}
		if said, err := l.Store.Get(context.Background(), records.TaskStatusKey(task.ID)); err == nil {
			decode(said.Value, &status)
		}
		if !status.State.Terminal() {
			live[task.Slot], replaced[task.Replaces] = true, true
		}
	}
	places := len(live)
	for slot := range replaced {
		if live[slot] {
			places--
		}
	}
	return places
}

// under returns the entries below a prefix, unaffected by faults.
func (l *link) under(prefix string) []store.Entry {
	page, err := l.Store.List(context.Background(), prefix, store.ListOptions{})
	if err != nil {
		return nil // the store of a life that is over
	}
	return page.Entries
}
