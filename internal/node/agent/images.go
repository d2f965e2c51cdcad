package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/distribution/reference"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/deadline"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/reconciler"
)

// The backoff between two pulls of an image that fails.
const (
	firstPullBackoff = 10 * time.Second
	lastPullBackoff  = 5 * time.Minute
)

// reconcileImage answers one image request: which image the reference names on this node, or why there is none. A tag
// that moved locally is noticed at the next reconcile, which image events cause.
func (a *Agent) reconcileImage(ctx context.Context, key reconciler.Key) (reconciler.Result, error) {
	owner := imageOwner(key)
	assigned := a.control.Image(owner)
	if !assigned.Requested {
		a.builds.drop(owner)
		a.pulls.leave(imageListenerName(owner), "")
		if assigned.Answered {
			a.reports.forgetImage(owner)
		}
		return reconciler.Result{}, nil
	}
	if a.watcher.trouble.Load() != nil {
		return reconciler.Result{}, nil // the watcher requeues all requests when the engine is back
	}
	last, this := a.reports.image(assigned, owner), requestOf(assigned.Request)
	a.pulls.leave(imageListenerName(owner), pullKey(this.pull()))
	next := answer(last, assigned.Request, a.opts.Node)
	// Before it looks for the image and for an error: what has ended by now has left one of the two.
	under := a.underWay(assigned.Request)
	image, err := a.resolve(ctx, assigned.Request)
	var found node.FoundImage
	if err == nil {
		found, err = a.found(ctx, image)
	}
	switch {
	case err == nil:
		_ = a.imageEnds.take(owner) // the image exists, whatever the result of its last attempt
		present(&next, found)
		if assigned.Request.Build != nil {
			a.nameLatest(ctx, owner, image)
		}
		a.reports.reportImage(last, next, a.now())
		return reconciler.Result{}, nil
	case errors.Is(err, runtime.ErrUnavailable):
		return reconciler.Result{}, err
	case !errors.Is(err, runtime.ErrNotFound):
		return a.imageFailed(last, next, err), nil
	}
	if assigned.Request.Build != nil {
		return a.build(ctx, assigned.Request, under, last, next), nil
	}
	return a.fetch(ctx, this, under, last, next), nil
}

// work is a pull or a build under way for a request, if there is one.
type work struct {
	runs    bool
	percent int    // of a pull, or -1
	step    string // of a build
}

func (a *Agent) underWay(request api.ImageRequest) (under work) {
	this := requestOf(request)
	if request.Build != nil {
		under.step, under.runs = a.builds.running(this)
		return under
	}
	if under.percent, under.runs = a.pulls.running(this.pull()); !under.runs {
		under.percent = -1
	}
	return under
}

func (r imageRequest) pull() runtime.PullSpec {
	return runtime.PullSpec{Reference: r.image, Confined: r.confined}
}

// resolve returns the local image that a request names. A build that the request's object may not use counts as absent:
// the image is pulled, or built.
func (a *Agent) resolve(ctx context.Context, request api.ImageRequest) (runtime.Image, error) {
	image, err := a.runtime.Resolve(ctx, request.Image)
	if err != nil {
		return image, err
	}
	scope, origin := request.Owner.Scope, image.Origin
	open := image.OpenTo(scope, request.Image)
	if build := request.Build; build != nil { // an earlier version of Tend left no scope
		open = origin == (runtime.Origin{}) || origin.Build == build.ID && (origin.Scope == scope || origin.Scope == "")
	}
	if !open {
		return image, fmt.Errorf("image %s is a build of %s: %w", request.Image, origin.Owner, runtime.ErrNotFound)
	}
	return image, nil
}

// imageRequest identifies the request that a pull or a build was started for. The owner's uid is part of it: an object
// that was deleted and created again inherits nothing that was under way for the old one.
type imageRequest struct {
	owner      api.Ref
	uid, image string
	confined   bool
}

func requestOf(request api.ImageRequest) imageRequest {
	return imageRequest{owner: request.Owner, uid: request.OwnerUID, image: request.Image, confined: request.Confined}
}

// endedRequest is the error that a pull or a build ended with.
type endedRequest struct {
	of  imageRequest
	err error
}

func (e *endedRequest) Error() string { return e.err.Error() }

// imageEnded keeps the error of a pull or a build until its request is reconciled.
func (a *Agent) imageEnded(of imageRequest, err error) {
	if err != nil {
		a.imageEnds.put(of.owner, &endedRequest{of, err})
	}
}

// imageEnd returns, once, the error that the last pull or build for this request ended with.
func (a *Agent) imageEnd(of imageRequest) error {
	var ended *endedRequest
	if errors.As(a.imageEnds.take(of.owner), &ended) && ended.of == of {
		return ended.err
	}
	return nil
}

// answer returns the status to continue from: the last one if it is about the same request.
func answer(last api.ImageStatus, request api.ImageRequest, node string) api.ImageStatus {
	if last.Answers(request) {
		return last
	}
	return api.ImageStatus{
		Owner: request.Owner, OwnerUID: request.OwnerUID, Node: node, Image: request.Image, Nonce: request.Nonce,
	}
}

