package api

import (
	"slices"
	"strings"
	"time"
)

// DefaultMonitor is the default of Strategy.Monitor.
const DefaultMonitor = 5 * time.Second

// Strategy configures how outdated pods are replaced. Every field is optional.
type Strategy struct {
	// Order is "stop-first" or "start-first". Default: start-first where no host port is fixed, no volume that can be
	// written to is held, and no node that pods may be on runs plain processes.
	Order string `json:"order,omitempty" hcl:"order,optional"`
	// MaxParallel is the number of pods replaced at once. Default 1.
	MaxParallel int `json:"max_parallel,omitempty" hcl:"max_parallel,optional"`
	// Pause is waited between two pods, not after the last. Default 2s.
	Pause Duration `json:"pause,omitempty" hcl:"pause,optional"`
	// WaitReady makes the next pod wait until this one's probe passes. Default on. Off, the next one waits for Monitor
	// alone: a version that runs and is never ready then replaces every pod.
	WaitReady *bool `json:"wait_ready,omitempty" hcl:"wait_ready,optional"`
	// Monitor is the time for which a pod must be up without an exit to count as good; then the next one is touched.
	// Default 5s. Pause runs beside it. 0s trusts a pod as soon as it is ready.
	Monitor Duration `json:"monitor,omitempty" hcl:"monitor,optional"`
	// Deadline is the time in which a pod must become healthy, or it counts as failed. Default 5m. After the server was
	// away, or paused, a pod has all of it again.
	Deadline Duration `json:"deadline,omitempty" hcl:"deadline,optional"`
	// Drain is the time in which a pod that is removed may finish the requests an ingress sent it, before the stop
	// signal; it gets no new ones. Default 10s; 0s waits for none.
	Drain Duration `json:"drain,omitempty" hcl:"drain,optional"`
	// OnFailure is "pause", "rollback" or "continue". Default: rollback where the order is stop-first, since a bad version
	// leaves a gap there; pause otherwise, where the old pods serve on.
	OnFailure string `json:"on_failure,omitempty" hcl:"on_failure,optional"`
}

// DefaultDrain is the default of Strategy.Drain.
const DefaultDrain = 10 * time.Second

// The values of Strategy.Order and Strategy.OnFailure.
const (
	OrderStopFirst    = "stop-first"
	OrderStartFirst   = "start-first"
	OnFailurePause    = "pause"
	OnFailureRollback = "rollback"
	OnFailureContinue = "continue"
)

// ResolvedStrategy is a Strategy with every default filled in.
type ResolvedStrategy struct {
	Order       string
	MaxParallel int
	Pause       time.Duration
	WaitReady   bool
	Monitor     time.Duration
	Deadline    time.Duration
	Drain       time.Duration
	OnFailure   string
}

// ResolvedStrategy fills in the defaults of the deployment's strategy.
func (s DeploymentSpec) ResolvedStrategy() ResolvedStrategy {
	declared := Strategy{}
	if s.Strategy != nil {
		declared = *s.Strategy
	}
	out := ResolvedStrategy{
		Order:       declared.Order,
		MaxParallel: max(declared.MaxParallel, 1),
		Pause:       declared.Pause.Or(2 * time.Second),
		Monitor:     declared.Monitor.Or(DefaultMonitor),
		Deadline:    declared.Deadline.Or(5 * time.Minute),
		Drain:       declared.Drain.Or(DefaultDrain),
	}
	if out.Order == "" {
		out.Order = OrderStartFirst
		if s.HoldsExclusively() {
			out.Order = OrderStopFirst
		}
	}
	out.WaitReady = declared.WaitReady == nil || *declared.WaitReady
	out.OnFailure = declared.onFailure(out.Order)
	return out
}

// InOrder returns the strategy in an order that is known only where the pods run: what a failure leads to may depend on
// it.
func (s DeploymentSpec) InOrder(r ResolvedStrategy, order string) ResolvedStrategy {
	declared := Strategy{}
	if s.Strategy != nil {
		declared = *s.Strategy
	}
	r.Order, r.OnFailure = order, declared.onFailure(order)
	return r
}

// onFailure returns what a failure leads to in an order.
func (s Strategy) onFailure(order string) string {
	switch {
	case s.OnFailure != "":
		return s.OnFailure
	case order == OrderStopFirst:
		return OnFailureRollback
	}
	return OnFailurePause
}

// HoldsExclusively reports whether two containers of the spec can't run side by side on one node: a fixed host port, a
// volume that is written to, the host's network, or docker_options that publish or mount.
func (s DeploymentSpec) HoldsExclusively() bool {
	if slices.ContainsFunc(s.Volumes, writable) || len(s.Devices) > 0 || s.NetworkMode == "host" {
		return true
	}
	if slices.ContainsFunc(s.Ports, FixedHostPort) {
		return true
	}
	for _, option := range s.DockerOptions {
		for _, flag := range []string{"-p", "--publish", "-v", "--volume", "--mount", "--network", "--net",
			"--device", "--ip", "--name"} {
			if option == flag || strings.HasPrefix(option, flag+"=") ||
				(len(flag) == 2 && strings.HasPrefix(option, flag) && !strings.HasPrefix(option, "--")) {
				return true
			}
		}
	}
	return false
}

// writable reports whether an entry of volumes can be written to. Files of assets and what is mounted ro can't: any
// number of containers may read them at once.
func writable(entry string) bool {
	if AssetMount(entry) {
		return false
	}
	volume, err := ParseVolume(StandIn(entry))
	return err != nil || !slices.Contains(strings.Split(volume.Mode, ","), "ro")
}

// FixedHostPort reports whether a port entry names a port of the host: "3000:80" does, "80" and "127.0.0.1::80" don't.
func FixedHostPort(port string) bool {
	spec, err := NormalizePort(port)
	return err == nil && spec.Host.Len() > 0
}
