package cli

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestSpareMemory(t *testing.T) {
	before := debug.SetGCPercent(300)
	defer debug.SetGCPercent(before)
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	for _, test := range []struct {
		variable string
		want     int
	}{{"300", 300}, {"off", 300}, {"", growth}} {
		t.Setenv("GOGC", test.variable)
		spareMemory()
		got := debug.SetGCPercent(300)
		if got != test.want {
			t.Errorf("GOGC=%q: %d, want %d", test.variable, got, test.want)
		}
		if rate := runtime.MemProfileRate; rate != 0 {
			t.Errorf("allocations are profiled, one in %d bytes: nothing reads it", rate)
		}
	}
}
