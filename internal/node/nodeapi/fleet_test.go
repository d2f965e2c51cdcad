package nodeapi_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/runtime"
)

// sampled is a node that samples pods by the length of their names.
type sampled struct {
	nodeapi.Node
	asked chan []string
	// begun is closed when this node is asked; it answers once the other one was, too.
	begun, other chan struct{}
}

// Stats implements nodeapi.Node.
func (s *sampled) Stats(_ context.Context, pods []string) []runtime.Usage {
	close(s.begun)
	<-s.other
	s.asked <- pods
	out := make([]runtime.Usage, len(pods))
	for i, pod := range pods {
		out[i].PIDs = len(pod)
	}
	return out
}

// TestSample: each node is asked once for its pods, all nodes at once, and the samples are in the order of the
// question.
func TestSample(t *testing.T) {
	var fleet nodeapi.Fleet
	one, two := make(chan struct{}), make(chan struct{})
	first := &sampled{asked: make(chan []string, 2), begun: one, other: two}
	second := &sampled{asked: make(chan []string, 2), begun: two, other: one}
	fleet.Add("n1", first)
	fleet.Add("n2", second)
	got := fleet.Sample(t.Context(), []nodeapi.Placed{
		{Node: "n2", Pod: "a"}, {Node: "away", Pod: "bb"}, {Node: "n1", Pod: "ccc"},
		{Node: "n2", Pod: "dddd"}, {Pod: "eeeee"},
	}, nodeapi.Node.Stats)
	if pods := <-first.asked; !slices.Equal(pods, []string{"ccc"}) {
		t.Errorf("n1 was asked for %v", pods)
	}
	if pods := <-second.asked; !slices.Equal(pods, []string{"a", "dddd"}) {
		t.Errorf("n2 was asked for %v", pods)
	}
	if len(got) != 5 {
		t.Fatalf("%d samples", len(got))
	}
	for i, want := range []struct {
		pids int
		err  error
	}{{1, nil}, {0, node.ErrNotConnected}, {3, nil}, {4, nil}, {0, node.ErrNoPod}} {
		if got[i].PIDs != want.pids || !errors.Is(got[i].Err, want.err) {
			t.Errorf("sample %d: %+v, want %+v", i, got[i], want)
		}
	}
}

func TestSampleOfNothing(t *testing.T) {
	if got := new(nodeapi.Fleet).Sample(t.Context(), nil, nodeapi.Node.Load); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// TestFleet: a node is found until it is removed, and the end of an earlier connection doesn't remove a later one.
func TestFleet(t *testing.T) {
	var fleet nodeapi.Fleet
	if _, err := fleet.Node("n1"); !errors.Is(err, node.ErrNotConnected) {
		t.Error(err)
	}
	old, current := &sampled{}, &sampled{}
	removeOld := fleet.Add("n1", old)
	removeCurrent := fleet.Add("n1", current)
	fleet.Add("n0", old)
	removeOld()
	removeOld()
	if got, err := fleet.Node("n1"); err != nil || got != nodeapi.Node(current) {
		t.Errorf("%v %v", got, err)
	}
	if got := fleet.Connected(); !slices.Equal(got, []string{"n0", "n1"}) {
		t.Errorf("%v", got)
	}
	removeCurrent()
	if _, err := fleet.Node("n1"); !errors.Is(err, node.ErrNotConnected) {
		t.Error(err)
	}
}