func present(status *api.ImageStatus, found node.FoundImage) {
	*status = api.ImageStatus{
		Owner: status.Owner, OwnerUID: status.OwnerUID, Node: status.Node, Image: status.Image, Nonce: status.Nonce,
		UpdatedAt: status.UpdatedAt,
		State:     api.ImagePresent, ImageID: found.ID, Digest: found.Digest, Arch: found.Arch, Runtime: found.Runtime,
	}
}

func (a *Agent) found(ctx context.Context, image runtime.Image) (node.FoundImage, error) {
	name, err := a.machine.runtimeName(ctx)
	return node.FoundImage{ID: image.ID, Digest: image.Digest, Arch: image.Arch, Runtime: name}, err
}

// FindImage implements nodeapi.Node.
func (a *Agent) FindImage(ctx context.Context, scope, name string) (node.FoundImage, error) {
	if a.watcher.trouble.Load() != nil {
		return node.FoundImage{}, runtime.ErrUnavailable
	}
	image, err := a.resolve(ctx, api.ImageRequest{Owner: api.Ref{Scope: scope}, Image: name})
	if err != nil {
		return node.FoundImage{}, err
	}
	return a.found(ctx, image)
}

// fetch pulls a missing image: at once the first time, after a growing backoff when it failed.
func (a *Agent) fetch(
	ctx context.Context, this imageRequest, under work, last, next api.ImageStatus,
) reconciler.Result {
	owner := this.owner
	if err := a.imageEnd(this); err != nil && next.State == api.ImagePulling {
		return a.imageFailed(last, next, err)
	}
	if of, again := a.retries.LoadAndDelete(owner); again && of == this && next.State == api.ImageFailed {
		next.RetryAt, next.Attempts = time.Time{}, 0
	}
	if backoff := deadline.Left(next.RetryAt, a.now(), lastPullBackoff); !under.runs &&
		next.State == api.ImageFailed && backoff > 0 {
		return reconciler.Result{After: min(backoff, maxWait)}
	}
	// It joins one that is under way for another owner.
	a.pulls.begin(ctx, this.pull(), under.runs, imageListenerName(owner), a.imageListener(this))
	next.State, next.Progress, next.ImageID, next.Digest, next.Arch = api.ImagePulling, under.percent, "", "", ""
	a.reports.reportImage(last, next, a.now())
	return reconciler.Result{}
}

func imageListenerName(owner api.Ref) string { return "image/" + owner.String() }

// retryImages retries every failed pull from a registry at once.
func (a *Agent) retryImages(host string) {
	for _, owner := range a.control.Images() {
		assigned := a.control.Image(owner)
		named, err := reference.ParseNormalizedNamed(assigned.Request.Image)
		if err == nil && reference.Domain(named) == host && assigned.Status.State == api.ImageFailed {
			a.retries.Store(owner, requestOf(assigned.Request))
			a.images.Enqueue(imageKey(owner))
		}
	}
}

// imageFailed reports in plain words why a pull failed, and when it is retried.
func (a *Agent) imageFailed(last, next api.ImageStatus, cause error) reconciler.Result {
	backoff := lastPullBackoff
	if next.Attempts < 5 {
		backoff = min(firstPullBackoff<<next.Attempts, lastPullBackoff)
	}
	if left := deadline.Left(next.RetryAt, a.now(), lastPullBackoff); next.State == api.ImageFailed && left > 0 {
		return reconciler.Result{After: min(left, maxWait)}
	}
	built := next.State == api.ImageBuilding
	next.State, next.Progress = api.ImageFailed, 0
	next.Attempts++
	next.RetryAt = a.now().Add(backoff)
	next.Reason, next.Message, next.Next = "PullFailed", cause.Error(), ""
	if built {
		next.Reason = api.ReasonBuildFailed
	}
	var rejected *runtime.RejectedError
	var transient *runtime.TransientError
	switch {
	case errors.As(cause, &rejected):
		next.Reason, next.Message, next.Next = rejected.Reason, rejected.Detail, rejected.Next
		if built {
			next.RetryAt, backoff = time.Time{}, 0 // the same source fails the same way
		}
	case errors.As(cause, &transient):
		next.Reason, next.Message, next.Next = transient.Reason, transient.Detail, transient.Next
	}
	a.log.Warn("image can't be had", "image", next.Image, "object", next.Owner.String(), "reason",
		next.Reason, "error", cause)
	a.reports.reportImage(last, next, a.now())
	return reconciler.Result{After: min(backoff, maxWait)}
}

func imageOwner(key reconciler.Key) api.Ref {
	kind, name, _ := strings.Cut(key.Name, "/")
	return api.Ref{Kind: api.Kind(kind), Scope: key.Scope, Name: name}
}

// SaveImage implements nodeapi.Node.
func (a *Agent) SaveImage(ctx context.Context, id string, has node.Part) (io.ReadCloser, error) {
	return nodeapi.SendFrom(func() (io.ReadCloser, error) { return a.runtime.SaveImage(ctx, id) }, has)
}
