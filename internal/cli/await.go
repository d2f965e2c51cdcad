package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// wait is one object to wait for: until a write has been carried out, or until the object is gone.
type wait struct {
	ref      api.Ref
	revision int64
	gone     bool
}

// outcome is where a wait stands.
type outcome int

const (
	pending outcome = iota
	converged
	failed // error: nothing will change without a person
	held   // rolled back or paused
)

// seen is what one look at a waited-for object found.
type seen struct {
	wait
	outcome outcome
	status  api.WorkloadStatus
	pods    []api.Pod
	message string
}

// await looks until every object has an outcome. The server may go away and come back meanwhile.
func (a *app) await(ctx context.Context, c *client.Client, waits []wait, timeout time.Duration, quiet bool) error {
	if len(waits) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	show := a.newProgress(quiet)
	var last []seen
	for {
		looks, err := look(ctx, c, waits)
		switch {
		case err == nil:
			last = looks
			show.update(looks)
			if settled(looks) {
				show.end()
				return verdict(looks)
			}
		case ctx.Err() == nil && !unreachable(err):
			show.end()
			return err
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			show.end()
			if errors.Is(err, context.DeadlineExceeded) {
				return timedOut(last, timeout)
			}
			return err
		}
	}
}

func look(ctx context.Context, c *client.Client, waits []wait) ([]seen, error) {
	looks := make([]seen, len(waits))
	pods, err := c.Pods(ctx, client.PodFilter{})
	if err != nil {
		return nil, err
	}
	for i, w := range waits {
		object, err := c.Object(ctx, w.ref)
		switch {
		case client.IsNotFound(err):
			looks[i] = seen{wait: w, outcome: converged, message: "gone"}
			if !w.gone {
				looks[i].outcome, looks[i].message = failed, "it was deleted meanwhile"
			}
			continue
		case err != nil:
			return nil, err
		}
		status, err := api.DecodeStatus[api.WorkloadStatus](object)
		if err != nil {
			return nil, err
		}
		looks[i] = judge(w, object, status)
		for _, pod := range pods.Items {
			if pod.Owner() == w.ref {
				looks[i].pods = append(looks[i].pods, pod)
			}
		}
	}
	return looks, nil
}

// judge says where a wait stands by the object's own conditions.
func judge(w wait, object api.Object, status api.WorkloadStatus) seen {
	s := seen{wait: w, status: status}
	ready := api.FindCondition(status.Conditions, api.ConditionReady)
	progressing := api.FindCondition(status.Conditions, api.ConditionProgressing)
	switch {
	case w.gone:
		s.message = fmt.Sprintf("deleting: %d running", status.Running)
	case object.Metadata.Deleting():
		s.outcome, s.message = failed, "it is being deleted"
	case ready == nil || progressing == nil || status.ObservedRevision < w.revision:
		s.message = "waiting for the controller"
	case ready.Status == api.ConditionTrue:
		s.outcome, s.message = converged, ready.Message
	case status.Rollout != nil && status.Rollout.Failed != nil && status.Rollout.Phase == api.RolloutRolledBack:
		s.outcome, s.message = held, ready.Message
	case progressing.Status == api.ConditionFalse && progressing.Reason == "Paused":
		s.outcome, s.message = held, ready.Message
	case progressing.Status == api.ConditionFalse:
		s.outcome, s.message = failed, ready.Message
	default:
		s.message = ready.Message
	}
	return s
}

func settled(looks []seen) bool {
	for _, s := range looks {
		if s.outcome == pending {
			return false
		}
	}
	return true
}

func verdict(looks []seen) error {
	worst := &exitStatus{}
	for _, s := range looks {
		text := fmt.Sprintf("%s: %s", s.ref, s.message)
		switch {
		case s.outcome == failed && worst.code != exitError:
			worst = &exitStatus{code: exitError, text: text}
		case s.outcome == held && worst.code == exitOK:
			worst = &exitStatus{code: exitPaused, text: text}
		}
	}
	if worst.code == exitOK {
		return nil
	}
	return worst
}

func timedOut(looks []seen, timeout time.Duration) error {
	text := fmt.Sprintf("not converged after %s; Tend goes on working at it (`tend describe` says where it stands)", timeout)
	for _, s := range looks {
		if s.outcome == pending {
			text += fmt.Sprintf("\n  %s: %s", s.ref, s.message)
		}
	}
	return &exitStatus{code: exitTimeout, text: text}
}

// unreachable says whether the server did not answer at all: it may be restarting.
func unreachable(err error) bool {
	var gone *client.UnreachableError
	return errors.As(err, &gone) || client.StatusOf(err) == http.StatusServiceUnavailable
}

// isTerminating says whether an apply met an object that is still being deleted.
func isTerminating(err error) bool {
	var problem *api.Problem
	return errors.As(err, &problem) && problem.Status == http.StatusConflict && problem.Title == "Terminating"
}
