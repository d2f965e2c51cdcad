//go:build integration

package hosts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// requests are sent to a host's ingress, one after another, until they are stopped.
type requests struct {
	answered, failed atomic.Int64
	last             atomic.Value
	stop             chan struct{}
	running          sync.WaitGroup
}

func (h *host) load() *requests {
	r := &requests{stop: make(chan struct{})}
	r.running.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-r.stop:
				return
			case <-tick.C:
			}
			code, err := h.get("http://web.example/", h.address+":80")
			if err == nil && code == 200 {
				r.answered.Add(1)
				continue
			}
			r.failed.Add(1)
			r.last.Store(fmt.Sprint(code, " ", err))
		}
	})
	return r
}

// end stops the requests, and requires that some were answered and none failed.
func (r *requests) end(t *testing.T) {
	t.Helper()
	close(r.stop)
	r.running.Wait()
	if r.failed.Load() > 0 || r.answered.Load() == 0 {
		t.Errorf("%d requests failed, %d were answered; the last failure: %v", r.failed.Load(),
			r.answered.Load(), r.last.Load())
	}
}

// leader waits until all servers are up, and returns the host of the one that runs the controllers, and another one.
func (l *lab) leader() (leads, follows *host) {
	l.Helper()
	l.until("one server leads, and all are up", func() bool {
		leads, follows = nil, nil
		up := 0
		for _, line := range strings.Split(l.command("servers").output, "\n") {
			words := strings.Fields(line) // SERVER STATE LEADS …
			at := slices.IndexFunc(l.hosts, func(h *host) bool { return len(words) > 2 && words[0] == h.name })
			switch {
			case at < 0 || words[1] != "up":
				continue
			case words[2] == "yes":
				leads = l.hosts[at]
			default:
				follows = l.hosts[at]
			}
			up++
		}
		return up == l.servers() && leads != nil
	})
	return leads, follows
}

// servers counts the hosts that run a server.
func (l *lab) servers() (n int) {
	for _, h := range l.hosts {
		if h.serves {
			n++
		}
	}
	return n
}

// releases counts the pods of each release on the engines of all hosts but some: what runs, not what the servers
// believe.
func (l *lab) releases(but ...*host) map[string]int { return l.releasesOf("web", but...) }

func (l *lab) releasesOf(name string, but ...*host) map[string]int {
	out := map[string]int{}
	for _, h := range l.hosts {
		if slices.Contains(but, h) {
			continue
		}
		running := h.docker("ps", "--filter", "label=tend.name="+name, "--format", `{{.Label "tend.release"}}`)
		for _, release := range strings.Fields(running.output) {
			out[release]++
		}
	}
	return out
}

// runs reports whether exactly so many pods run, all of one release.
func (l *lab) runs(release string, count int, but ...*host) bool {
	is := l.releases(but...)
	return len(is) == 1 && is[release] == count
}

func TestServersOnThreeHosts(t *testing.T) {
	l := newLab(t, 3)
	observed := l.observe()
	peers := func(h *host) []string { return []string{"--peer-listen", h.address + ":2380"} }
	l.hosts[0].startServer(peers(l.hosts[0])...)
	for _, h := range l.hosts[1:] {
		h.startServer(append(peers(h), l.joining("nodes", "add", "--server")...)...)
	}
	l.leader()
	l.must("apply", "-f", l.declare("wireguard", 1, 6))
	l.until("each host has pods", func() bool { return len(l.pods()) == 3 })
	t.Run("DrainUnderLoad", func(t *testing.T) {
		var loads []*requests
		for _, h := range l.hosts {
			loads = append(loads, h.load())
		}
		l.must("drain", l.hosts[1].name)
		l.must("uncordon", l.hosts[1].name)
		for _, load := range loads {
			load.end(t)
		}
	})
	t.Run("LeaderCutInARollout", func(*testing.T) {
		leads, follows := l.leader()
		follows.must("apply", "--no-wait", "-f", l.declare("wireguard", 2, 6))
		l.until("the rollout is under way", func() bool { return l.releases()["v2"] > 0 })
		leads.cut(true)
		l.until("it ends elsewhere", func() bool { return l.runs("v2", 6, leads) })
		leads.cut(false)
		l.until("what ran on the host that was cut off is stopped", func() bool { return l.runs("v2", 6) })
	})
	onlyLong(t, "QuorumLostAndRegained", func(t *testing.T) {
		_, follows := l.leader()
		others := slices.DeleteFunc(slices.Clone(l.hosts), func(h *host) bool { return h == follows })
		before := follows.docker("ps", "--quiet").output
		for _, h := range others {
			h.cut(true)
		}
		l.until("writes are refused, and say why", func() bool {
			return strings.Contains(follows.command("scale", "--no-wait", "prod/web", "5").output, "quorum")
		})
		if after := follows.docker("ps", "--quiet").output; before != after {
			t.Errorf("without a quorum %q runs, and %q ran before", after, before)
		}
		for _, h := range others {
			h.cut(false)
		}
		l.until("writes are taken again",
			func() bool { return follows.command("scale", "--no-wait", "prod/web", "3").err == nil })
		l.until("and followed", func() bool { return l.runs("v2", 3) })
	})
	onlyLong(t, "FollowerLost", func(t *testing.T) {
		leads, follows := l.leader()
		leads.must("scale", "prod/web", "6")
		before := follows.containers("web")
		follows.tend.end(syscall.SIGKILL)
		leads.must("scale", "--no-wait", "prod/web", "8")
		l.until("writes go on, and its pods are replaced", func() bool { return l.runs("v2", 8, follows) })
		if after := follows.containers("web"); len(before) == 0 || !maps.Equal(before, after) {
			t.Errorf("without its server %s runs %v, and ran %v before", follows.name, after, before)
		}
		follows.startServer()
		l.leader()
		l.until("those too many are stopped", func() bool { return l.runs("v2", 8) })
	})
	onlyLong(t, "LeaderKilledInARollout", func(*testing.T) {
		leads, follows := l.leader()
		follows.must("apply", "--no-wait", "-f", l.declare("wireguard", 1, 6))
		l.until("the rollout is under way", func() bool { return l.releases()["v3"] > 0 })
		leads.tend.end(syscall.SIGKILL)
		l.until("it ends elsewhere", func() bool { return l.runs("v3", 6, leads) })
		leads.startServer()
		l.leader()
		l.until("what the killed one left is stopped", func() bool { return l.runs("v3", 6) })
	})
	observed.once(t, 12)
}
