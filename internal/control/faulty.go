package control

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store/records"
)

// decide returns the kind's step, ready to be committed; a panic is an error.
func (c *Shell) decide(o Observation) (step Step, err error) {
	err = recovery.Call(func() error {
		step, err = c.step(o)
		return err
	}, "object", o.Ref.String())
	return step, err
}

// name has the status of an object about which a panic prevents every decision name the fault. What runs goes on.
func (c *Shell) name(ctx context.Context, o Observation, cause error) (revision int64, err error) {
	var panicked *recovery.PanicError
	stored, _ := o.Get(records.StatusKey(o.Ref))
	status, known := records.StatusOf(o.Ref.Kind, stored.Value)
	if !errors.As(cause, &panicked) || !known || !o.Object.Exists() {
		return 0, nil
	}
	status.Observe(o.Object)
	held := status.Conditions()
	fault := api.Condition{
		Type: api.ConditionDegraded, Status: api.ConditionTrue, Reason: api.ReasonReconcilePanicked,
		Message: fmt.Sprintf("Tend can decide nothing about it: a panic in %s; what runs goes on", panicked.Place),
		Next: "report the lines of the server's log that say \"panic recovered\"; " +
			"a manifest without what changed last may avoid it",
	}
	next := api.SetCondition(held, fault, o.Now)
	for conditionType, value := range map[string]api.ConditionStatus{
		api.ConditionReady: api.ConditionUnknown, api.ConditionProgressing: api.ConditionFalse,
	} {
		if conditionType == api.ConditionReady || api.FindCondition(held, conditionType) != nil {
			next = api.SetCondition(next, api.Condition{Type: conditionType, Status: value, Reason: fault.Reason}, o.Now)
		}
	}
	status.SetConditions(next)
	step := Step{Status: status.Value()}
	if err := step.complete(o, true); err != nil {
		return 0, err
	}
	return c.Commit(ctx, step.Txn, step.Guard)
}

// cure takes from the status what name has put there: not every kind writes each of those conditions. The status of an
// object that is gone isn't written: its step removes it.
func (s *Step) cure(o Observation) {
	if !o.Object.Exists() {
		return
	}
	stored, _ := o.Get(records.StatusKey(o.Ref))
	was, known := records.StatusOf(o.Ref.Kind, stored.Value)
	if !known || s.Removes || !slices.ContainsFunc(was.Conditions(), named) {
		return
	}
	next := was
	if s.Status != nil {
		next, known = records.StatusOf(o.Ref.Kind, s.Status)
	}
	if known {
		next.SetConditions(slices.DeleteFunc(slices.Clone(next.Conditions()), named))
		s.Status = next.Value()
	}
}

func named(c api.Condition) bool { return c.Reason == api.ReasonReconcilePanicked }
