package agent

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/healing"
	"tend.dev/tend/internal/core/probe"
	"tend.dev/tend/internal/node/agent/prober"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/portowner"
)

func newProber(a *Agent) *prober.Prober {
	ask := a.opts.Ask
	if ask == nil {
		ask = prober.Asking(probed{a})
	}
	return prober.New(prober.Options{
		Ask: ask, Metrics: a.opts.ProbeMetrics,
		Changed: func(task string) { a.tasks.Enqueue(taskKey(task)) },
	})
}

// probing returns the known state of a task's probes, without any calls; nil while its release is unknown. A task that
// runs once has none. Where the manifest has no readiness probe, the health check of the container's image is one.
func (a *Agent) probing(task api.Task, seen *observation) *healing.Probing {
	release, known := a.releases.cached(task)
	if !known {
		return nil
	}
	out := &healing.Probing{}
	if task.Class == api.ClassKeep {
		check := checkOf(seen)
		var derived bool
		if out.Declared, derived = probe.WithImage(release.Spec.EffectiveProbes(), check); derived {
			out.Source, out.Grace = sourceOf(release.Spec), check.Grace()
		}
	}
	if target, ok := a.prober.Answers(task.ID); ok {
		out.Container, out.StartedAt, out.Answers = target.Container, target.StartedAt, target.Status
	}
	return out
}

// checkOf returns the health check of a container; nil if it has none.
func checkOf(seen *observation) *probe.Image {
	if seen == nil || seen.container.Check == nil {
		return nil
	}
	check := probe.Image(*seen.container.Check)
	return &check
}

// sourceOf returns the source of a health check that the engine reports.
func sourceOf(spec api.DeploymentSpec) string {
	for _, option := range spec.DockerOptions {
		if option == "--health-cmd" || strings.HasPrefix(option, "--health-cmd=") {
			return "docker_options"
		}
	}
	return "image"
}

// probe lets the prober follow the container if the decision says so, starting from the current state of its probes.
func (a *Agent) probe(in healing.Input, d healing.Decision) {
	switch {
	case !d.Probe || len(d.Status.Probes) == 0:
		a.prober.Leave(in.Task.ID)
	case in.Probes != nil:
		a.prober.Follow(prober.Target{
			Task: in.Task.ID, Container: in.Container.ID, StartedAt: in.Container.StartedAt,
			Probes: in.Probes.Declared, Status: d.Status.Probes, Grace: in.Probes.Grace,
		})
	}
}

// addressAge is the time for which an address is kept although it does not answer: asking the engine after every
// failure of a hundred containers would be wasted work.
const addressAge = 5 * time.Second

// probed gives the prober access to containers.
type probed struct{ agent *Agent }

// Address implements prober.Containers.
func (p probed) Address(ctx context.Context, at prober.Attempt, port int, fresh bool) (string, error) {
	if fresh && p.agent.containers.touchOlder(at.Container, addressAge) {
		defer p.agent.tasks.Enqueue(taskKey(at.Task)) // readers of its status are to learn of it as well
	}
	seen, err := p.agent.containers.observe(ctx, at.Task)
	if err != nil {
		return "", err
	}
	if seen == nil || seen.container.ID != at.Container || seen.container.State != runtime.StateRunning {
		return "", prober.ErrNotRunning
	}
	if seen.container.Address == "" {
		release, _ := p.release(at)
		return "", &prober.NoAddressError{Mode: release.Spec.NetworkMode}
	}
	return reachedAt(seen.container, port), nil
}

// reachedAt returns where a container's port is reached: at its own address. A container that shares the node's network
// and was assigned another port than it declares (a plain process) is reached at that port.
func reachedAt(c runtime.Container, port int) string {
	host := c.Address
	for _, given := range c.Ports {
		if host != api.Loopback || given.Container != port || given.Protocol != "tcp" {
			continue
		}
		if ip := net.ParseIP(given.HostIP); ip != nil && !ip.IsUnspecified() {
			host = given.HostIP
		}
		return net.JoinHostPort(host, strconv.Itoa(given.HostPort))
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// Listening implements prober.Listening, for containers with a network of their own: the ports of the node's are not
// theirs.
func (p probed) Listening(at prober.Attempt) (where []string, known bool) {
	seen, _ := p.agent.containers.known(at.Task)
	if seen == nil || seen.container.ID != at.Container || seen.container.PID == 0 ||
		seen.container.Address == api.Loopback {
		return nil, false
	}
	return portowner.Listening(seen.container.PID)
}

// Exec implements prober.Containers.
func (p probed) Exec(ctx context.Context, at prober.Attempt, command []string) (runtime.Exec, error) {
	return p.agent.runtime.Exec(ctx, at.Container, runtime.ExecOptions{Command: command})
}

// Redact implements prober.Containers: a command may print the environment.
func (p probed) Redact(at prober.Attempt, text string) string {
	release, known := p.release(at)
	if !known {
		return text
	}
	return hider(release)(text)
}

func (p probed) release(at prober.Attempt) (node.Release, bool) {
	assigned, known := p.agent.control.Task(at.Task)
	if !known {
		return node.Release{}, false
	}
	return p.agent.releases.cached(assigned.Task)
}
