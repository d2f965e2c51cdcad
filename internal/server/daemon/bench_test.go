package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
)

// BenchmarkCrowd runs a whole server over embedded etcd and an engine without containers. It measures how many pods per
// second start after the apply, in deployments of 100, and what share of a core the server uses once they run. Run it
// with -benchtime 1x.
func BenchmarkCrowd(b *testing.B) {
	for _, n := range []int{1_000, 5_000, 20_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				measureCrowd(b, n)
			}
		})
	}
}

func measureCrowd(b *testing.B, n int) {
	const replicasEach = 100
	root, err := os.MkdirTemp("", "tend")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(root)
	engine := hollow.NewEngine()
	engine.AddImage("web:1")
	defer engine.Close()
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Options{
			Options: host.Options{
				Root: root, Node: "n1", Runtime: "hollow", Logger: slog.New(slog.DiscardHandler),
				Engine: func(cluster, node string) (runtime.Runtime, error) { return engine.Client(cluster, node), nil },
			},
			HTTP: "off", QuietEtcd: true,
		})
	}()
	c, err := client.New(client.Options{Server: "unix://" + filepath.Join(root, "tend.sock")})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	awaits(b, func() bool { ready, err := c.Readiness(ctx); return err == nil && ready.Ready })

	began := time.Now()
	for i := range n / replicasEach {
		ref := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: fmt.Sprint("web", i)}
		if _, err := c.Apply(ctx, api.ApplyRequest{Objects: []api.Object{manifestOf(ref,
			replicas(replicasEach))}}); err != nil {
			b.Fatal(err)
		}
	}
	awaits(b, func() bool { return countRunning(engine.Containers()) == n })
	b.ReportMetric(float64(n)/time.Since(began).Seconds(), "pods/s")
	const rest = 20 * time.Second
	<-time.After(rest) // time for the last reports and reconciles
	used := cpuTime(b)
	<-time.After(rest)
	b.ReportMetric(100*(cpuTime(b)-used).Seconds()/rest.Seconds(), "%core-at-rest")
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}

func countRunning(containers []runtime.Container) (n int) {
	for _, c := range containers {
		if c.State == runtime.StateRunning {
			n++
		}
	}
	return n
}

func awaits(b *testing.B, holds func() bool) {
	b.Helper()
	for end := time.Now().Add(time.Hour); !holds(); <-time.After(100 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatal("in vain")
		}
	}
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
