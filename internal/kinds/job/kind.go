package job

import (
	"errors"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/affected"
	"tend.dev/tend/internal/control/board"
	"tend.dev/tend/internal/control/environment"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/records"
)

// Options choose what a kind needs besides the store.
type Options struct {
	// Kind is job or cronjob.
	Kind api.Kind
	// Liveness says which nodes are lost, with their runs. Default one of its own, with a timeout of 30 s.
	Liveness *owner.Liveness
}

// jobs decides about the objects of one kind.
type jobs struct {
	Options
	board    *board.Board
	env      *environment.Environments
	declared *declarations
}

// Kind returns the kind of jobs, or that of cron jobs.
func Kind(deps control.Deps, opts Options) control.Kind {
	if opts.Liveness == nil {
		opts.Liveness = owner.NewLiveness(0, 0, nil)
	}
	deps = deps.Defaults()
	c := &jobs{Options: opts, board: deps.Board, env: environment.New(deps.Sealer), declared: newDeclarations()}
	return control.Kind{
		KindInfo: opts.Kind.Info(),
		Step:     c.step,
		Rests:    true,
		Reads:    []control.Input{affected.Owner(opts.Kind, c.unsettled)},
	}
}

// step decides what is to be done about one object.
func (c *jobs) step(at control.Observation) (control.Step, error) {
	o, err := c.observe(at)
	if err != nil {
		return refuse(at, o, err)
	}
	if o.deleting() && len(o.tasks) == 0 && !owner.Clearing(at.Snapshot, o.ref) {
		return control.Finalize(at), nil
	}
	a, err := c.assess(at.Snapshot, o, at.Now)
	if err != nil {
		return control.Step{}, err
	}
	return c.act(at, o, a)
}

// refuse returns the step of an object that can't be reconciled: its conditions say why; see owner.UnworkableError.
func refuse(at control.Observation, o observed, cause error) (control.Step, error) {
	var unworkable *owner.UnworkableError
	if !errors.As(cause, &unworkable) {
		return control.Step{}, cause
	}
	status := control.Before[api.JobStatus](at)
	status.ObservedGeneration, status.ObservedRevision = o.object.Value.Metadata.Generation, o.object.Modified
	status.Conditions = unworkable.Conditions(status.Conditions, "", at.Now)
	return control.Step{Txn: begin(at, o, nil).txn, Status: status, Stalled: unworkable}, nil
}

// unsettled returns the objects that depend on the state of nodes: those without a status, those with an active run,
// and those without a release yet, whose image may be missing.
func (c *jobs) unsettled(s records.Snapshot) (out []api.Ref) {
	for object := range s.Objects(c.Kind) {
		ref := object.Value.Ref()
		status := s.JobStatus(ref).Value
		if status == nil || status.Active > 0 || status.Release == "" {
			out = append(out, ref)
		}
	}
	return out
}
