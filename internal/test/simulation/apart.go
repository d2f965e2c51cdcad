package simulation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/agent"
	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/node/member"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/test/fault"
)

// In some worlds agents are separate processes, each connected to the server by a cable: one, or three with machines of
// their own. Agents crash, cables are cut or stall, machines lose power. The oracle's rules hold in these worlds too.

// machines returns the number of agents that are separate processes.
func (w *World) machines() int {
	if w.shared() {
		return 3
	}
	switch w.opts.Seed % 10 {
	case 5:
		return 1
	case 1:
		return 3
	}
	return 0
}

// apart reports whether agents are separate processes, several whether they have machines of their own.
func (w *World) apart() bool   { return w.machines() > 0 }
func (w *World) several() bool { return w.machines() > 1 }

// machine is a machine with an agent, between two restarts.
type machine struct {
	w     *World
	node  string
	cable *cable
	// off is set while the machine has no power.
	off atomic.Bool

	edge   *edge
	faults *fault.Points
	cancel context.CancelFunc
	done   chan struct{}
	err    error // valid once done is closed
}

// settleMachines creates the world's machines, without agents.
func (w *World) settleMachines() {
	for n := range w.machines() {
		w.agents = append(w.agents, &machine{w: w, node: fmt.Sprintf("n%d", n+1), cable: newCable()})
	}
	if w.lied() {
		w.liar = &liar{w: w, cable: newCable()}
	}
}

// root is the folder of the agent's own files.
func (m *machine) root() string {
	return filepath.Join(m.w.root, "..", filepath.Base(m.w.root)+"-"+m.node)
}

// start begins a life of the agent's process.
func (m *machine) start() {
	w := m.w
	ctx, cancel := context.WithCancel(context.Background())
	faults, done, proxy := fault.New(fault.Options{CrashWhen: w.crashes}), make(chan struct{}), &edge{}
	m.edge, m.cancel, m.done, m.faults = proxy, cancel, done, faults
	go func() {
		defer close(done)
		token := m.joinToken(ctx)
		if ctx.Err() != nil {
			return
		}
		m.err = member.Run(ctx, member.Options{
			Options: host.Options{
				Root: m.root(), Node: m.node, Runtime: "hollow", AroundRuntime: faults.Runtime, MinFree: -1, Logger: w.logger(),
				Edge: func(func()) agent.Edge { return proxy },
				Engine: func(cluster, node string) (runtime.Runtime, error) {
					return w.engineFor(cluster, node), nil
				},
				Ask: w.answerProbe, Now: w.now, Relay: proxy.relay,
			},
			Server: "https://server:8688", Token: token, Dial: m.cable.dial,
		})
	}()
	go func() {
		select {
		case <-faults.Crashed():
			cancel()
		case <-done:
		}
	}()
}

// joinToken returns the token with which the agent joins, or "" once it has joined.
func (m *machine) joinToken(ctx context.Context) string {
	for ctx.Err() == nil {
		if _, err := os.Stat(filepath.Join(m.root(), "joined")); !errors.Is(err, fs.ErrNotExist) {
			return ""
		}
		if !m.w.unmounted.Load() { // no machine joins a server whose store is not mounted
			if token, err := m.w.client.JoinToken(ctx, api.JoinTokenRequest{Role: api.JoinAsIngress, Uses: 1000}); err == nil &&
				!m.w.unmounted.Load() {
				return token.Token
			}
		}
		sleepFor(time.Second)
	}
	return ""
}

// stop ends the agent's process: at once, or as a service manager does.
func (m *machine) stop(atOnce bool) {
	if atOnce {
		m.faults.End()
	}
	m.cancel()
	<-m.done
}

// revive restarts the agent if it has ended.
func (m *machine) revive() {
	select {
	case <-m.done:
	default:
		return
	}
	if m.off.Load() {
		return
	}
	if err := m.err; err != nil && !excused(err) && !m.w.unmounted.Load() && !errors.As(err, new(net.Error)) {
		m.w.storyf("the agent of %s ended by itself: %v", m.node, err)
	}
	m.start()
}

// agentDone returns a channel that is closed when an agent's process has ended; nil if there is no such agent, or its
// machine is off.
func (w *World) agentDone(n int) <-chan struct{} {
	if n >= len(w.agents) || w.agents[n].off.Load() {
		return nil
	}
	return w.agents[n].done
}

// nodeEdge is a node's proxy.
func (w *World) nodeEdge() *edge {
	if len(w.agents) > 0 {
		return w.agents[0].edge
	}
	return w.server.edge
}

// mishap causes a fault of an agent's process, its cable or its machine after some steps of an apart world.
func (w *World) mishap(step int) {
	if len(w.agents) == 0 {
		return
	}
	w.besideMishap(step)
	w.pauseOfSeveral(step)
	w.letOutsiderAsk(step)
	if w.liar != nil {
		w.liar.lie(step)
		w.liar.answer(step)
	}
	random := rand.New(rand.NewPCG(w.opts.Seed, 9<<32+uint64(step)))
	d := span(random, 70*time.Second)
	what := random.IntN(20)
	m := w.agents[random.IntN(len(w.agents))]
	if m.off.Load() {
		return
	}
	switch what {
	case 0, 1:
		w.faultf("for %s, the cable to the agent of %s is cut", d, m.node)
		m.cable.cut()
		w.lasting(d, m.cable.repair)
	case 2:
		w.faultf("for %s, the cable to the agent of %s passes nothing on", d, m.node)
		m.cable.hold()
		w.lasting(d, m.cable.repair)
	case 3:
		w.faultf("the agent of %s is killed", m.node)
		m.stop(true)
		m.start()
	case 4:
		w.faultf("the agent of %s is stopped and started", m.node)
		m.stop(false)
		m.start()
	case 5, 6:
		w.powerCut(m, 2*d)
	case 10:
		w.powerCut(m, confirmAfter+d)
		w.confirmDown(m)
	case 11:
		w.faultf("for %s, the cable to the agent of %s is cut", confirmAfter+d, m.node)
		m.cable.cut()
		w.lasting(confirmAfter+d, m.cable.repair)
		w.confirmDown(m)
	case 12, 13:
		w.lull(m, random)
	case 7, 8, 9:
		w.make(m.node, anyOf(random, []string{api.NodeActive, api.NodeCordoned, api.NodeDrained}))
	}
}

func (w *World) faultf(format string, args ...any) {
	w.count.faults.Add(1)
	w.storyf(format, args...)
}

// machine returns the machine with a name; nil if it doesn't exist or has no agent.
func (w *World) machine(name string) *machine {
	for _, m := range w.agents {
		if m.node == name {
			return m
		}
	}
	return nil
}
