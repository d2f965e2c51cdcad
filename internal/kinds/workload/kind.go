package workload

import (
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/affected"
	"tend.dev/tend/internal/control/board"
	"tend.dev/tend/internal/control/environment"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/records"
)

// workloads decides about the workloads of one kind.
type workloads struct {
	kind  api.Kind
	env   *environment.Environments
	board *board.Board
	// liveness says which nodes are lost.
	liveness *owner.Liveness
	since    func() time.Time // when it began to work: its first step
	// changes names the fields in which a release differs from the one before; nil names none.
	changes func(before, after api.Release) []string
}

// Kind returns the kind of deployments, or that of statefulsets. A change of a node concerns all of them: a task that
// could not be placed may fit now, or be refused for another reason; and what runs on a silent node will be lost.
// liveness says which nodes are; nil is one of its own, with a timeout of 30 s.
func Kind(deps control.Deps, kind api.Kind, liveness *owner.Liveness) control.Kind {
	return decides(deps, kind, liveness).row()
}

func decides(deps control.Deps, kind api.Kind, liveness *owner.Liveness) *workloads {
	deps = deps.Defaults()
	if liveness == nil {
		liveness = owner.NewLiveness(0, 0, nil)
	}
	return &workloads{
		kind: kind, env: environment.New(deps.Sealer), board: deps.Board, liveness: liveness,
		since:   sync.OnceValue(deps.Now),
		changes: deps.Changes,
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
	next := c.act(at, o, a)
	if at.DryRun {
		next.Actions, err = c.toTheEnd(o, a, at.Now)
	}
	return next, err
}
