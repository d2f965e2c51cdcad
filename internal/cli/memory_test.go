package cli

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

func TestSpareMemory(t *testing.T) {
	before, limit := debug.SetGCPercent(300), debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(limit)
	defer debug.SetGCPercent(before)
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	for _, test := range []struct {
		variable       string
		starts, passes uint64 // the percentage while the process starts, and from the first collection on
	}{{"300", 300, 300}, {"off", 300, 300}, {"", math.MaxUint64, gcPercent}} {
		debug.SetGCPercent(300)
		t.Setenv("GOGC", test.variable)
		spareMemory()
		if got := currentPercent(); got != test.starts {
			t.Errorf("GOGC=%q: %d while it starts, want %d", test.variable, got, test.starts)
		}
		for currentPercent() != test.passes { // a cleanup runs some time after its collection
			runtime.GC()
		}
		if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
			t.Errorf("GOGC=%q: the memory stays limited to %d bytes", test.variable, limit)
		}
		if rate := runtime.MemProfileRate; rate != 0 {
			t.Errorf("allocations are profiled, one in %d bytes: nothing reads it", rate)
		}
	}
}

func currentPercent() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
