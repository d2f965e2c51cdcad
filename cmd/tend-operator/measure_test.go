package main_test

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// quantile returns the value in seconds that a share of what came between two readings of a histogram took at most. It
// interpolates within a bucket, as Prometheus's histogram_quantile does; what is above the last bound is infinite.
func quantile(share float64, start, end map[string]float64) float64 {
	type bucket struct{ bound, count float64 }
	var buckets []bucket
	for text, count := range end {
		bound, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return math.NaN()
		}
		buckets = append(buckets, bucket{bound, count - start[text]})
	}
	slices.SortFunc(buckets, func(a, b bucket) int { return cmp.Compare(a.bound, b.bound) })
	if len(buckets) == 0 || buckets[len(buckets)-1].count == 0 {
		return math.NaN()
	}
	wanted, below := share*buckets[len(buckets)-1].count, bucket{}
	for _, b := range buckets {
		if b.count >= wanted {
			if math.IsInf(b.bound, 1) {
				return b.bound
			}
			return below.bound + (b.bound-below.bound)*(wanted-below.count)/(b.count-below.count)
		}
		below = b
	}
	return math.NaN()
}

// usage is a reading of the processor time that a process and the whole machine have used.
type usage struct {
	process, machine time.Duration
	at               time.Time
}

// ticks is the number of clock ticks a second in /proc; Linux has no other.
const ticks = 100

// usageOf reads the processor time of a process and of the machine.
func usageOf(t testing.TB, pid int) usage {
	t.Helper()
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	own := read(fmt.Sprintf("/proc/%d/stat", pid))
	_, own, _ = strings.Cut(own, ") ") // a command's name may have spaces
	all, _, _ := strings.Cut(strings.TrimPrefix(read("/proc/stat"), "cpu "), "\n")
	fields := strings.Fields(all)
	// user, nice, system, then idle and iowait, irq, softirq and steal
	return usage{sum(t, strings.Fields(own)[11:13]), sum(t, slices.Concat(fields[:3], fields[5:8])), time.Now()}
}

func sum(t testing.TB, fields []string) (total time.Duration) {
	t.Helper()
	for _, field := range fields {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		total += time.Duration(n) * time.Second / ticks
	}
	return total
}

func TestQuantile(t *testing.T) {
	start := map[string]float64{"0.005": 10, "0.01": 20, "+Inf": 20}
	for want, tc := range map[float64]struct {
		share float64
		end   map[string]float64
	}{
		0.005:       {0.9, map[string]float64{"0.005": 100, "0.01": 110, "+Inf": 120}},
		0.0075:      {0.95, map[string]float64{"0.005": 100, "0.01": 120, "+Inf": 120}},
		0.0025:      {0.5, map[string]float64{"0.005": 110, "0.01": 120, "+Inf": 120}},
		math.Inf(1): {0.99, map[string]float64{"0.005": 100, "0.01": 110, "+Inf": 120}},
	} {
		if got := quantile(tc.share, start, tc.end); math.Abs(got-want) > 1e-9 && got != want {
			t.Errorf("%v of %v: %v, want %v", tc.share, tc.end, got, want)
		}
	}
	if got := quantile(0.99, start, start); !math.IsNaN(got) {
		t.Errorf("of nothing: %v", got)
	}
}

// TestUsage: a process that computes uses processor time, and so does its machine, whose books the kernel keeps by
// themselves. If one of them stood still the test would end by its time limit.
func TestUsage(t *testing.T) {
	before := usageOf(t, os.Getpid())
	for now := before; now.process < before.process+2*time.Second/ticks || now.machine <= before.machine; {
		for i := range 1_000_000 {
			_ = math.Sqrt(float64(i))
		}
		now = usageOf(t, os.Getpid())
	}
}
