package simulation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// In half of the worlds with several machines the last one runs plain processes, while all applied workloads need an
// engine's image: no container may ever be requested there.

// plainNode returns the node that runs plain processes, or "".
func (w *World) plainNode() string {
	if w.several() && w.opts.Seed/10%2 == 1 {
		return fmt.Sprintf("n%d", w.machines())
	}
	return ""
}

// plain is the runtime of that node. It has no image of an engine, and can load none.
type plain struct {
	runtime.Runtime
	w    *World
	node string
}

var errNoFolder = &runtime.RejectedError{Reason: api.ReasonImageNotFound, Detail: "no folder and no OCI image layout",
	Next: "name a folder"}

func (p *plain) Info(ctx context.Context) (runtime.Info, error) {
	info, err := p.Runtime.Info(ctx)
	if err == nil {
		info.Name = api.RuntimeProcess
	}
	return info, err
}

func (p *plain) Resolve(_ context.Context, reference string) (runtime.Image, error) {
	return runtime.Image{}, fmt.Errorf("image %s: %w", reference, runtime.ErrNotFound)
}

func (p *plain) Pull(context.Context, runtime.PullSpec, func(percent int)) (runtime.Image, error) {
	return runtime.Image{}, errNoFolder
}

func (p *plain) LoadImage(context.Context, string, io.Reader) error {
	return errors.New("it is not an image of plain processes")
}

func (p *plain) Create(_ context.Context, spec runtime.ContainerSpec) (runtime.Container, error) {
	p.w.fail("a container of %s was asked of %s, which runs plain processes", spec.Image, p.node)
	return runtime.Container{}, errNoFolder
}

// curses are the containers that the engine can never start again, by id.
type curses struct {
	mu sync.Mutex
	of map[string]bool
}

// curse ends a container, and makes the engine keep a remnant that blocks every later start.
func curse(w *World, random *rand.Rand) {
	container, ok := w.pick(random)
	if !ok || w.away.Load() || container.State != runtime.StateRunning {
		return
	}
	w.count.faults.Add(1)
	w.storyf("%s ends, and the engine can't start it again", container.Name)
	w.curses.mu.Lock()
	if w.curses.of == nil {
		w.curses.of = map[string]bool{}
	}
	w.curses.of[container.ID] = true
	w.curses.mu.Unlock()
	_ = w.engine.StopByHand(container.ID) // an ended one stays ended
}

// starts refuses the start of a container that is cursed.
func (w *World) starts(verb, id string) error {
	w.curses.mu.Lock()
	defer w.curses.mu.Unlock()
	if verb == "start" && w.curses.of[id] {
		return errors.New("task already exists")
	}
	return nil
}
