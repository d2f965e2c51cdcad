package runtime

import (
	"context"
	"io"
	"time"
)

// Around returns inner with each call run by between, which gets the verb of the call, such as create or save_image.
// Close and the calls that outlast their return (Events, WatchProcesses, Logs, Exec) pass through. As finds inner
// through it.
func Around(
	inner Runtime, between func(ctx context.Context, verb string, call func(context.Context) error) error,
) Runtime {
	return &around{inner, between}
}

// around is a runtime whose calls run within between.
type around struct {
	Runtime
	between func(ctx context.Context, verb string, call func(context.Context) error) error
}

// Unwrap returns the runtime inside; see As.
func (a *around) Unwrap() Runtime { return a.Runtime }

// answered runs a call that returns a value. If the call or between fails, it returns the zero value with the error.
func answered[T any](
	ctx context.Context, a *around, verb string, call func(context.Context) (T, error),
) (answer T, err error) {
	err = a.between(ctx, verb, func(ctx context.Context) (err error) {
		answer, err = call(ctx)
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return answer, nil
}

func (a *around) Info(ctx context.Context) (Info, error) {
	return answered(ctx, a, "info", a.Runtime.Info)
}

func (a *around) List(ctx context.Context) ([]Container, error) {
	return answered(ctx, a, "list", a.Runtime.List)
}

func (a *around) Inspect(ctx context.Context, id string) (Container, error) {
	return answered(ctx, a, "inspect", func(ctx context.Context) (Container, error) { return a.Runtime.Inspect(ctx, id) })
}

func (a *around) Create(ctx context.Context, spec ContainerSpec) (Container, error) {
	return answered(ctx, a, "create", func(ctx context.Context) (Container, error) { return a.Runtime.Create(ctx, spec) })
}

func (a *around) Start(ctx context.Context, id string) error {
	return a.between(ctx, "start", func(ctx context.Context) error { return a.Runtime.Start(ctx, id) })
}

func (a *around) Stop(ctx context.Context, id string, grace time.Duration) error {
	return a.between(ctx, "stop", func(ctx context.Context) error { return a.Runtime.Stop(ctx, id, grace) })
}

func (a *around) Remove(ctx context.Context, id string) error {
	return a.between(ctx, "remove", func(ctx context.Context) error { return a.Runtime.Remove(ctx, id) })
}

func (a *around) EnsureVolume(ctx context.Context, name string, labels map[string]string) error {
	return a.between(ctx, "ensure_volume", func(ctx context.Context) error { return a.Runtime.EnsureVolume(ctx, name, labels) })
}

func (a *around) RemoveVolume(ctx context.Context, name string, labels map[string]string) error {
	return a.between(ctx, "remove_volume", func(ctx context.Context) error { return a.Runtime.RemoveVolume(ctx, name, labels) })
}

func (a *around) Resolve(ctx context.Context, reference string) (Image, error) {
	return answered(ctx, a, "resolve", func(ctx context.Context) (Image, error) { return a.Runtime.Resolve(ctx, reference) })
}

func (a *around) Pull(ctx context.Context, spec PullSpec, progress func(int)) (Image, error) {
	return answered(ctx, a, "pull", func(ctx context.Context) (Image, error) { return a.Runtime.Pull(ctx, spec, progress) })
}

// SaveImage passes the caller's context to the call: the returned reader outlives it.
func (a *around) SaveImage(ctx context.Context, id string) (io.ReadCloser, error) {
	return answered(ctx, a, "save_image", func(context.Context) (io.ReadCloser, error) { return a.Runtime.SaveImage(ctx, id) })
}

func (a *around) LoadImage(ctx context.Context, id string, content io.Reader) error {
	return a.between(ctx, "load_image", func(ctx context.Context) error { return a.Runtime.LoadImage(ctx, id, content) })
}

func (a *around) Build(ctx context.Context, spec BuildSpec, output func(line string)) (Image, error) {
	return answered(ctx, a, "build", func(ctx context.Context) (Image, error) { return a.Runtime.Build(ctx, spec, output) })
}

func (a *around) Built(ctx context.Context) ([]BuiltImage, error) {
	return answered(ctx, a, "built", a.Runtime.Built)
}

func (a *around) Tag(ctx context.Context, image, reference string) error {
	return a.between(ctx, "tag", func(ctx context.Context) error { return a.Runtime.Tag(ctx, image, reference) })
}

func (a *around) Untag(ctx context.Context, reference string) error {
	return a.between(ctx, "untag", func(ctx context.Context) error { return a.Runtime.Untag(ctx, reference) })
}

func (a *around) Stats(ctx context.Context, id string) (Stats, error) {
	return answered(ctx, a, "stats", func(ctx context.Context) (Stats, error) { return a.Runtime.Stats(ctx, id) })
}
