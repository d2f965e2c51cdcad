package ingress

import (
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"
)

func backendOf(policy string, n int) *backend {
	b := &backend{Route: &Route{Policy: policy}, turn: new(atomic.Uint64)}
	for i := range n {
		b.pods = append(b.pods, &pod{Pod: Pod{Name: fmt.Sprintf("p%d", i)}})
	}
	return b
}

func TestRoundRobinTakesTurns(t *testing.T) {
	b := backendOf("", 3)
	for i := range 9 {
		if got, want := b.choose("", nil, time.Time{}).Name, fmt.Sprintf("p%d", i%3); got != want {
			t.Fatalf("request %d went to %s, want %s", i, got, want)
		}
	}
}

func TestEveryPolicySpreads(t *testing.T) {
	const pods, requests = 4, 4000
	for _, policy := range []string{PolicyRoundRobin, PolicyRandom, PolicyLeastConn, PolicyIPHash} {
		b, got := backendOf(policy, pods), map[string]int{}
		for i := range requests {
			got[b.choose(fmt.Sprintf("10.0.%d.%d", i/250, i%250), nil, time.Time{}).Name]++
		}
		for name, n := range got {
			if share := float64(n) * pods / requests; math.Abs(share-1) > 0.2 {
				t.Errorf("%s: %s got %.2f of its share", policy, name, share)
			}
		}
		if len(got) != pods {
			t.Errorf("%s: only %d pods got requests", policy, len(got))
		}
	}
}

func TestLeastConnTakesTheIdlest(t *testing.T) {
	b := backendOf(PolicyLeastConn, 3)
	for i, active := range []int64{4, 1, 2} {
		b.pods[i].active.Store(active)
	}
	for range 50 {
		if got := b.choose("", nil, time.Time{}).Name; got != "p1" {
			t.Fatalf("%s was chosen", got)
		}
	}
}

// TestIPHashMovesNoMoreClientsThanNeeded: a client keeps its pod, and when one leaves only its own clients move.
func TestIPHashMovesNoMoreClientsThanNeeded(t *testing.T) {
	b := backendOf(PolicyIPHash, 5)
	before := map[string]string{}
	for i := range 500 {
		client := fmt.Sprintf("192.0.2.%d", i)
		before[client] = b.choose(client, nil, time.Time{}).Name
		if again := b.choose(client, nil, time.Time{}).Name; again != before[client] {
			t.Fatalf("%s went to %s, then to %s", client, before[client], again)
		}
	}
	b.pods = append(b.pods[:2], b.pods[3:]...)
	for client, was := range before {
		if is := b.choose(client, nil, time.Time{}).Name; was != "p2" && is != was {
			t.Errorf("%s moved from %s to %s although %s stayed", client, was, is, was)
		}
	}
}

func TestFailingPodsAreLeftOutForAWhile(t *testing.T) {
	b, now := backendOf("", 2), time.Unix(1000, 0)
	p := b.pods[0]
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		p.failed(now)
		if !p.ejected(now.Add(want*time.Second - 1)) {
			t.Errorf("after failure %d it gets requests before %ds", i+1, want)
		}
		if p.ejected(now.Add(want * time.Second)) {
			t.Errorf("after failure %d it gets none after %ds", i+1, want)
		}
	}
	for range 4 {
		if got := b.choose("", nil, now); got != b.pods[1] {
			t.Errorf("a request went to the failing pod")
		}
	}
	if got := b.choose("", []*pod{b.pods[1]}, now); got != p {
		t.Error("no other pod is left, and the failing pod is not even tried")
	}
	if got := b.choose("", b.pods, now); got != nil {
		t.Error("a pod was tried twice")
	}
	p.worked()
	if p.ejected(now) {
		t.Error("it worked, and is still left out")
	}
}
