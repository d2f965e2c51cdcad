package board

import (
	"errors"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

const (
	// maxAssignments bounds one commit of the scheduler; the next one places the rest.
	maxAssignments = 1000
	// maxOps bounds a commit that places; a store takes 10,000 operations.
	maxOps = 9000
)

// Waiting reports whether a task waits that a node would take.
func (b *Board) Waiting(s records.Snapshot) bool {
	_, d := b.plan(s)
	return len(d.assigned) > 0
}

// PlaceWaiting returns the transaction that places the tasks that wait, and whether it leaves some that fit to the
// next one.
func (b *Board) PlaceWaiting(s records.Snapshot) (txn *records.Txn, more bool) {
	s, d := b.plan(s)
	p := placing{s: s, txn: records.NewTxn("schedule")}
	for i, a := range d.assigned {
		read := s.Task(a.Task)
		volumes := b.demands.of(s, read.Value).at(read.Value)
		if more = i == maxAssignments || p.txn.Len()+1+len(volumes) > maxOps; more {
			break
		}
		task := *read.Value
		task.Node = a.Node
		p.txn.If(records.TaskKey(task.ID), read.Modified).Put(records.TaskKey(task.ID), task)
		p.put(a.Node, volumes)
	}
	return p.guarded(), more
}

// Place returns the transaction of a step with the nodes of those tasks that it creates and a node takes; nil if
// there is none. While the scheduler has tasks to place, which are older, it places the new ones with them; so it
// does if another step has placed by the same state, and one of the two would fail.
func (b *Board) Place(s records.Snapshot, txn *records.Txn) (placed *records.Txn) {
	if len(txn.Created()) == 0 {
		return nil
	}
	b.at(s, func(s records.Snapshot, l *placement.Ledger) {
		last := s.Placing()
		if last == b.placed || len(b.decide().assigned) > 0 {
			return
		}
		if placed = b.foresee(s, l, txn); placed != nil {
			b.placed = last
		}
	})
	return placed
}

// foresee returns a transaction with the nodes that the tasks which it creates get if it is committed, and they are
// placed with those that wait; nil if they get none, or one that waits gets a node too.
func (b *Board) foresee(s records.Snapshot, l *placement.Ledger, txn *records.Txn) *records.Txn {
	demands := b.demands.with(s, txn)
	written, gone := txn.Tasks()
	next := make([]placement.Task, 0, len(written))
	for _, task := range written {
		if t, left := taskOf(s, &task, demands(&task)); left {
			next = append(next, t)
		} else {
			gone = append(gone, task.ID)
		}
	}
	nodes := map[string]string{}
	for _, a := range l.Foresee(next, gone) {
		nodes[a.Task] = a.Node
	}
	p := placing{s: s, txn: txn.Placed(nodes)}
	for _, task := range txn.Created() {
		if node := nodes[task.ID]; node != "" {
			p.put(node, demands(&task).at(&task))
			delete(nodes, task.ID)
		}
	}
	if !p.puts || len(nodes) > 0 || p.txn.Len() > maxOps {
		return nil
	}
	return p.guarded()
}

// with returns the demands of tasks, also of the releases that a transaction makes.
func (d *demands) with(s records.Snapshot, txn *records.Txn) func(*api.Task) demand {
	made := map[string]demand{}
	for _, release := range txn.Releases() {
		ref := release.Owner()
		out := demand{Demand: &placement.Demand{}, quiet: &placement.Demand{}}
		read := func() error { out = demandOf(release, s.Object(ref).Value); return nil }
		_ = recovery.Call(read, "object", ref.String())
		made[records.ReleaseKey(ref, release.ID)] = out
	}
	return func(task *api.Task) demand {
		if made, fresh := made[records.ReleaseKey(task.Owner(), task.Release)]; fresh {
			return made
		}
		return d.of(s, task)
	}
}

// placing is a transaction that gives tasks their nodes.
type placing struct {
	s     records.Snapshot
	txn   *records.Txn
	homes map[string]bool // that it writes
	puts  bool            // a task on a node
}

// put notes the node of a task, where the data in its volumes will be.
func (p *placing) put(node string, volumes []string) {
	p.puts = true
	for _, volume := range volumes {
		key := records.HomeKey(volume)
		if _, known := p.s.Get(key); !known && !p.homes[volume] {
			if p.homes == nil {
				p.homes = map[string]bool{}
			}
			p.homes[volume] = true
			p.txn.Put(key, node)
		}
	}
}

// guarded returns the transaction on the condition that nothing was placed since it was decided.
//
// It doesn't compare what the nodes were decided by. A node may be marked silent, or be drained, between the decision
// and the commit, and the pod is as one that was placed a moment earlier: it starts once the node is heard, and is
// replaced once that is lost or drained. A node is silent for 10 s before the mark, so a guard on it would spare few
// pods of many. It would cost more: when the store has elected a leader, each node writes its heartbeat again, and a
// commit that places on many nodes would fail until all have.
func (p *placing) guarded() *records.Txn {
	if p.puts {
		p.txn.GuardPlacing(p.s)
	}
	return p.txn
}

// Overtaken reports whether a commit failed because something was placed since it was decided, and at which revision.
func Overtaken(err error) (at int64, overtaken bool) {
	var conflict *store.ConflictError
	if !errors.As(err, &conflict) || conflict.Key != records.PlacingKey {
		return 0, false
	}
	return conflict.Have, true
}
