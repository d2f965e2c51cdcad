package simulation

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"time"

	"tend.dev/tend/internal/agent"
	"tend.dev/tend/internal/fault"
	"tend.dev/tend/internal/host"
	"tend.dev/tend/internal/member"
	"tend.dev/tend/internal/runtime"
)

// In some worlds the agent is a process of its own, which reaches the server over a cable. It dies by itself, and the
// cable is cut or passes nothing on; all the sentences of the oracle hold there too.

// apart reports whether the agent is a process of its own.
func (w *World) apart() bool { return w.opts.Seed%10 == 5 }

// agentLife is one life of the agent's process.
type agentLife struct {
	edge   *edge
	faults *fault.Points
	cancel context.CancelFunc
	done   chan struct{}
	err    error // valid once done is closed
}

// agentRoot is the folder of the agent's own files.
func (w *World) agentRoot() string {
	return filepath.Join(w.root, "..", filepath.Base(w.root)+"-agent")
}

// startAgent begins a life of the agent's process.
func (w *World) startAgent() {
	ctx, cancel := context.WithCancel(context.Background())
	a := &agentLife{edge: &edge{}, cancel: cancel, done: make(chan struct{})}
	a.faults = fault.New(fault.Options{CrashWhen: w.crashes})
	w.agent = a
	go func() {
		defer close(a.done)
		token := w.joinToken(ctx)
		if ctx.Err() != nil {
			return
		}
		a.err = member.Run(ctx, member.Options{
			Options: host.Options{
				Root: w.agentRoot(), Node: "n1", Runtime: "hollow", Faults: a.faults, MinFree: -1, Logger: w.logger(),
				Edge: func(func()) agent.Edge { return a.edge },
				Engine: func(cluster, node string) (runtime.Runtime, error) {
					return w.engineFor(cluster, node), nil
				},
				Ask: w.answerProbe, Now: w.now,
			},
			Server: "https://server:8688", Token: token, Dial: w.cable.dial,
		})
	}()
	go func() {
		select {
		case <-a.faults.Crashed():
			cancel()
		case <-a.done:
		}
	}()
}

// joinToken returns what the agent joins with; empty once it has.
func (w *World) joinToken(ctx context.Context) string {
	for ctx.Err() == nil {
		if _, err := os.Stat(filepath.Join(w.agentRoot(), "joined")); !errors.Is(err, fs.ErrNotExist) {
			return ""
		}
		if !w.unmounted.Load() { // no machine joins a server that has lost its store
			if token, err := w.client.JoinToken(ctx, time.Hour); err == nil && !w.unmounted.Load() {
				return token.Token
			}
		}
		sleepFor(time.Second)
	}
	return ""
}

// stopAgent ends the agent's process: at once, or as a service manager does.
func (w *World) stopAgent(atOnce bool) {
	if w.agent == nil {
		return
	}
	if atOnce {
		w.agent.faults.End()
	}
	w.agent.cancel()
	<-w.agent.done
}

// agentDone is closed when the agent's process has ended; nil if there is none.
func (w *World) agentDone() <-chan struct{} {
	if w.agent == nil {
		return nil
	}
	return w.agent.done
}

// reviveAgent starts the agent again where it has ended.
func (w *World) reviveAgent() {
	if w.agent == nil {
		return
	}
	select {
	case <-w.agent.done:
	default:
		return
	}
	if err := w.agent.err; err != nil && !excused(err) && !w.unmounted.Load() && !errors.As(err, new(net.Error)) {
		w.storyf("the agent ended by itself: %v", err)
	}
	w.startAgent()
}

// nodeEdge is the proxy of the node.
func (w *World) nodeEdge() *edge {
	if w.agent != nil {
		return w.agent.edge
	}
	return w.server.edge
}

// mishap lets something happen to the agent's process or its cable after some steps of an apart world.
func (w *World) mishap(step int) {
	if w.agent == nil {
		return
	}
	random := rand.New(rand.NewPCG(w.opts.Seed, 9<<32+uint64(step)))
	d := span(random, 70*time.Second)
	switch random.IntN(20) {
	case 0, 1:
		w.count.faults.Add(1)
		w.storyf("for %s, the cable to the agent is cut", d)
		w.cable.cut()
		w.lasting(d, w.cable.repair)
	case 2:
		w.count.faults.Add(1)
		w.storyf("for %s, the cable to the agent passes nothing on", d)
		w.cable.hold()
		w.lasting(d, w.cable.repair)
	case 3:
		w.count.faults.Add(1)
		w.storyf("the agent is killed")
		w.stopAgent(true)
		w.startAgent()
	case 4:
		w.count.faults.Add(1)
		w.storyf("the agent is stopped and started")
		w.stopAgent(false)
		w.startAgent()
	}
}
