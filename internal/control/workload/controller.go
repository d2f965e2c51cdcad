package workload

import (
	"context"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/environment"
	"tend.dev/tend/internal/control/owner"
	"tend.dev/tend/internal/core/fit"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/records"
)

// Controller reconciles the workloads of one kind.
type Controller struct {
	kind api.Kind
	control.Deps
	env   *environment.Environments
	nodes Nodes
	since func() time.Time // when the controller began to work: its first reconcile
	quiet control.Quiet
}

// Nodes is what a Controller knows of nodes. Its functions may be nil: then every task can be placed.
type Nodes struct {
	// Refusals returns why tasks without a node fit on none, by task id.
	Refusals func(records.Snapshot) map[string]placement.Refusal
	// Elsewhere returns why new tasks in the places of others would fit on no node, by the others' task ids.
	Elsewhere func(records.Snapshot, []*api.Task) map[string]placement.Refusal
	// Misplaced returns a function that says why a node may not keep the tasks of a workload, one of which is given; empty if it
	// may.
	Misplaced func(records.Snapshot, *api.Task) func(node string) string
	// Destination returns the node that a rebalance moves a task to, and whether that takes it now; empty if nothing moves it.
	Destination func(records.Snapshot, *api.Task) (node string, takes bool)
	// Places counts the nodes that have a pod of a global deployment, or may get one. need is what the pods need of a runtime, hosts
	// are the nodes that have one.
	Places func(s records.Snapshot, object api.Object, need fit.Need, hosts map[string]bool) int
	// Liveness says which nodes are lost. Default one of its own, with a timeout of 30 s.
	Liveness *owner.Liveness
}

// New returns the controller of a kind.
func New(deps control.Deps, kind api.Kind, nodes Nodes) *Controller {
	deps = deps.Defaults()
	if nodes.Liveness == nil {
		nodes.Liveness = owner.NewLiveness(0, 0, nil)
	}
	return &Controller{kind: kind, Deps: deps, env: environment.New(deps.Sealer), nodes: nodes, since: sync.OnceValue(deps.Now)}
}

// Reconcile takes the next step of one workload.
func (c *Controller) Reconcile(ctx context.Context, key engine.Key) (engine.Result, error) {
	ref := api.Ref{Kind: api.Kind(key.Kind), Scope: key.Scope, Name: key.Name}
	snapshot, now := c.Snapshot(), c.Now()
	o, found, err := c.observe(snapshot, ref)
	switch {
	case !found:
		return engine.Result{}, nil
	case err != nil:
		return c.refuse(ctx, o, err, now)
	case o.vanished():
		return c.Finalize(ctx, snapshot, o.object)
	}
	a, err := c.assess(o, now)
	if err != nil {
		return engine.Result{}, err
	}
	return c.act(ctx, o, a, now)
}

// Name implements control.Controller.
func (c *Controller) Name() string { return string(c.kind) }

// Keys returns all workloads of the kind, for the replay and the full pass.
func (c *Controller) Keys() []engine.Key { return control.Keys(c.Snapshot(), c.kind) }

// Dirty returns the workloads for which a reconcile would write something. It is a pass over the view that has no effect.
func (c *Controller) Dirty(now time.Time) []engine.Key {
	return c.quiet.Dirty(c.Snapshot(), c.kind, now, c.judge)
}

// judge says whether a reconcile of an object would write something now.
func (c *Controller) judge(s records.Snapshot, object records.Read[api.Object], now time.Time) control.Verdict {
	o, err := c.observeAs(s, object)
	switch {
	case err != nil:
		s.Fleeting() // what can't be read may be readable without a write: a key that decrypts it
		return control.Verdict{Dirty: o.refusalDue(err, now)}
	case o.vanished():
		return control.Verdict{Dirty: true}
	}
	a, err := c.assess(o, now)
	if err != nil {
		return control.Verdict{Dirty: true}
	}
	verdict := control.Verdict{}
	if wait := o.wait(a, now, false); wait > 0 {
		verdict.Until = now.Add(wait)
	}
	due, err := o.due(a, now)
	verdict.Dirty = due || err != nil
	return verdict
}
