package host

import (
	"context"

	"tend.dev/tend/internal/node/agent"
	"tend.dev/tend/internal/node/nodeapi"
)

// access is the server's access to this machine.
type access struct {
	*agent.Agent
	host *Host
}

// Access returns the server's access to this machine.
func (h *Host) Access() nodeapi.Node { return access{h.agent, h} }

// BuildLog implements nodeapi.Node.
func (a access) BuildLog(ctx context.Context, called string, follow bool, each func(line string) error) error {
	return a.host.buildLogs.Read(ctx, called, follow, each)
}
