package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/deadline"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/reconciler"
)

// Builder builds an image from source. It calls step as each step begins. The error is a *BuildError if the output says
// why.
type Builder interface {
	Build(ctx context.Context, owner api.Ref, build api.ImageBuild, step func(text string)) error
}

// BuildError is a build that failed, with the last lines of its output.
type BuildError struct {
	Err error
	Log []string
}

func (e *BuildError) Error() string { return e.Err.Error() }

// Unwrap returns the kind of failure.
func (e *BuildError) Unwrap() error { return e.Err }

// builds runs builds outside of the workers: one at a time for each owner.
type builds struct {
	builder    Builder
	operations *operations

	mu     sync.Mutex
	active map[api.Ref]*building
	begun  int
}

// building is a build under way, or one that waits for its turn, with an empty step.
type building struct {
	request imageRequest
	step    string
	cancel  context.CancelFunc
}

func newBuilds(builder Builder, operations *operations) *builds {
	return &builds{builder: builder, operations: operations, active: map[api.Ref]*building{}}
}

// begin starts the build of a request. It cancels an earlier build for the same owner.
func (b *builds) begin(from context.Context, request api.ImageRequest, l listener) {
	b.drop(request.Owner)
	wanted, cancel := context.WithCancel(context.Background())
	this := &building{request: requestOf(request), cancel: cancel}
	b.mu.Lock()
	b.active[request.Owner] = this
	b.begun++
	// Each build has its own operation key: another one of the same image may belong to another owner, or be cancelled
	// and not have noticed yet.
	key := fmt.Sprintf("build/%s/%d", request.Image, b.begun)
	b.mu.Unlock()
	b.operations.begin(from, key, func(ctx context.Context) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(wanted, stop)()
		return b.builder.Build(ctx, request.Owner, *request.Build, func(text string) {
			b.mu.Lock()
			this.step = text
			b.mu.Unlock()
			l.progress()
		})
	}, func(err error) {
		if b.finish(request.Owner, this, func() { l.record(err) }) {
			l.wake()
		}
	})
}

// drop cancels the build of an owner and reports whether there was one.
func (b *builds) drop(owner api.Ref) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	active, found := b.active[owner]
	if found {
		active.cancel()
		delete(b.active, owner)
	}
	return found
}

// finish removes a build that has ended, once its result is recorded. It returns false if another one took its place.
func (b *builds) finish(owner api.Ref, this *building, record func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	this.cancel()
	if b.active[owner] != this {
		return false
	}
	record()
	delete(b.active, owner)
	return true
}

func (b *builds) running(request imageRequest) (step string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if active := b.active[request.owner]; active != nil && active.request == request {
		return active.step, true
	}
	return "", false
}

// build builds a missing image. A failure caused by the source is not retried until another tree or another nonce is
// requested; one that may pass is, with a growing backoff.
func (a *Agent) build(
	ctx context.Context, request api.ImageRequest, under work, last, next api.ImageStatus,
) reconciler.Result {
	this := requestOf(request)
	if !under.runs {
		if err := a.imageEnd(this); err != nil && next.State == api.ImageBuilding {
			return a.buildFailed(last, next, err)
		}
	}
	if next.State == api.ImageFailed && !under.runs {
		if next.RetryAt.IsZero() {
			return reconciler.Result{}
		}
		if backoff := deadline.Left(next.RetryAt, a.now(), lastPullBackoff); backoff > 0 {
			return reconciler.Result{After: min(backoff, maxWait)}
		}
	}
	if a.builds.builder == nil {
		return a.buildFailed(last, next, &runtime.RejectedError{
			Reason: api.ReasonBuildFailed, Detail: "node " + a.opts.Node + " builds no images", Next: "name an `image` instead of `build`",
		})
	}
	if !under.runs {
		a.builds.begin(ctx, request, a.imageListener(this))
	}
	next.State, next.Step, next.ImageID, next.Digest, next.Arch = api.ImageBuilding, under.step, "", "", ""
	next.Reason, next.Message, next.Next, next.Log = "", "", "", nil
	a.reports.reportImage(last, next, a.now())
	return reconciler.Result{}
}

// imageListener returns the listener of a pull or a build for a request.
func (a *Agent) imageListener(this imageRequest) listener {
	wake := func() { a.images.Enqueue(imageKey(this.owner)) }
	return listener{progress: wake, record: func(err error) { a.imageEnded(this, err) }, wake: wake}
}

// buildFailed reports why a build failed, with the last lines of its output.
func (a *Agent) buildFailed(last, next api.ImageStatus, cause error) reconciler.Result {
	next.State, next.Step = api.ImageBuilding, ""
	if failed, ok := errors.AsType[*BuildError](cause); ok {
		next.Log = failed.Log
	}
	return a.imageFailed(last, next, cause)
}

// nameLatest tags the object's current image as <scope>-<name>:latest, even if it was built long ago. A name that the
// engine has for another image than a build of the scope stays: it was pulled.
func (a *Agent) nameLatest(ctx context.Context, owner api.Ref, image runtime.Image) {
	latest := owner.AppID() + ":latest"
	found, err := a.runtime.Resolve(ctx, latest)
	pulled := found.Origin == (runtime.Origin{}) || found.Origin.Scope != owner.Scope && found.Origin.Scope != ""
	if err == nil && (found.ID == image.ID || pulled) {
		return
	}
	if err := a.runtime.Tag(ctx, image.Reference, latest); err != nil {
		a.log.Warn("image can't be named", "image", image.Reference, "name", latest, "error", err)
	}
}
