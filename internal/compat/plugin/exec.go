package plugin

import (
	"context"
	"fmt"
)

// Exec runs a command and returns its answer unchanged; the answer's actions are not performed. The command's stdin is
// empty.
func (p *Plugin) Exec(
	ctx context.Context, command string, args []string, env map[string]string, endpoint Endpoint,
) (Envelope, error) {
	for name, value := range env {
		if !p.mayAdd(name, value) {
			return Envelope{}, &Error{Reason: Refused, Plugin: p.Folder(), Command: command,
				Detail: fmt.Sprintf("the variable %.100q can't be set for it", name),
				Next:   "a caller sets variables that begin with VOODU_ or TEND_PLUGIN_, and none that the plugin's plugin.yml sets"}
		}
	}
	return p.do(ctx, Call{Command: command, Args: args, Env: env, Endpoint: endpoint})
}
