//go:build integration

package daemon

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
	"tend.dev/tend/internal/test/disktest"
	"tend.dev/tend/internal/test/fault"
)

// TestAStalledDiskFillsNoSlotTwice: the disk of the store stalls while a rollout creates pods. etcd answers with
// timeouts, and applies those writes after the thaw. The rollout creates exactly two pods of the new release.
func TestAStalledDiskFillsNoSlotTwice(t *testing.T) {
	disk := disktest.New(t, 256<<20)
	var armed atomic.Bool
	var sent atomic.Int64
	faults := fault.New(fault.Options{Trace: func(name string) {
		switch {
		case name == "store.deployment.create.before" && armed.Swap(false):
			disk.Freeze()
			sent.Add(1)
		case disk.Frozen() && (name == "store.deployment.create.before" || name == "store.election.settle.before"):
			sent.Add(1)
		}
	}})
	r := startOnDisk(t, disk, faults)
	r.converged(web, r.apply(manifestOf(web, replicas(2))))
	armed.Store(true)
	second := manifestOf(web, func(s *api.DeploymentSpec) {
		replicas(2)(s)
		s.Image, s.Strategy = "web:2", &api.Strategy{Pause: "200ms", Monitor: "1ms", Order: api.OrderStartFirst}
	})
	revision := r.apply(second)
	// Each try takes etcd's timeout of some seconds; two more follow the one that met the stall.
	r.untilWithin(time.Minute, "three tries met the stall", func() bool { return sent.Load() >= 3 })
	disk.Thaw()
	r.converged(web, revision)
	if got := r.engine.Calls()["create"]; got != 4 {
		t.Errorf("%d containers were created, want two of each release", got)
	}
	if got := len(r.live(web)); got != 2 {
		t.Errorf("%d pods run, want 2", got)
	}
}

// startOnDisk runs a server whose embedded etcd is on a disk.
func startOnDisk(t *testing.T, disk *disktest.Disk, faults *fault.Points) *running {
	t.Helper()
	root, err := os.MkdirTemp("", "tend")
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, root: root, engine: hollow.NewEngine()}
	for _, image := range []string{"web:1", "web:2"} {
		m.engine.AddImage(image)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{machine: m, cancel: cancel, done: make(chan error, 1)}
	go func() {
		r.done <- Run(ctx, Options{
			Options: host.Options{
				Root: root, Data: filepath.Join(disk.Folder, "state"), MinFree: -1,
				Node: "n1", Runtime: "hollow", AroundRuntime: faults.Runtime, Logger: slog.New(slog.DiscardHandler),
				Engine: func(cluster, node string) (runtime.Runtime, error) { return m.engine.Client(cluster, node), nil },
			},
			HTTP: "off", QuietEtcd: true, AroundStore: faults.Store,
		})
	}()
	if r.client, err = client.New(client.Options{Server: "unix://" + filepath.Join(root, "tend.sock")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		disk.Thaw()
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		r.client.Close()
		m.engine.Close()
		_ = os.RemoveAll(root)
	})
	return r.ready()
}
