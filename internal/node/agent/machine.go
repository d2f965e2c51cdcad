package agent

import (
	"context"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/version"
	"tend.dev/tend/internal/reconciler"
)

// infoTime bounds the call for the engine's facts.
const infoTime = 10 * time.Second

// conditionLimited means that the machine lacks something containers may need.
const conditionLimited = "Limited"

// machine reports the facts of the machine on request.
type machine struct {
	reconciler.Member
	agent   *Agent
	wake    chan struct{}
	started time.Time
	facts   api.NodeStatus // of the last time the engine answered; run's alone
	// name is the name of the runtime, once it has answered.
	name atomic.Pointer[string]
}

func newMachine(a *Agent) *machine {
	n := &machine{agent: a, wake: make(chan struct{}, 1), started: a.now()}
	n.Member = reconciler.NewMember(n.run)
	return n
}

// refresh requests another report; it doesn't wait for it.
func (n *machine) refresh() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *machine) run(ctx context.Context) error {
	n.facts.Hostname, _ = os.Hostname()
	n.facts.Arch, n.facts.OS = goruntime.GOARCH, goruntime.GOOS
	synced := n.agent.control.Synced() // the way to the servers is known then, and so where others reach this machine
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-synced:
			synced = nil
		case <-n.wake:
		}
		n.agent.reports.reportNode(n.status(ctx))
	}
}

func (n *machine) status(ctx context.Context) api.NodeStatus {
	status := n.facts
	status.Version = version.Version
	status.ID, status.Labels, status.StartedAt = n.agent.opts.Node, n.agent.opts.Labels, n.started
	if outside := n.agent.opts.Outside; outside != nil {
		at := outside()
		status.Address, status.RelayPort = at.Addr(), at.Port()
	}
	if trouble := n.agent.watcher.trouble.Load(); trouble != nil {
		return unready(status, *trouble)
	}
	ctx, cancel := context.WithTimeout(ctx, infoTime)
	defer cancel()
	info, err := n.agent.runtime.Info(ctx)
	if err != nil {
		return unready(status, err.Error())
	}
	n.take(&status, info)
	status.Quarantined = slices.Concat(n.agent.quarantined(), info.Quarantined, n.agent.opts.Quarantined())
	if why := n.agent.opts.Paused(); why != "" {
		status.Ready, status.Reason, status.Message = false, api.ReasonPaused, why
	}
	n.facts = status
	return status
}

func (n *machine) take(status *api.NodeStatus, info runtime.Info) {
	status.Ready, status.Reason, status.Message = true, "", ""
	n.name.Store(&info.Name)
	status.Runtime, status.RuntimeVersion, status.EngineID = info.Name, info.Version, info.ID
	status.CPUs, status.MemoryBytes = info.CPUs, info.MemoryBytes
	limited := api.Condition{Type: conditionLimited, Status: api.ConditionFalse, Reason: api.ReasonAsExpected}
	if warnings := slices.Concat(info.Warnings, n.agent.opts.Warnings()); len(warnings) > 0 {
		limited.Status, limited.Reason, limited.Message = api.ConditionTrue, "MachineLimits", strings.Join(warnings, "; ")
	}
	disk := api.Condition{Type: api.ConditionDiskPressure, Status: api.ConditionFalse, Reason: api.ReasonAsExpected}
	if info.DiskPressure != "" {
		disk.Status, disk.Reason, disk.Message, disk.Next = api.ConditionTrue, api.ReasonDiskFull, info.DiskPressure,
			runtime.FreeSpace("node "+n.agent.opts.Node)
	}
	for _, condition := range []api.Condition{limited, disk} {
		status.Conditions = api.SetCondition(status.Conditions, condition, n.agent.now())
	}
}

// runtimeName returns the name of the runtime, which it asks only once.
func (n *machine) runtimeName(ctx context.Context) (string, error) {
	if name := n.name.Load(); name != nil {
		return *name, nil
	}
	ctx, cancel := context.WithTimeout(ctx, infoTime)
	defer cancel()
	info, err := n.agent.runtime.Info(ctx)
	if err == nil {
		n.name.Store(&info.Name)
	}
	return info.Name, err
}

func unready(status api.NodeStatus, message string) api.NodeStatus {
	status.Ready, status.Reason, status.Message = false, api.ReasonEngineUnavailable, message
	return status
}

// quarantined returns the containers of this cluster whose task the store doesn't know here. They are shown and never
// touched: only a task that is desired removed has its container removed. A task is forgotten once its container is
// gone, so a container that still exists after a lookup of its task found none is not just one that is being removed.
// Before the store was read, every task seems unknown; and containers that former stops are not left alone.
func (a *Agent) quarantined() []string {
	select {
	case <-a.control.Synced():
	default:
		return nil
	}
	unknown := map[string]bool{}
	for _, c := range a.containers.all() {
		_, known := a.control.Task(c.Task())
		unknown[c.ID] = !known && !a.former.stops(c)
	}
	var names []string
	for _, c := range a.containers.all() {
		if unknown[c.ID] && c.Name != "" {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names
}

// beat renews the heartbeat until ctx ends. It does not end the lease: that expires by itself, as a restart must not
// look like a lost node.
func (a *Agent) beat(ctx context.Context) error {
	every, _ := a.pace()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if err := a.alive(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("heartbeat was not taken", "error", err)
		}
		if next, _ := a.pace(); next != every {
			every = next
			ticker.Reset(every)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (a *Agent) alive(ctx context.Context) error {
	_, lasts := a.pace()
	ctx, cancel := context.WithTimeout(ctx, lasts/2)
	defer cancel()
	return a.control.Alive(ctx, lasts)
}

// pace returns the time between two heartbeats, and the validity of one. The server's word counts, since the server
// finds the node lost. The agent's own options count until then.
func (a *Agent) pace() (every, lasts time.Duration) {
	if server, ok := a.control.(nodeapi.Leaser); ok {
		if lease := server.Lease(); lease > 0 {
			return min(a.opts.Heartbeat, lease/nodeapi.Beats), lease
		}
	}
	return a.opts.Heartbeat, a.opts.HeartbeatTTL
}
