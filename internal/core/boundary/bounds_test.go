package boundary

import (
	"math"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
)

func TestMachine(t *testing.T) {
	for name, tc := range map[string]struct {
		cpus   float64
		memory int64
		want   bool
	}{
		"a machine": {64, 256 << 30, true}, "unknown": {0, 0, true}, "part of a core": {.5, 128 << 20, true},
		"the largest": {4096, 64 << 40, true}, "cores of a city": {999999, 1 << 30, false},
		"all memory": {4, math.MaxInt64, false}, "less than none": {-1, 1 << 30, false}, "negative": {4, -1, false},
		"no number": {math.NaN(), 1 << 30, false}, "infinite": {math.Inf(1), 1 << 30, false},
	} {
		if got := Machine(api.NodeStatus{CPUs: tc.cpus, MemoryBytes: tc.memory}); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestCounts(t *testing.T) {
	for said, want := range map[int]int{-5: 0, 0: 0, 7: 7, math.MaxInt: 1 << 30, math.MinInt: 0} {
		report := node.Report{Tasks: []api.TaskStatus{{Incarnations: said, EngineRestarts: said, PID: said}}}
		got := Counts(report).Tasks[0]
		if got.Incarnations != want || got.EngineRestarts != want || got.PID != want {
			t.Errorf("%d: %+v", said, got)
		}
		if report.Tasks[0].Incarnations != said {
			t.Errorf("%d: the report itself was changed", said)
		}
	}
}
