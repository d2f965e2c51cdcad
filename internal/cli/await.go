package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// wait is one object to wait for: until a write has been carried out, or until the object is gone.
type wait struct {
	ref        api.Ref
	revision   int64
	generation int64
	gone       bool
	// counts: wait only for the number of pods, whatever happens to a release.
	counts bool
	// build is the one the object is made of; empty if its image is declared.
	build string
}

// outcome is the state of a wait.
type outcome int

const (
	pending outcome = iota
	converged
	failed // error: nothing will change without a user
	held   // rolled back or paused
)

// seen is one observation of an object that a command waits for.
type seen struct {
	wait
	outcome outcome
	// reason is a CamelCase word for what it waits for or ended with; message is for users, and may have further lines.
	reason  string
	message string
	// why is the cause of a failure with the last log lines, where message counts pods in front of it; next is the step
	// that helps.
	why, next string
	// since is the time of the object's last write: older pods existed before.
	since time.Time
	pods  []api.Pod
	// turnsBack reports whether there is a good release to return to.
	turnsBack bool
	// lacks: it is pending because a reference points at nothing.
	lacks bool
	// needs are the objects that its release waits for before it begins.
	needs []api.Ref
	// idle: it is an ingress to a workload that is scaled to 0.
	idle bool
	// service is the name of the workload that an ingress leads to.
	service string
	// stopped: an operator stopped all of its pods, and only `tend start` brings them back.
	stopped bool
	// follows says which command runs though the rollout is complete; empty if none does.
	follows string
	// warning is what the user should know although the wait is over.
	warning string
}

// await polls until every object has an outcome. The server may go away and come back in between.
func (a *app) await(ctx context.Context, c *client.Client, waits []wait, timeout time.Duration) error {
	if len(waits) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	show := a.newProgress(waits)
	logs := a.newBuildLogs(ctx, c)
	defer logs.stop()
	began := time.Now()
	var last []seen
	for {
		looks, err := look(ctx, c, waits)
		switch {
		case err == nil:
			last = looks
			show.update(looks)
			logs.update(looks)
			if settled(looks) {
				a.warnOf(looks)
				return verdict(looks)
			}
		case ctx.Err() == nil && !transient(err):
			return err
		case ctx.Err() == nil:
			show.away(c.Server())
		}
		if err := pause(ctx, rhythm(time.Since(began))); err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				return timedOut(last, timeout)
			}
			return fmt.Errorf("%w; Tend goes on with it (`tend get` says how far it is)", err)
		}
	}
}

// rhythm returns the interval between two polls. It is short at first, because most waits are short.
func rhythm(passed time.Duration) time.Duration {
	if passed < 3*time.Second {
		return 25 * time.Millisecond
	}
	return 100 * time.Millisecond
}

// manyWaits is the number of objects from which on one call lists the pods of all, instead of one call for each.
const manyWaits = 8

func look(ctx context.Context, c *client.Client, waits []wait) ([]seen, error) {
	var all []api.Pod
	if len(waits) >= manyWaits {
		list, err := c.Pods(ctx, client.PodFilter{})
		if err != nil {
			return nil, err
		}
		all = list.Items
	}
	looks := make([]seen, len(waits))
	for i, w := range waits {
		var err error
		if looks[i], err = lookAt(ctx, c, w, all); err != nil {
			return nil, err
		}
	}
	giveUp(looks)
	return looks, nil
}

func lookAt(ctx context.Context, c *client.Client, w wait, all []api.Pod) (seen, error) {
	object, err := c.Object(ctx, w.ref)
	switch {
	case client.IsNotFound(err) && w.gone:
		return seen{wait: w, outcome: converged, reason: "Gone", message: "gone"}, nil
	case client.IsNotFound(err):
		return seen{wait: w, outcome: failed, reason: "Deleted", message: "somebody deleted it meanwhile"}, nil
	case err != nil:
		return seen{}, err
	}
	status, err := api.DecodeStatus[api.WorkloadStatus](object)
	if err != nil {
		return seen{}, err
	}
	s := judge(w, object, status)
	if w.ref.Kind == api.KindIngress {
		served, err := api.DecodeStatus[api.IngressStatus](object)
		s.idle, s.service = served.Pods == 0, cmp.Or(served.Service, object.Name)
		return s, err
	}
	if all == nil {
		list, err := c.Pods(ctx, client.PodFilter{Kind: w.ref.Kind, Scope: w.ref.Scope, Name: w.ref.Name})
		if err != nil {
			return seen{}, err
		}
		all = list.Items
	}
	for _, pod := range all {
		if pod.Owner() == w.ref {
			s.pods = append(s.pods, pod)
		}
	}
	return s, nil
}

// transient reports whether the server did not answer properly: it may be restarting.
func transient(err error) bool {
	var gone *client.UnreachableError
	if errors.As(err, &gone) {
		return !gone.Denied()
	}
	return errors.Is(err, io.ErrUnexpectedEOF) || client.StatusOf(err) >= 500
}
