package server_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/store/records"
)

func TestPods(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"web:1","replicas":2}`)
	good, bad := w.running("web", "aaaaaaaa", true), w.running("web", "bbbbbbbb", false)
	w.put(records.NodeKey("n1"), api.NodeStatus{ID: "n1", Hostname: "host", Runtime: "docker", Ready: true})
	w.put(records.AliveKey("n1"), "1")

	list, err := w.client.Pods(t.Context(), client.PodFilter{Scope: "prod", Name: "web"})
	if err != nil || len(list.Items) != 2 || list.Items[0].Name != "prod-web.aaaaaaaa" || !list.Items[0].Ready ||
		list.Items[1].Reason != "ProbeFailed" {
		t.Errorf("pods: %+v, %v", list, err)
	}
	for pod, want := range map[string]bool{good.ContainerName(): true, bad.ContainerName(): false} {
		got, err := w.client.PodReadiness(t.Context(), pod)
		if err != nil || got.Ready != want {
			t.Errorf("%s: %+v, %v; want ready %v", pod, got, err, want)
		}
		response, _ := w.raw("GET", "/v1/pods/"+pod+"/ready", "", "")
		if status := map[bool]int{true: 200, false: 503}[want]; response.StatusCode != status {
			t.Errorf("%s: status %d, want %d", pod, response.StatusCode, status)
		}
	}
	nodes, err := w.client.Nodes(t.Context())
	if err != nil || len(nodes.Items) != 1 || !nodes.Items[0].Alive || nodes.Items[0].Pods != 2 {
		t.Errorf("nodes: %+v, %v", nodes, err)
	}
	if nodes.Items[0].Unheard {
		t.Errorf("a node that is heard: %+v", nodes.Items[0])
	}
	w.put(records.AliveKey("n1"), records.Heartbeat{Server: "s1", Last: started})
	if nodes, err = w.client.Nodes(t.Context()); err != nil || nodes.Items[0].Unheard {
		t.Errorf("the only node, which gets pods all the same: %+v, %v", nodes, err)
	}
	w.put(records.NodeKey("n2"), api.NodeStatus{ID: "n2"})
	nodes, err = w.client.Nodes(t.Context())
	if err != nil || !nodes.Items[0].Alive || !nodes.Items[0].Unheard || !nodes.Items[0].LastHeard.Equal(started) {
		t.Errorf("after two missed beats: %+v, %v", nodes, err)
	}
	w.containers.stats = func(task string) runtime.Usage {
		if task == bad.ID {
			return runtime.Usage{Err: runtime.ErrUnavailable}
		}
		return runtime.Usage{CPUPercent: 50, Stats: runtime.Stats{PIDs: 3}}
	}
	stats, err := w.client.Stats(t.Context(), client.PodFilter{Name: "web"})
	if err != nil || len(stats.Items) != 2 || stats.Items[0].CPUPercent != 50 || stats.Items[1].Error == "" {
		t.Errorf("stats: %+v, %v", stats, err)
	}
}

// TestPodsOfAStatefulSetAreInOrder: by ordinal, however young each is.
func TestPodsOfAStatefulSetAreInOrder(t *testing.T) {
	w := newWorld(t)
	for i, slot := range []string{"10", "2", "0"} {
		task := api.Task{ID: "t" + slot, Kind: api.KindStatefulSet, Scope: "prod", Name: "db", Slot: slot,
			Desired:   api.DesiredRunning,
			CreatedAt: started.Add(time.Duration(i) * time.Second), Class: api.ClassKeep}
		w.put(records.TaskKey(task.ID), task)
	}
	list, err := w.client.Pods(t.Context(), client.PodFilter{Name: "db"})
	var got []string
	for _, pod := range list.Items {
		got = append(got, pod.Slot)
	}
	if diff := cmp.Diff([]string{"0", "2", "10"}, got); diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestStopAndStart(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"web:1","replicas":2}`)
	a, b := w.running("web", "aaaaaaaa", true), w.running("web", "bbbbbbbb", true)

	stopped, err := w.client.StopPod(t.Context(), a.ContainerName(), false)
	if err != nil || stopped.Frozen || !cmp.Equal(w.containers.stopped, []string{a.ID}) {
		t.Errorf("stop: %+v, %v, the agent stopped %v", stopped, err, w.containers.stopped)
	}
	frozen, err := w.client.StopPod(t.Context(), a.ContainerName(), true)
	if err != nil || !frozen.Frozen || !frozen.Changed || len(w.containers.stopped) != 1 {
		t.Errorf("freeze: %+v, %v", frozen, err)
	}
	if pod, _ := w.client.Pod(t.Context(), a.ContainerName()); !pod.Frozen {
		t.Error("the pod doesn't show that it is frozen")
	}
	all, err := w.client.Stop(t.Context(), client.TargetOf(ref("web")), true)
	if err != nil || len(all.Pods) != 2 || !all.Changed {
		t.Errorf("freeze all: %+v, %v", all, err)
	}
	if again, err := w.client.Stop(t.Context(), client.TargetOf(ref("web")), true); err != nil || again.Changed {
		t.Errorf("freezing twice changed something: %+v, %v", again, err)
	}
	// The task of a frozen slot may be gone; its pod's name still starts it.
	w.delete(records.TaskKey(b.ID))
	w.delete(records.SlotKey(b.Owner(), b.Slot))
	thawed, err := w.client.StartPod(t.Context(), b.ContainerName())
	if err != nil || !cmp.Equal(thawed.Pods, []string{b.ContainerName()}) {
		t.Errorf("start: %+v, %v", thawed, err)
	}
	rest, err := w.client.Start(t.Context(), client.TargetOf(ref("web")))
	if err != nil || !cmp.Equal(rest.Pods, []string{a.ContainerName()}) {
		t.Errorf("start all: %+v, %v", rest, err)
	}
	w.client.StopPod(t.Context(), a.ContainerName(), true)
	if restarted, err := w.client.Restart(t.Context(), client.TargetOf(ref("web"))); err != nil ||
		len(restarted.Unfrozen) != 1 {
		t.Errorf("a restart thaws: %+v, %v", restarted, err)
	}
}

// TestStatsEndWithTheServer: an engine that doesn't answer holds no server up that stops.
func TestStatsEndWithTheServer(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"web:1"}`)
	w.running("web", "aaaaaaaa", true)
	asked := make(chan struct{})
	w.containers.hang = asked
	answered := make(chan error, 1)
	go func() {
		_, err := w.client.Stats(context.Background(), client.PodFilter{})
		answered <- err
	}()
	<-asked
	if err := w.stop(); err != nil {
		t.Errorf("the server cut its requests instead of ending them: %v", err)
	}
	<-answered
}
