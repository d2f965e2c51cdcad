package liveness

import (
	"slices"
	"time"
)

// Input holds what is known of the nodes.
type Input struct {
	// Nodes is the number of all nodes.
	Nodes int
	// Silent maps each silent node to the time from which its heartbeat is missing.
	Silent map[string]time.Time
	// Known contains the silent nodes that were lost in an earlier term and have not returned.
	Known map[string]bool
	// Timeout is the silence after which a node is lost.
	Timeout time.Duration
}

// Verdict divides the silent nodes into lost and held ones.
type Verdict struct {
	// Lost are the nodes that have been silent for the whole timeout.
	Lost map[string]bool
	// Held says for a lost node how many nodes went silent with it, if those are too many to replace what they run.
	Held map[string]int
	// Left is the time until the verdict changes if nothing else does, by node: the next one becomes lost.
	Left map[string]time.Duration
}

// minHeld is the number of nodes that must go silent together to be held: the pods of one node alone may always be
// replaced.
const minHeld = 2

// Judge judges the silent nodes.
func Judge(in Input, now time.Time) Verdict {
	v := Verdict{Lost: map[string]bool{}, Held: map[string]int{}, Left: map[string]time.Duration{}}
	together := windows(in)
	for node, since := range in.Silent {
		if in.Known[node] {
			v.Lost[node] = true
			continue
		}
		if left := in.Timeout - now.Sub(since); left > 0 {
			v.Left[node] = left
			continue
		}
		v.Lost[node] = true
		if n := together(since); n >= minHeld && 3*n > in.Nodes {
			v.Held[node] = n
		}
	}
	return v
}

// windows returns a function that says how many nodes at most went silent within one timeout that contains a time.
func windows(in Input) func(since time.Time) int {
	var times []time.Time
	for node, since := range in.Silent {
		if !in.Known[node] {
			times = append(times, since)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	counts := make([]int, len(times)) // that went silent within a timeout from times[i] on
	for first, end := 0, 0; first < len(times); first++ {
		for end < len(times) && times[end].Sub(times[first]) <= in.Timeout {
			end++
		}
		counts[first] = end - first
	}
	return func(since time.Time) int {
		most := 0
		for i, first := range times {
			if d := since.Sub(first); d >= 0 && d <= in.Timeout {
				most = max(most, counts[i])
			}
		}
		return most
	}
}
