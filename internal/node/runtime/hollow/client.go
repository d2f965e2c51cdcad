package hollow

import (
	"context"
	"fmt"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/restart"
	"tend.dev/tend/internal/platform/delay"
)

// Runtime is a client of an Engine, for one cluster.
type Runtime struct {
	engine        *Engine
	cluster, node string
	closed        context.Context // ends with Close
	close         context.CancelFunc
}

var _ runtime.Runtime = (*Runtime)(nil)

// Client connects to the engine. The caller ends its streams with Close.
func (e *Engine) Client(cluster, node string) *Runtime {
	r := &Runtime{engine: e, cluster: cluster, node: node}
	r.closed, r.close = context.WithCancel(context.Background())
	return r
}

// Engine returns the machine behind the client.
func (r *Runtime) Engine() *Engine { return r.engine }

// Close implements runtime.Runtime.
func (r *Runtime) Close() error {
	r.close()
	return nil
}

// owns reports whether the client's machine has a container, and it is of the client's cluster.
func (r *Runtime) owns(c *container) bool {
	return c.cluster() == r.cluster && (!r.engine.opts.Apart || c.labels[api.LabelNode] == r.node)
}

// nameOn returns the key of a container's name, which is unique on each machine.
func (e *Engine) nameOn(node, name string) string {
	if !e.opts.Apart {
		return name
	}
	return node + "/" + name
}

// Info implements runtime.Runtime.
func (r *Runtime) Info(ctx context.Context) (runtime.Info, error) {
	info := runtime.Info{Name: "hollow", Version: "1", CPUs: 4, MemoryBytes: 8 << 30}
	err := r.inspect(ctx, func(e *Engine) error {
		if e.opts.CPUs > 0 {
			info.CPUs = e.opts.CPUs
		}
		if e.opts.MemoryBytes > 0 {
			info.MemoryBytes = e.opts.MemoryBytes
		}
		return nil
	})
	if err != nil {
		return runtime.Info{}, err
	}
	return info, nil
}

// List implements runtime.Runtime.
func (r *Runtime) List(ctx context.Context) ([]runtime.Container, error) {
	var out []runtime.Container
	err := r.inspect(ctx, func(e *Engine) error {
		for _, c := range e.sortedLocked() {
			if r.owns(c) {
				out = append(out, c.view())
			}
		}
		return nil
	})
	return out, err
}

// Inspect implements runtime.Runtime.
func (r *Runtime) Inspect(ctx context.Context, id string) (runtime.Container, error) {
	var out runtime.Container
	err := r.with(ctx, id, func(_ *Engine, c *container) error {
		out = c.view()
		return nil
	})
	return out, err
}

// Create implements runtime.Runtime.
func (r *Runtime) Create(ctx context.Context, spec runtime.ContainerSpec) (runtime.Container, error) {
	if err := r.begin(ctx, "create", spec.Name); err != nil {
		return runtime.Container{}, err
	}
	if err := delay.For(ctx, r.engine.delay(func(o Options) func() time.Duration { return o.CreateDelay })); err != nil {
		return runtime.Container{}, err
	}
	var out runtime.Container
	err := r.inspect(ctx, func(e *Engine) error {
		c, err := r.createLocked(spec)
		if err == nil {
			out = c.view()
		}
		return err
	})
	if err != nil {
		return runtime.Container{}, fmt.Errorf("create %s: %w", spec.Name, err)
	}
	return out, nil
}

func (r *Runtime) createLocked(spec runtime.ContainerSpec) (*container, error) {
	e := r.engine
	if held := e.names[e.nameOn(r.node, spec.Name)]; held != nil {
		if r.owns(held) && held.task() == spec.Labels[api.LabelTask] {
			held.detached = false
			return held, nil
		}
		return nil, runtime.ErrNameTaken
	}
	policy, err := policyOf(spec)
	if err != nil {
		return nil, err
	}
	if err := e.behaviourLocked(spec).CreateError; err != nil {
		return nil, err
	}
	reference := spec.ImageID
	if reference == "" {
		reference = spec.Image
	}
	image, err := e.resolveLocked(reference)
	if err != nil {
		return nil, &runtime.RejectedError{Reason: "ImageNotFound", Detail: err.Error(), Next: "pull the image first"}
	}
	return e.addLocked(spec, r.labels(spec), policy, image.ID), nil
}

func (r *Runtime) labels(spec runtime.ContainerSpec) map[string]string {
	return spec.AllLabels(spec.Spec.Labels, r.cluster, r.node)
}

func policyOf(spec runtime.ContainerSpec) (restart.Policy, error) {
	text := spec.Restart
	if text == "" {
		text = spec.Spec.Restart
	}
	if text == "" {
		text = api.DefaultRestart
	}
	policy, err := restart.Parse(text)
	if err != nil {
		return policy, &runtime.RejectedError{Reason: "InvalidRestart", Detail: err.Error()}
	}
	return policy, nil
}

// Start implements runtime.Runtime.
func (r *Runtime) Start(ctx context.Context, id string) error {
	if err := r.begin(ctx, "start", id); err != nil {
		return err
	}
	if err := delay.For(ctx, r.engine.delay(func(o Options) func() time.Duration { return o.StartDelay })); err != nil {
		return err
	}
	return r.with(ctx, id, func(e *Engine, c *container) error { return e.startLocked(c) })
}
