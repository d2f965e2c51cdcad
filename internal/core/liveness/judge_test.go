package liveness

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const timeout = 30 * time.Second

var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func TestJudge(t *testing.T) {
	tests := map[string]struct {
		reason string
		nodes  int
		silent map[string]int // seconds before now
		want   string
	}{
		"nothing is silent": {"nothing to judge", 3, nil, "lost [] held map[] left map[]"},
		"a short lapse":     {"it may come back", 3, map[string]int{"a": 29}, "lost [] held map[] left map[a:1s]"},
		"one of one": {"one node alone is never held", 1, map[string]int{"a": 30},
			"lost [a] held map[] left map[]"},
		"one of two": {"one node alone is never held", 2, map[string]int{"a": 30},
			"lost [a] held map[] left map[]"},
		"two of two": {"all of them at once", 2, map[string]int{"a": 30, "b": 31},
			"lost [a b] held map[a:2 b:2] left map[]"},
		"two of six": {"a third is not more than a third", 6, map[string]int{"a": 40, "b": 40},
			"lost [a b] held map[] left map[]"},
		"two of five": {"more than a third", 5, map[string]int{"a": 40, "b": 40},
			"lost [a b] held map[a:2 b:2] left map[]"},
		"one after the other": {"the first was lost before the second went", 3, map[string]int{"a": 80, "b": 40},
			"lost [a b] held map[] left map[]"},
		"the second goes meanwhile": {"it is not lost yet, but it went within the timeout", 3,
			map[string]int{"a": 31, "b": 5}, "lost [a] held map[a:2] left map[b:25s]"},
		"a third long after": {"two that went together say nothing of a later one", 5,
			map[string]int{"a": 900, "b": 890, "c": 40}, "lost [a b c] held map[a:2 b:2] left map[]"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := Input{Nodes: test.nodes, Silent: map[string]time.Time{}, Timeout: timeout}
			for node, ago := range test.silent {
				in.Silent[node] = epoch.Add(-time.Duration(ago) * time.Second)
			}
			if diff := cmp.Diff(test.want, say(Judge(in, epoch))); diff != "" {
				t.Errorf("%s: %s", test.reason, diff)
			}
		})
	}
}

func say(v Verdict) string {
	lost := []string{}
	for _, node := range []string{"a", "b", "c"} {
		if v.Lost[node] {
			lost = append(lost, node)
		}
	}
	return fmt.Sprintf("lost %v held %v left %v", lost, v.Held, v.Left)
}

// A node is lost exactly when the time that the verdict before promised is over, never earlier.
func TestLostWhenSaid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := random(t)
		for node, left := range Judge(in, epoch).Left {
			if Judge(in, epoch.Add(left-1)).Lost[node] || !Judge(in, epoch.Add(left)).Lost[node] {
				t.Fatalf("%s is not lost after %s", node, left)
			}
		}
	})
}

// A node that answers again holds no other: with fewer silent nodes, none is held that was not held before.
func TestReturnsReleaseTheBrake(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := random(t)
		before := Judge(in, epoch)
		for node := range in.Silent {
			fewer := in
			fewer.Silent = maps.Clone(in.Silent)
			delete(fewer.Silent, node)
			for held := range Judge(fewer, epoch).Held {
				if before.Held[held] == 0 {
					t.Fatalf("%s is held since %s is back", held, node)
				}
			}
		}
	})
}

// Whatever happens, at most a third of the nodes, or a single one, is given up of those that went silent within one
// timeout.
func TestNeverAMassAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := random(t)
		v := Judge(in, epoch)
		for node := range v.Lost {
			if v.Held[node] > 0 {
				continue
			}
			n := 0
			for other := range v.Lost {
				if d := in.Silent[other].Sub(in.Silent[node]); v.Held[other] == 0 && d >= 0 && d <= in.Timeout {
					n++
				}
			}
			if n > 1 && 3*n > in.Nodes {
				t.Fatalf("%d of %d nodes are given up at once", n, in.Nodes)
			}
		}
	})
}

func random(t *rapid.T) Input {
	in := Input{Silent: map[string]time.Time{}, Timeout: timeout}
	in.Nodes = rapid.IntRange(1, 9).Draw(t, "nodes")
	for i := range rapid.IntRange(0, in.Nodes).Draw(t, "silent") {
		ago := time.Duration(rapid.IntRange(0, 120).Draw(t, "seconds")) * time.Second
		in.Silent[fmt.Sprintf("n%d", i)] = epoch.Add(-ago)
	}
	return in
}
