package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/node/member"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/test/race"
)

// TestAJoinStorm: machines that join at the same moment with one token, over TLS, all become nodes, and get pods. When
// the server is back after a pause they all come back, and no container was touched.
func TestAJoinStorm(t *testing.T) {
	const machines = 50 / race.Few
	m := newMachine(t)
	m.engine.AddImage("web:1")
	listens := loopback()
	edit := func(o *Options) { o.NodeListen, o.NodeTimeout, o.Heartbeat = listens, 20*time.Second, time.Second }
	r := m.startWith(edit).ready()
	token, err := r.client.JoinToken(t.Context(), api.JoinTokenRequest{Uses: 1000})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var agents sync.WaitGroup
	t.Cleanup(agents.Wait)
	t.Cleanup(cancel)
	for i := range machines {
		o := member.Options{Server: token.Address, Token: token.Token, Options: host.Options{
			Root: filepath.Join(m.root, fmt.Sprint(i)), Node: fmt.Sprintf("worker-%d", i), Runtime: "hollow", MinFree: -1,
			Heartbeat: time.Second, NodeTimeout: 20 * time.Second,
			Engine: func(cluster, node string) (runtime.Runtime, error) { return m.engine.Client(cluster, node), nil },
			Logger: slog.New(slog.DiscardHandler),
		}}
		agents.Go(func() {
			if err := member.Run(ctx, o); err != nil && ctx.Err() == nil {
				t.Errorf("%s: %v", o.Node, err)
			}
		})
	}
	all := func(r *running) {
		t.Helper()
		r.untilWithin(2*time.Minute, "all machines are nodes", func() bool {
			nodes, err := r.client.Nodes(t.Context())
			answer := 0
			for _, node := range nodes.Items {
				if node.Ready && node.Alive {
					answer++
				}
			}
			return err == nil && answer == machines+1
		})
	}
	all(r)
	r.converged(web, r.apply(manifestOf(web, replicas(2*machines+2))))
	on, containers := map[string]int{}, map[string]string{}
	for _, pod := range r.live(web) {
		on[pod.Node]++
		containers[pod.Name] = pod.Container
	}
	for node, count := range on {
		if count != 2 {
			t.Errorf("%s has %d pods, want 2", node, count)
		}
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r = m.startWith(edit).ready()
	all(r)
	r.converged(web, 0)
	for _, pod := range r.live(web) {
		if containers[pod.Name] == "" || containers[pod.Name] != pod.Container {
			t.Errorf("pod %s has the container %s, had %q", pod.Name, pod.Container, containers[pod.Name])
		}
	}
}
