package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/distribution/reference"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/healing"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/recovery"
)

// Progress is reported after this many percent, or after this time.
const (
	progressStep = 10
	progressTime = 2 * time.Second
)

// Puller pulls an image from a registry, as runtime.Runtime does.
type Puller interface {
	Pull(ctx context.Context, spec runtime.PullSpec, progress func(percent int)) (runtime.Image, error)
}

// pulls pulls images, each reference only once at a time for all its listeners. A pull that nobody listens to any more
// is cancelled: its registry may never answer, and it holds one of few places.
type pulls struct {
	runtime    runtime.Runtime
	puller     Puller
	operations *operations
	now        func() time.Time

	mu     sync.Mutex
	active map[string]*pull
	begun  int
	// missing are images of releases the engine didn't find.
	missing map[string]bool
}

// pull is a pull under way. percent is 0 to 100, or -1.
type pull struct {
	percent    int
	reportedAt time.Time
	listeners  map[string]*listener
	cancel     func()
}

// listener is notified of progress, if it wants, and of the end.
type listener struct {
	progress func()
	verify   func() error // what a pull without an error has to pass, if not nil
	// record keeps the result, under the lock under which the work ends: who finds none under way, and then no result,
	// may begin.
	record func(error)
	wake   func() // called after that, or to have the caller look again

	ended bool
	err   error
}

func newPulls(rt runtime.Runtime, puller Puller, operations *operations, now func() time.Time) *pulls {
	if puller == nil {
		puller = rt
	}
	return &pulls{runtime: rt, puller: puller, operations: operations, now: now, active: map[string]*pull{},
		missing: map[string]bool{}}
}

// begin pulls a reference, or joins the pull under way. who identifies the listener, so that it is notified only once.
// It listens to one pull at a time, and leaves any other. saw is whether the caller has seen one under way, before it
// looked for the image: if that has ended since, the caller is woken to look again.
func (p *pulls) begin(from context.Context, spec runtime.PullSpec, saw bool, who string, l listener) {
	p.beginWith(from, spec, saw, who, l, func(ctx context.Context, progress func(percent int)) error {
		_, err := p.puller.Pull(ctx, spec, progress)
		return err
	})
}

// pullKey identifies a pull under way. One that may reach less fails where another one doesn't: nobody joins it who may
// reach more.
func pullKey(spec runtime.PullSpec) string {
	if spec.Confined {
		return "confined " + spec.Reference
	}
	return spec.Reference
}

// beginWith is begin with another way to get the image.
func (p *pulls) beginWith(from context.Context, spec runtime.PullSpec, saw bool, who string, l listener,
	get func(ctx context.Context, progress func(percent int)) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	reference := pullKey(spec)
	p.leaveLocked(who, reference)
	if running := p.active[reference]; running != nil {
		running.listeners[who] = &l
		return
	}
	if saw {
		l.wake()
		return
	}
	this := &pull{percent: -1, reportedAt: p.now(), listeners: map[string]*listener{who: &l}}
	p.active[reference] = this
	p.begun++ // a cancelled pull of the same reference may not have noticed yet
	key := fmt.Sprintf("%s/%d", reference, p.begun)
	this.cancel = p.operations.begin(from, key, func(ctx context.Context) error {
		return get(ctx, func(percent int) { p.progress(this, percent) })
	}, func(err error) { p.end(reference, this, err) })
}

// leave removes a listener from every pull but that of a reference, which may be "". It cancels pulls without a
// listener.
func (p *pulls) leave(who, reference string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leaveLocked(who, reference)
}

func (p *pulls) leaveLocked(who, reference string) {
	for other, running := range p.active {
		if _, listens := running.listeners[who]; !listens || other == reference {
			continue
		}
		if delete(running.listeners, who); len(running.listeners) == 0 {
			running.cancel()
			delete(p.active, other)
		}
	}
}

func (p *pulls) progress(running *pull, percent int) {
	p.mu.Lock()
	known := running.percent >= 0 // report the first at once: a stalled pull may give no other
	if percent == running.percent ||
		known && percent < running.percent+progressStep && p.now().Sub(running.reportedAt) < progressTime {
		p.mu.Unlock()
		return
	}
	running.percent, running.reportedAt = percent, p.now()
	var listeners []func()
	for _, l := range running.listeners {
		if l.progress != nil {
			listeners = append(listeners, l.progress)
		}
	}
	p.mu.Unlock()
	for _, notify := range listeners {
		notify()
	}
}

