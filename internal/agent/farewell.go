package agent

import (
	"context"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/procfs"

	"tend.dev/tend/api"
)

// The times of a pod's end beside proxies on other nodes.
const (
	// learning is how long those take at least to learn that the pod goes.
	learning = 500 * time.Millisecond
	// looking is the interval between two looks at its connections.
	looking = 50 * time.Millisecond
)

// drainOthers waits until the proxies of other nodes know that a pod goes, and have no connection to it, for at most the
// time given. What they have in flight is seen only in the pod's own connections.
func (a *Agent) drainOthers(ctx context.Context, task api.Task, limit time.Duration) {
	proxies := a.otherProxies(task)
	if limit <= 0 || len(proxies) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	wait := time.NewTimer(min(learning, limit))
	defer wait.Stop()
	for {
		select {
		case <-wait.C:
		case <-ctx.Done():
			return
		}
		seen, _ := a.containers.known(task.ID)
		if seen == nil || seen.container.PID == 0 || connections(filepath.Join("/proc", strconv.Itoa(seen.container.PID)), proxies) == 0 {
			return
		}
		wait.Reset(looking)
	}
}

// otherProxies returns the addresses from which the proxies of other nodes reach a task's pod, if an ingress sends it requests.
func (a *Agent) otherProxies(task api.Task) (out []netip.Addr) {
	if _, served := a.control.Served().Services[task.Scope+"/"+task.Name]; !served {
		return nil
	}
	for _, peer := range a.control.Network().Peers {
		out = append(out, peer.Subnet.Masked().Addr())
	}
	return out
}

// connections counts the open connections of a process's network from some addresses. A network that can't be read has none.
func connections(process string, from []netip.Addr) (count int) {
	fs, err := procfs.NewFS(process)
	if err != nil {
		return 0
	}
	const established = 1
	for _, read := range []func() (procfs.NetTCP, error){fs.NetTCP, fs.NetTCP6} {
		lines, err := read()
		if err != nil {
			continue
		}
		for _, line := range lines {
			remote, ok := netip.AddrFromSlice(line.RemAddr)
			if ok && line.St == established && slices.Contains(from, remote.Unmap()) {
				count++
			}
		}
	}
	return count
}
