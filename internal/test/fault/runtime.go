package fault

import (
	"context"

	"tend.dev/tend/internal/node/runtime"
)

// Runtime adds points before and after every call of a runtime, including reads, since an agent acts on them. Close
// always reaches the runtime: the machine closes the files of a dead process.
func (p *Points) Runtime(inner runtime.Runtime) runtime.Runtime {
	if p == nil {
		return inner
	}
	between := func(ctx context.Context, verb string, call func(context.Context) error) error {
		return p.call(ctx, "runtime."+verb, call)
	}
	return &faultyRuntime{runtime.Around(inner, between), p}
}

type faultyRuntime struct {
	runtime.Runtime
	points *Points
}