func (p *pulls) end(reference string, ended *pull, err error) {
	p.mu.Lock()
	for l := ended.next(); l != nil; l = ended.next() {
		if l.ended, l.err = true, err; err == nil && l.verify != nil {
			p.mu.Unlock()
			l.err = recovery.Call(l.verify, "action", reference)
			p.mu.Lock()
		}
	}
	if p.active[reference] == ended {
		delete(p.active, reference)
	}
	for _, l := range ended.listeners {
		l.record(l.err)
	}
	p.mu.Unlock()
	for _, l := range ended.listeners {
		l.wake()
	}
}

// next returns a listener that has no result yet; others may join while one is verified.
func (p *pull) next() *listener {
	for _, l := range p.listeners {
		if !l.ended {
			return l
		}
	}
	return nil
}

// running returns the progress of a pull.
func (p *pulls) running(spec runtime.PullSpec) (percent int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if running := p.active[pullKey(spec)]; running != nil {
		return running.percent, true
	}
	return 0, false
}

// miss records that a release's image isn't on the node.
func (p *pulls) miss(release node.Release) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.missing[identity(release)] = true
}

func (p *pulls) found(release node.Release) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.missing, identity(release))
}

// local returns a release's image on this node. What has a registry's digest may have another id here: on each
// architecture, or with another kind of engine.
func (p *pulls) local(ctx context.Context, release node.Release) (runtime.Image, error) {
	image, err := p.runtime.Resolve(ctx, identity(release))
	if err == nil && release.ImageID == "" && !image.OpenTo(release.Scope, release.Image) {
		err = fmt.Errorf("image %s is a build of %s: %w", release.Image, image.Origin.Owner, runtime.ErrNotFound)
	}
	if release.ImageDigest != "" && errors.Is(err, runtime.ErrNotFound) {
		return p.runtime.Resolve(ctx, pinned(release))
	}
	return image, err
}

// verify checks that a pull brought the exact image of a release: a tag may have moved since. What was built gets its
// name, by which it is found when nothing needs it any more.
func (p *pulls) verify(release node.Release) error {
	_, err := p.local(p.operations.ctx, release)
	if errors.Is(err, runtime.ErrNotFound) {
		return &runtime.RejectedError{
			Reason: "ImageMoved",
			Detail: fmt.Sprintf("the image %s of release %s is gone, and %s is another one now", release.ImageID,
				release.ID, release.Image),
			Next: "apply again to roll out what the tag names now",
		}
	}
	if err == nil && release.Built {
		err = p.runtime.Tag(p.operations.ctx, release.ImageID, release.Image)
	}
	if err == nil {
		p.found(release)
	}
	return err
}

// state returns the state of a release's image for healing.
func (p *pulls) state(release node.Release) healing.ImageState {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.missing[identity(release)] {
		return healing.ImageMissing
	}
	return healing.ImageAssumed
}

// asDeclared returns a release whose image is the one of the digest that its manifest names, if it names one: what
// another node said of its id counts only where the engine's ids are such digests, for nothing else shows that an id is
// one's.
func asDeclared(release node.Release) node.Release {
	digest := api.PinnedDigest(release.Image)
	if digest == "" {
		return release
	}
	if release.ImageDigest = digest; release.ImageID != digest {
		release.ImageID = ""
	}
	return release
}

// identity identifies the image a release runs.
func identity(release node.Release) string {
	if release.ImageID != "" {
		return release.ImageID
	}
	return release.Image
}

// pinned returns the reference of the release's exact image if its registry digest is known, else its tag.
func pinned(release node.Release) string {
	named, err := reference.ParseNormalizedNamed(release.Image)
	if err != nil || release.ImageDigest == "" {
		return release.Image
	}
	_, digest, _ := cutDigest(release.ImageDigest)
	return reference.FamiliarName(named) + "@" + digest
}

// cutDigest splits the digest from "repository@digest", or returns a digest alone.
func cutDigest(text string) (repository, digest string, found bool) {
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] == '@' {
			return text[:i], text[i+1:], true
		}
	}
	return "", text, false
}
