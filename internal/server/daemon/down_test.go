package daemon

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/node/member"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
)

// worker is a machine with an agent and an engine of its own, which outlives the agent.
type worker struct {
	r      *running
	engine *hollow.Engine
	cancel context.CancelFunc
	agent  sync.WaitGroup
}

// join starts the agent. Its token counts only if the machine isn't a node.
func (w *worker) join() {
	w.r.t.Helper()
	token, err := w.r.client.JoinToken(w.r.t.Context(), api.JoinTokenRequest{Node: "worker"})
	if err != nil {
		w.r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	w.agent.Go(func() {
		err := member.Run(ctx, member.Options{Server: token.Address, Token: token.Token, Options: host.Options{
			Root: filepath.Join(w.r.root, "worker"), Node: "worker", Runtime: "hollow", MinFree: -1, Heartbeat: heartbeat,
			NodeTimeout: nodeTimeout,
			Engine:      func(cluster, node string) (runtime.Runtime, error) { return w.engine.Client(cluster, node), nil },
			Logger:      slog.New(slog.NewTextHandler(logWriter(w.r.t), nil)),
		}})
		if err != nil && ctx.Err() == nil {
			w.r.t.Errorf("the agent: %v", err)
		}
	})
	w.r.until("the worker answers", func() bool { return w.answers() })
}

// stop ends the agent, but not its containers, until the worker counts as silent.
func (w *worker) stop() {
	w.r.t.Helper()
	w.cancel()
	w.agent.Wait()
	w.r.until("the worker is silent", func() bool { return !w.answers() })
}

func (w *worker) answers() bool {
	nodes, err := w.r.client.Nodes(w.r.t.Context())
	return err != nil || slices.ContainsFunc(nodes.Items,
		func(n api.NodeInfo) bool { return n.ID == "worker" && n.Alive && n.Ready })
}

const (
	heartbeat   = 500 * time.Millisecond
	nodeTimeout = 5 * time.Second
)

// TestAMachineThatRunsAfterAll: an ordinal of a machine that was said to be off, or was taken out, runs elsewhere at
// once. The machine ran all the time: when it answers, or joins again, its container goes, and the ordinal stays where
// it is.
func TestAMachineThatRunsAfterAll(t *testing.T) {
	t.Parallel()
	for name, say := range map[string]func(*client.Client) (api.NodeDownResult, error){
		"said to be off": func(c *client.Client) (api.NodeDownResult, error) {
			return c.ConfirmNodeDown(t.Context(), "worker", false)
		},
		"taken out": func(c *client.Client) (api.NodeDownResult, error) {
			return c.RemoveNode(t.Context(), "worker", client.RemoveOptions{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			listens := loopback()
			r := m.startWith(func(o *Options) {
				o.NodeListen, o.NodeTimeout, o.Heartbeat = listens, nodeTimeout, heartbeat
			}).ready()
			w := &worker{r: r, engine: hollow.NewEngine()}
			t.Cleanup(func() { w.cancel(); w.agent.Wait(); w.engine.Close() })
			m.engine.PublishImage("web:1")
			w.engine.PublishImage("web:1")
			w.join()
			ref := api.Ref{Kind: api.KindStatefulSet, Scope: "prod", Name: "db"}
			object := manifestOf(ref, replicas(2))
			revision := r.apply(object)
			r.converged(ref, revision)
			before := w.engine.Containers()
			if len(before) != 1 || before[0].State != runtime.StateRunning {
				t.Fatalf("on the worker: %+v", before)
			}
			w.stop()
			if _, err := say(r.client); err != nil {
				t.Fatal(err)
			}
			on := func() (nodes []string) {
				for _, pod := range r.live(ref) {
					nodes = append(nodes, pod.Node)
				}
				return nodes
			}
			r.until("both ordinals run on the server's node", func() bool { return slices.Equal(on(), []string{"n1", "n1"}) })
			r.converged(ref, revision)
			if now := w.engine.Containers(); len(now) != 1 || now[0].ID != before[0].ID || now[0].State != runtime.StateRunning {
				t.Fatalf("the machine doesn't run on: %+v", now)
			}
			w.join()
			r.until("what was replaced is gone", func() bool { return len(w.engine.Containers()) == 0 })
			r.converged(ref, revision)
			if !slices.Equal(on(), []string{"n1", "n1"}) {
				t.Errorf("the ordinals are on %v", on())
			}
		})
	}
}
