package workload

import (
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/affected"
	"tend.dev/tend/internal/control/environment"
	"tend.dev/tend/internal/control/owner"
	"tend.dev/tend/internal/core/fit"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/records"
)

// workloads decides about the workloads of one kind.
type workloads struct {
	kind  api.Kind
	env   *environment.Environments
	nodes Nodes
	since func() time.Time // when it began to work: its first step
	// changes names the fields in which a release differs from the one before; nil names none.
	changes func(before, after api.Release) []string
}

// Nodes is what a step reads of nodes. Its functions may be nil: then every task can be placed.
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

// Kind returns the kind of deployments, or that of statefulsets. A change of a node concerns all of them: a task that could
// not be placed may fit now, or be refused for another reason; and what runs on a silent node will be lost.
func Kind(deps control.Deps, kind api.Kind, nodes Nodes) control.Kind {
	return decides(deps, kind, nodes).row()
}

func decides(deps control.Deps, kind api.Kind, nodes Nodes) *workloads {
	deps = deps.Defaults()
	if nodes.Liveness == nil {
		nodes.Liveness = owner.NewLiveness(0, 0, nil)
	}
	return &workloads{
		kind: kind, env: environment.New(deps.Sealer), nodes: nodes, since: sync.OnceValue(deps.Now), changes: deps.Changes,
	}
}

func (c *workloads) row() control.Kind {
	all := func(s records.Snapshot) []api.Ref { return control.Refs(s, c.kind) }
	return control.Kind{
		KindInfo: c.kind.Info(), Step: c.step, Rests: true, Reads: []control.Input{affected.Owner(c.kind, all)},
	}
}

// step decides what is to be done about one workload.
func (c *workloads) step(at control.Observation) (control.Step, error) {
	o, err := c.observe(at)
	switch {
	case err != nil:
		return refuse(at, o, err)
	case o.vanished():
		return control.Finalize(at), nil
	}
	a, err := c.assess(o, at.Now)
	if err != nil {
		return control.Step{}, err
	}
	return c.act(at, o, a), nil
}
