package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/host"
	"tend.dev/tend/internal/member"
	"tend.dev/tend/internal/runtime"
	"tend.dev/tend/internal/runtime/hollow"
)

// BenchmarkFleet runs a server over embedded etcd and many agents, each with an engine without containers and a connection of its
// own over TLS, in one process. It measures how many pods per second are reported as running after the apply, in deployments of 100; how much
// slower the last percent was than the first; the memory of all; and what share of a core they use once the pods run. Run it with
// -benchtime 1x.
func BenchmarkFleet(b *testing.B) {
	for _, size := range []struct{ nodes, pods int }{{100, 5_000}, {1_000, 50_000}} {
		b.Run(fmt.Sprintf("%d-%d", size.nodes, size.pods), func(b *testing.B) {
			for b.Loop() {
				measureFleet(b, size.nodes, size.pods)
			}
		})
	}
}

func measureFleet(b *testing.B, nodes, pods int) {
	const replicasEach = 100
	root := b.TempDir()
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	listens := loopback()
	quiet := slog.New(slog.DiscardHandler)
	running.Go(func() {
		err := Run(ctx, Options{
			Options: host.Options{Root: root, Node: "n1", Runtime: "hollow", Logger: quiet}, HTTP: "off", QuietEtcd: true, NoAgent: true, NodeListen: listens,
		})
		if err != nil && ctx.Err() == nil {
			b.Error(err)
		}
	})
	c, err := client.New(client.Options{Server: "unix://" + filepath.Join(root, "tend.sock")})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	awaits(b, func() bool { ready, err := c.Readiness(ctx); return err == nil && ready.Ready })
	token, err := c.JoinToken(ctx, time.Hour, false)
	if err != nil {
		b.Fatal(err)
	}
	for i := range nodes {
		engine := hollow.NewEngine()
		engine.AddImage("web:1")
		defer engine.Close()
		o := member.Options{Server: token.Address, Token: token.Token, Options: host.Options{
			Root: filepath.Join(root, fmt.Sprint(i)), Node: fmt.Sprintf("worker-%d", i), Runtime: "hollow", MinFree: -1, Logger: quiet,
			Engine: func(cluster, node string) (runtime.Runtime, error) { return engine.Client(cluster, node), nil },
		}}
		running.Go(func() {
			if err := member.Run(ctx, o); err != nil && ctx.Err() == nil {
				b.Errorf("%s: %v", o.Node, err)
			}
		})
	}
	awaits(b, func() bool { known, err := c.Nodes(ctx); return err == nil && countReady(known.Items) == nodes })

	began, stages := time.Now(), map[int]time.Duration{}
	for i := range pods / replicasEach {
		ref := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: fmt.Sprint("web", i)}
		if _, err := c.Apply(ctx, api.ApplyRequest{Objects: []api.Object{manifestOf(ref, replicas(replicasEach))}}); err != nil {
			b.Fatal(err)
		}
	}
	applied := time.Since(began)
	awaits(b, func() bool {
		ready := 0
		objects, err := c.Objects(ctx, api.KindDeployment, client.ObjectFilter{})
		for _, object := range objects.Items {
			status, _ := api.DecodeStatus[api.WorkloadStatus](object)
			ready += status.Ready
		}
		for _, percent := range []int{1, 99, 100} {
			if stages[percent] == 0 && ready >= pods*percent/100 {
				stages[percent] = time.Since(began)
			}
		}
		return err == nil && ready == pods
	})
	took := time.Since(began)
	b.ReportMetric(float64(pods)/took.Seconds(), "pods/s")
	b.ReportMetric(applied.Seconds(), "s-apply")
	b.ReportMetric(stages[1].Seconds(), "s-first-percent")
	b.ReportMetric((took - stages[99]).Seconds(), "s-last-percent")
	const rest = 20 * time.Second
	<-time.After(rest) // time for the last reports and reconciles
	debug.FreeOSMemory()
	b.ReportMetric(residentMiB(b), "MiB")
	used := cpuTime(b)
	<-time.After(rest)
	b.ReportMetric(100*(cpuTime(b)-used).Seconds()/rest.Seconds(), "%core-at-rest")
}

func countReady(nodes []api.NodeInfo) (n int) {
	for _, node := range nodes {
		if node.Ready && node.Alive {
			n++
		}
	}
	return n
}

func residentMiB(b *testing.B) float64 {
	b.Helper()
	process, err := procfs.Self()
	if err != nil {
		b.Fatal(err)
	}
	stat, err := process.Stat()
	if err != nil {
		b.Fatal(err)
	}
	return float64(stat.ResidentMemory()) / (1 << 20)
}
