package local_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi/local"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// BenchmarkPodMoves measures the processor time that a pod which gets another address costs for each node that is sent
// it, encoded as it is sent: 200 nodes follow, with 50 pods each, and a network is declared. Without one a pod's change
// is nobody's business but its own node's.
func BenchmarkPodMoves(b *testing.B) {
	const nodes, each = 200, 50
	for _, declared := range []bool{false, true} {
		b.Run(fmt.Sprintf("network=%t", declared), func(b *testing.B) {
			s := memory.New()
			v := view.New(s, view.Options{Decode: records.Decode, Indexes: records.Indexes})
			service := local.New(local.Options{Store: s, View: v})
			commit := func(txn *records.Txn) int64 {
				revision, err := txn.Commit(b.Context(), s)
				if err != nil {
					b.Fatal(err)
				}
				return revision
			}
			status := func(of, pod, version int) api.TaskStatus {
				id := fmt.Sprintf("t%d-%d", of, pod)
				return api.TaskStatus{ID: id, Node: fmt.Sprint("n", of), State: api.TaskRunning,
					Address: fmt.Sprintf("10.%d.%d.%d", of, pod, 2+version%200)}
			}
			if declared {
				commit(records.NewTxn("test").Put(records.ObjectKey(api.NetworkRef),
					api.Object{Kind: api.KindNetwork, Name: api.NetworkRef.Name, Spec: json.RawMessage(`{"driver":"vxlan"}`)}))
			}
			for i := range nodes {
				txn := records.NewTxn("test").Put(records.NodeKey(fmt.Sprint("n", i)), api.NodeStatus{ID: fmt.Sprint("n", i)})
				for j := range each {
					is := status(i, j, 0)
					txn.CreateTask(api.Task{ID: is.ID, Kind: api.KindDeployment, Scope: fmt.Sprint("s", j), Name: fmt.Sprint("web", j),
						Slot: is.ID, Release: "v1",
						Class: api.ClassKeep, Node: is.Node, Desired: api.DesiredRunning}).Put(records.TaskStatusKey(is.ID), is)
				}
				commit(txn)
			}
			ctx, cancel := context.WithCancel(context.Background())
			var running, listed, got sync.WaitGroup
			running.Go(func() { _ = v.Run(ctx) })
			defer func() { cancel(); running.Wait(); _ = s.Close() }()
			listed.Add(nodes)
			for i := range nodes {
				c := service.Node(fmt.Sprint("n", i))
				running.Go(func() {
					complete := false
					_ = c.Follow(ctx, "", 0, func(frame node.Frame) error {
						_, err := json.Marshal(frame)
						switch {
						case !complete && frame.Epoch != "":
							complete = true
							listed.Done()
						case complete && len(frame.Moved) > 0:
							got.Done()
						}
						return err
					})
				})
			}
			listed.Wait()
			n, began := 0, processor(b)
			for b.Loop() {
				n++
				if declared {
					got.Add(nodes - 1)
				}
				is := status(n%nodes, n%each, 1+n/nodes)
				if revision := commit(records.NewTxn("test").Put(records.TaskStatusKey(is.ID), is)); v.WaitFor(ctx,
					revision) != nil {
					b.Fatal("the view has ended")
				}
				got.Wait()
			}
			b.ReportMetric(float64((processor(b)-began).Microseconds())/float64(n)/nodes, "cpu-µs/pod·node")
		})
	}
}

// processor returns the processor time that this process has used.
func processor(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
