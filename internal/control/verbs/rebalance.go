package verbs

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/store/records"
)

type rebalanceDecision struct {
	txn    *records.Txn
	result api.RebalanceResult
	refs   []api.Ref
}

func (d *rebalanceDecision) transaction() *records.Txn { return d.txn }

// RebalanceOptions say what may move. The zero value is everything.
type RebalanceOptions struct {
	// Scope and Name bound it to a scope, or to one deployment.
	Scope, Name string
	// DryRun plans and stores nothing.
	DryRun bool
	Actor  string
}

// Rebalance plans which pods of deployments move to level the nodes, and records it: the controllers move them one
// after another under the strategies of their deployments. What an earlier call moves still goes on.
func (s *Service) Rebalance(ctx context.Context, opts RebalanceOptions) (api.RebalanceResult, error) {
	prepare := func(snap records.Snapshot) (*rebalanceDecision, error) { return s.prepareRebalance(snap, opts) }
	if opts.DryRun {
		decided, revision, err := consider(ctx, s, prepare)
		if err != nil {
			return api.RebalanceResult{}, err
		}
		decided.result.Revision = revision
		return decided.result, nil
	}
	decided, revision, err := decide(FieldManager{Actor: opts.Actor}.asks(ctx, "rebalance"), s, prepare)
	if err != nil {
		return api.RebalanceResult{}, err
	}
	decided.result.Revision, decided.result.Changed = revision, len(decided.refs) > 0
	s.note(ctx, "rebalance", opts.Actor, revision, decided.refs...)
	return decided.result, nil
}

func (s *Service) prepareRebalance(snap records.Snapshot, opts RebalanceOptions) (*rebalanceDecision, error) {
	d := &rebalanceDecision{txn: records.NewTxn("rebalance"), result: api.RebalanceResult{Moves: []api.Move{}}}
	if opts.Name != "" {
		if _, err := (Target{Kind: api.KindDeployment, Scope: opts.Scope, Name: opts.Name}).findLive(snap); err != nil {
			return nil, err
		}
	}
	chosen := func(ref api.Ref) bool {
		return (opts.Scope == "" || ref.Scope == opts.Scope) && (opts.Name == "" || ref.Name == opts.Name)
	}
	moves := map[api.Ref][]placement.Move{}
	for _, m := range s.opts.Rebalance(snap, chosen) {
		task := snap.Task(m.Task).Value
		ref := task.Owner()
		moves[ref] = append(moves[ref], m)
		d.result.Moves = append(d.result.Moves,
			api.Move{Object: ref, Pod: task.ContainerName(), Task: m.Task, From: task.Node, To: m.To, Why: m.Why})
	}
	slices.SortStableFunc(d.result.Moves,
		func(a, b api.Move) int { return cmp.Compare(a.Object.String(), b.Object.String()) })
	found := opts.Scope == ""
	for object := range snap.Objects(api.KindDeployment) {
		if ref := object.Value.Ref(); chosen(ref) {
			found = true
			s.recordMoves(d, snap, ref, moves[ref], opts.Actor)
		}
	}
	if !found {
		return nil, notFound("`tend get deployments` lists what there is", "there is no deployment in scope %s",
			opts.Scope)
	}
	return d, nil
}

// recordMoves writes what moves of a deployment: what was to move and is there still, and the new moves.
func (s *Service) recordMoves(
	d *rebalanceDecision, snap records.Snapshot, ref api.Ref, moves []placement.Move, actor string,
) {
	key, before := records.MovesKey(ref), snap.Moves(ref)
	next := api.Moves{Tasks: map[string]string{}, By: actor, At: s.opts.Now()}
	if before.Exists() {
		maps.Copy(next.Tasks, before.Value.Tasks)
		maps.DeleteFunc(next.Tasks, func(task, _ string) bool {
			read := snap.Task(task)
			return !read.Exists() || read.Value.Desired != api.DesiredRunning
		})
	}
	d.result.Moving += len(next.Tasks)
	for _, m := range moves {
		if next.Tasks[m.Task] != "" {
			d.result.Moving--
		}
		next.Tasks[m.Task] = m.To
	}
	switch {
	case len(moves) > 0:
		d.refs = append(d.refs, ref)
		d.txn.If(key, before.Modified).Put(key, next)
	case before.Exists() && len(next.Tasks) == 0:
		d.txn.If(key, before.Modified).Delete(key) // all of it has moved
	}
}
