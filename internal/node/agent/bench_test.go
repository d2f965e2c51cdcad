//go:build !race

package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/agent"
	"tend.dev/tend/internal/node/nodeapi/local"
	"tend.dev/tend/internal/node/runtime/hollow"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/etcd"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// steadyTime is the time for which a node at rest is measured, at a full comparison a second: ten times as often as
// usual.
const steadyTime = 10 * time.Second

// BenchmarkNode measures a node of the hollow runtime over a store in memory, and over embedded etcd on this disk: how
// many tasks come up per second, how many per second of processor time, and what share of a core the node uses once
// they run. Run it with -benchtime 1x.
func BenchmarkNode(b *testing.B) {
	for name, open := range map[string]func(b *testing.B) store.Store{
		"memory": func(*testing.B) store.Store { return memory.New() },
		"etcd": func(b *testing.B) store.Store {
			db, err := etcd.Open(b.Context(), etcd.Options{DataDir: filepath.Join(b.TempDir(), "state"), Ballast: -1})
			if err != nil {
				b.Fatal(err)
			}
			return db
		},
	} {
		for _, n := range []int{1_000, 5_000, 20_000} {
			b.Run(fmt.Sprint(name, "/", n), func(b *testing.B) {
				for b.Loop() {
					measureNode(b, open(b), n)
				}
			})
		}
	}
}

func measureNode(b *testing.B, db store.Store, n int) {
	engine := hollow.NewEngine()
	engine.AddImage(image)
	crowd(b, db, n)
	ctx, cancel := context.WithCancel(b.Context())
	logger := slog.New(slog.DiscardHandler)
	snapshots := view.New(db, view.Options{Decode: records.Decode, Indexes: records.Indexes, Logger: logger})
	var ready atomic.Int64
	all := make(chan struct{})
	snapshots.OnChange(func(change view.Change) {
		status, ok := change.New.(*api.TaskStatus)
		before, _ := change.Old.(*api.TaskStatus)
		if ok && status.Ready && (before == nil || !before.Ready) && ready.Add(1) == int64(n) {
			close(all)
		}
	})
	control := local.New(local.Options{Store: db, View: snapshots, Keys: plain{}}).Node(nodeID)
	a := agent.New(agent.Options{
		Node: nodeID, Control: control, Runtime: engine.Client(cluster, nodeID), Logger: logger, Resync: time.Second,
	})
	var parts sync.WaitGroup
	began, used := time.Now(), cpuTime(b)
	parts.Go(func() { _ = snapshots.Run(ctx) })
	parts.Go(func() { _ = a.Run(ctx) })
	<-all
	b.ReportMetric(float64(n)/(cpuTime(b)-used).Seconds(), "tasks/cpu-s")
	b.ReportMetric(float64(n)/time.Since(began).Seconds(), "tasks/s")
	<-time.After(time.Second) // the last reports
	used = cpuTime(b)
	<-time.After(steadyTime)
	b.ReportMetric(100*(cpuTime(b)-used).Seconds()/steadyTime.Seconds()/10, "%core-at-rest")
	cancel()
	parts.Wait()
	engine.Close()
	_ = db.Close()
}

// crowd stores n tasks of one release.
func crowd(b *testing.B, db store.Store, n int) {
	raw, _ := json.Marshal(api.DeploymentSpec{Container: api.Container{Image: image}})
	txn := records.NewTxn("bench").Put(records.ReleaseKey(web, "v1"), api.Release{
		ID: "v1", Kind: web.Kind, Scope: web.Scope, Name: web.Name, Spec: raw, Image: image,
	})
	for i := range n {
		txn.CreateTask(api.Task{
			ID: taskID(i), Kind: web.Kind, Scope: web.Scope, Name: web.Name, Slot: taskID(i), Release: "v1",
			Class: api.ClassKeep,
			Node:  nodeID, Desired: api.DesiredRunning, CreatedAt: time.Now(),
		})
		if txn.Len() > 100 || i == n-1 {
			if _, err := txn.Commit(b.Context(), db); err != nil {
				b.Fatal(err)
			}
			txn = records.NewTxn("bench")
		}
	}
}

// cpuTime returns the processor time that the process has used.
func cpuTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
