package lab

import (
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/affected"
	"tend.dev/tend/internal/control/board"
	"tend.dev/tend/internal/control/environment"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/records"
)

// Options choose what labs need besides the store.
type Options struct {
	// Liveness says which nodes are lost, with their labs. Default one of its own, with a timeout of 30 s.
	Liveness *owner.Liveness
}

// labs decides about labs.
type labs struct {
	Options
	board *board.Board
	env   *environment.Environments
	now   func() time.Time
}

// workers is the number of labs that are reconciled at once: a class begins and ends at one instant, and a commit is
// mostly waiting.
const workers = 16

// Kind returns the kind of labs.
func Kind(deps control.Deps, opts Options) control.Kind {
	deps = deps.Defaults()
	if opts.Liveness == nil {
		opts.Liveness = owner.NewLiveness(0, 0, nil)
	}
	c := &labs{Options: opts, board: deps.Board, env: environment.New(deps.Sealer), now: deps.Now}
	return control.Kind{
		KindInfo: api.KindLab.Info(),
		Step:     c.step,
		Rests:    true,
		Workers:  workers,
		Reads: []control.Input{
			affected.Owner(api.KindLab, c.onNodes),
			control.Records(func(s records.Snapshot, _ string,
				_ *api.IngressNodeStatus) []api.Ref {
				return running(s)
			}),
			control.Records(func(s records.Snapshot, _ string,
				_ *api.NetworkNodeStatus) []api.Ref {
				return running(s)
			}),
		},
	}
}

// step decides what is to be done about one lab.
func (c *labs) step(at control.Observation) (control.Step, error) {
	o, err := c.observe(at)
	if err != nil {
		return o.refuse(err, at.Now)
	}
	if o.deleting() && len(o.tasks) == 0 && !owner.Clearing(at.Snapshot, o.ref) {
		return control.Finalize(at), nil
	}
	a, err := c.assess(at.Snapshot, o, at.Now)
	if err != nil {
		return control.Step{}, err
	}
	return act(at, o, a), nil
}

// running returns the labs whose access URL depends on what nodes say of their proxy and their network: those that run.
func running(s records.Snapshot) (out []api.Ref) {
	for object := range s.Objects(api.KindLab) {
		ref := object.Value.Ref()
		if status := s.LabStatus(ref).Value; status != nil && status.Phase == api.LabRunning {
			out = append(out, ref)
		}
	}
	return out
}

// onNodes returns the labs that depend on the state of nodes: those that run, and those that would if they could. One
// whose instant has not come, or that is over and gone, costs nothing when a node changes.
func (c *labs) onNodes(s records.Snapshot) (out []api.Ref) {
	now := c.now()
	for object := range s.Objects(api.KindLab) {
		ref := object.Value.Ref()
		status := s.LabStatus(ref).Value
		if status == nil || !resting(*status, now) || len(s.TasksOf(ref)) > 0 {
			out = append(out, ref)
		}
	}
	return out
}

// resting reports whether time changes nothing about a lab now.
func resting(status api.LabStatus, now time.Time) bool {
	return status.Phase.Ended() || status.Phase == api.LabPending && now.Before(status.StartsAt)
}
