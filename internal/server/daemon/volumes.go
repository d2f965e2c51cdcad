package daemon

import (
	"context"
	"errors"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/node/runtime"
)

// askTime bounds the wait for the engine's answer about one object: without an answer the agent decides, before it
// starts a pod.
const askTime = 2 * time.Second

// occupied returns the reason why the pods of a spec can't start, or nil. It asks only if their machine is certain: in
// a cluster of one node, the server's own.
func (d *daemon) occupied(ctx context.Context, spec api.DeploymentSpec) (verbs.Occupied, bool) {
	if d.host == nil {
		return verbs.Occupied{}, false
	}
	if nodes := d.snapshot().Nodes(); len(nodes) != 1 || nodes[0].Value.ID != d.Node {
		return verbs.Occupied{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var rejected *runtime.RejectedError
	if !errors.As(d.host.SecondWriter(ctx, spec), &rejected) {
		return verbs.Occupied{}, false
	}
	return verbs.Occupied{Detail: rejected.Detail, Next: rejected.Next}, true
}
