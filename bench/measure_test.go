package main

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRatioIsTheMedianOfTheTurns(t *testing.T) {
	tests := map[string]struct {
		reason     string
		ours, peer []time.Duration
		want       float64
	}{
		"one turn":   {"its ratio is the figure", []time.Duration{3}, []time.Duration{2}, 1.5},
		"an outlier": {"a disturbed turn is one of many", []time.Duration{1, 1, 100}, []time.Duration{1, 1, 1}, 1},
		"a slow moment": {"what slows both sides of a turn cancels out", []time.Duration{10, 100, 10},
			[]time.Duration{5, 50, 5}, 2},
		"even":    {"the mean of the two in the middle", []time.Duration{1, 2, 3, 4}, []time.Duration{1, 1, 1, 1}, 2.5},
		"no turn": {"nothing is nothing", nil, nil, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := times{"ours": test.ours, "peer": test.peer}.ratio("ours", "peer")
			if got != test.want {
				t.Errorf("%s: ratio %v, want %v", test.reason, got, test.want)
			}
		})
	}
}

func TestChoose(t *testing.T) {
	chosen, err := choose([]string{"heal", "deploy-20"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range chosen {
		got = append(got, f.name)
	}
	if diff := cmp.Diff([]string{"deploy-20", "heal"}, got); diff != "" {
		t.Errorf("figures keep their own order (-want +got):\n%s", diff)
	}
	if _, err := choose([]string{"deply-20"}); err == nil {
		t.Error("a misspelled figure was taken for none")
	}
}

func TestInParallel(t *testing.T) {
	var done atomic.Int64
	fault := errors.New("third")
	_, err := inParallel(7, 3, func(i int) error {
		done.Add(1)
		if i == 2 {
			return fault
		}
		return nil
	})
	if done.Load() != 7 || !errors.Is(err, fault) {
		t.Errorf("%d of 7 done, error %v; one that fails keeps no other from being done", done.Load(), err)
	}
}

func TestReadingTheKernelsTexts(t *testing.T) {
	idle, all, err := parseProcessorTime("cpu  100 5 50 800 20 3 2 10 7 0\n")
	if err != nil || idle != 820 || all != 990 {
		t.Errorf("processors: idle %d of %d (%v), want 820 of 990: guests are counted as user already", idle, all, err)
	}
	if _, _, err := parseProcessorTime("intr 1 2 3"); err == nil {
		t.Error("another line was read as the processors'")
	}
	megabytes, err := parseResident("Name:\ttend\nVmPeak:\t  99 kB\nVmRSS:\t   43008 kB\nRssAnon:\t 1 kB\n")
	if err != nil || megabytes != 42 {
		t.Errorf("resident: %v MB (%v), want 42", megabytes, err)
	}
	used, err := parseProcessorTimeOf("12 (a) name)) S 1 12 12 0 -1 4194560 900 0 3 0 150 50 0 0 20 0 9 0 777 1 2 3")
	if err != nil || used != 2*time.Second {
		t.Errorf("processor time: %v (%v), want 2s: names hold brackets and blanks", used, err)
	}
}

func TestReadingWrk(t *testing.T) {
	const report = "Running 5s test @ http://127.0.0.1:1/\n  Latency Distribution\n     50%    1.10ms\n     99%    7.25ms\n" +
		"  10 requests in 5.0s, 1MB read\nRequests/sec:  20000.00\nTransfer/sec:      3.17MB\n"
	got, err := parseWrk(report)
	if err != nil || got.each != 50*time.Microsecond || got.p99 != 7250*time.Microsecond {
		t.Errorf("%+v %v", got, err)
	}
	for _, fault := range []string{"  Non-2xx or 3xx responses: 3\n",
		"  Socket errors: connect 2, read 0, write 0, timeout 0\n",
		"  Socket errors: connect 0, read 0, write 0, timeout 7\n"} {
		if _, err := parseWrk(report + fault); err == nil {
			t.Errorf("it passes: %s", fault)
		}
	}
	if _, err := parseWrk("wrk [options]"); err == nil {
		t.Error("a report without figures passes")
	}
}
