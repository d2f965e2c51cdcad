package agent

import (
	"context"
	"errors"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/runtime"
)

// pullRelease gets the image of a release. Everything on this node that waits for the image shares one transfer.
func (a *Agent) pullRelease(ctx context.Context, task api.Task, release node.Release) (waits bool, err error) {
	spec := runtime.PullSpec{Reference: identity(release), Confined: release.Confined}
	_, under := a.pulls.running(spec)
	if _, err := a.pulls.local(ctx, release); err == nil {
		a.pulls.found(release)
		return false, nil
	}
	if !under {
		if err := a.taskEnds.take(task.ID); err != nil {
			return false, err // it has ended since this reconcile began
		}
	}
	heard := listener{
		verify: func() error { return a.pulls.verify(release) },
		record: func(err error) { a.taskEnds.put(task.ID, err) },
		wake:   func() { a.tasks.Enqueue(taskKey(task.ID)) },
	}
	get := func(ctx context.Context, progress func(int)) error { return a.obtain(ctx, task, release, progress) }
	a.pulls.beginWith(ctx, spec, under, taskListenerName(task.ID), heard, get)
	return true, nil
}

func taskListenerName(task string) string { return "task/" + task }

// obtain gets a release's image from where it comes from: what has a registry's digest from there, anything else from a
// node that has it. If that fails, it tries the other.
func (a *Agent) obtain(ctx context.Context, task api.Task, release node.Release, progress func(int)) error {
	if _, err := a.pulls.local(ctx, release); err == nil {
		return nil // another task's transfer has ended since this one looked
	}
	spec := runtime.PullSpec{Reference: pinned(release), Confined: release.Confined}
	pull := func() error {
		_, err := a.pulls.puller.Pull(ctx, spec, progress)
		return err
	}
	fetch := func() error { return a.copyImage(ctx, task, release) }
	switch {
	case release.ImageID == "":
		return pull()
	case release.Built:
		return lost(release, fetch())
	case release.ImageDigest != "":
		pulled := pull()
		if pulled == nil || errors.Is(pulled, runtime.ErrUnavailable) {
			return pulled
		}
		return instead(release, fetch(), pulled)
	}
	fetched := fetch()
	if !absent(fetched) {
		return lost(release, fetched)
	}
	return instead(release, fetched, pull())
}

// absent reports whether no node that is connected has the image.
func absent(fetched error) bool {
	return errors.Is(fetched, node.ErrNoImage) || errors.Is(fetched, node.ErrNotConnected)
}

// instead returns the error of an image that both ways were tried for.
func instead(release node.Release, fetched, pulled error) error {
	switch {
	case fetched == nil || pulled == nil:
		return nil
	case errors.Is(fetched, node.ErrNoImage):
		return pulled
	}
	return lost(release, fetched)
}

// lost explains why an image that no registry has can't be fetched.
func lost(release node.Release, fetched error) error {
	switch {
	case errors.Is(fetched, node.ErrNoImage):
		return &runtime.RejectedError{
			Reason: api.ReasonImageGone, Detail: "the image " + release.Image + " of release " + release.ID +
				" is on no node any more",
			Next: "Tend builds it again from its source, and rolls it out",
		}
	case errors.Is(fetched, node.ErrNotConnected):
		next := "start the agent of that node, or push the image to a registry"
		if release.Built {
			next = "start the agent of that node; or tend apply --force, which builds the image again"
		}
		return &runtime.TransientError{Reason: api.ReasonImageAway, Detail: fetched.Error(), Next: next}
	}
	if errors.Is(fetched, runtime.ErrOtherImage) {
		return &runtime.TransientError{Reason: "BrokenImage", Detail: "fetch the image " + release.Image + ": " +
			fetched.Error(), Next: "Tend retries; if it stays, push the image to a registry"}
	}
	return fetched
}
