package autoscale_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/autoscale"
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TestDecide replays transcripts of load and replicas. Rewrite testdata/decide.txt with -rewrite.
func TestDecide(t *testing.T) {
	var in autoscale.Input
	now := start
	datadriven.RunTest(t, "testdata/decide.txt", func(t *testing.T, d *datadriven.TestData) string {
		var text string
		switch d.Cmd {
		case "spec":
			in, now = autoscale.Input{Spec: api.Autoscale{CPUTarget: 70}}, start
			d.ScanArgs(t, "min", &in.Spec.Min)
			d.ScanArgs(t, "max", &in.Spec.Max)
			d.ScanArgs(t, "replicas", &in.Replicas)
			return ""
		case "owner":
			d.ScanArgs(t, "is", &in.Owner)
			return ""
		case "rolling":
			in.Rolling = !in.Rolling
			return ""
		case "pass":
			d.ScanArgs(t, "time", &text)
			length, err := time.ParseDuration(text)
			if err != nil {
				t.Fatal(err)
			}
			now = now.Add(length)
			fallthrough
		case "decide":
			if d.HasArg("cpu") {
				in.Samples = nil
				for _, arg := range d.CmdArgs {
					if arg.Key == "cpu" {
						in.Samples = numbers(t, arg.Vals)
					}
				}
			}
			return decide(&in, now)
		}
		t.Fatalf("no such command: %s", d.Cmd)
		return ""
	})
}

func numbers(t *testing.T, texts []string) []float64 {
	var out []float64
	for _, text := range texts {
		if text == "" {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, value)
	}
	return out
}

// decide decides once and applies the decision.
func decide(in *autoscale.Input, now time.Time) string {
	d := autoscale.Decide(*in, now)
	var out strings.Builder
	fmt.Fprintf(&out, "%d replicas, %s: %s", d.Replicas, d.Status.Reason, d.Status.Message)
	if d.After > 0 {
		fmt.Fprintf(&out, " (for another %s)", d.After)
	}
	if !autoscale.StatusDue(in.Status, d.Status) {
		out.WriteString(" (not written)")
		d.Status = in.Status
	}
	in.Replicas, in.Status = d.Replicas, d.Status
	return out.String() + "\n"
}

// TestSafety: the count stays within the bounds or moves into them, one step at a time, never two within a cooldown,
// and never against the samples.
func TestSafety(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.IntRange(1, 5).Draw(t, "min")
		high := rapid.IntRange(low, 9).Draw(t, "max")
		in := autoscale.Input{
			Spec: api.Autoscale{Min: low, Max: high, CPUTarget: rapid.IntRange(1, 100).Draw(t, "target"),
				CooldownUp: "30s", CooldownDown: "5m"},
			Replicas: rapid.IntRange(0, 12).Draw(t, "replicas"),
		}
		now := start
		var lastStep time.Time
		for range 60 {
			now = now.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "seconds")) * time.Second)
			in.Samples = rapid.SliceOfN(rapid.Float64Range(0, 300), 0, 6).Draw(t, "samples")
			in.Rolling = rapid.Bool().Draw(t, "rolling")
			d := autoscale.Decide(in, now)
			checkStep(t, in, d, now, lastStep, low, high)
			if again := autoscale.Decide(in, now); again != d {
				t.Fatal("the same input decides otherwise")
			}
			if d.Replicas != in.Replicas {
				lastStep = now
			}
			in.Replicas, in.Status = d.Replicas, d.Status
		}
	})
}

func checkStep(t *rapid.T, in autoscale.Input, d autoscale.Decision, now, lastStep time.Time, low, high int) {
	if d.Replicas < low || d.Replicas > high {
		t.Fatalf("%d replicas are outside %d to %d", d.Replicas, low, high)
	}
	if in.Replicas < low || in.Replicas > high || d.Replicas == in.Replicas {
		return
	}
	step, since := d.Replicas-in.Replicas, now.Sub(lastStep)
	if step != 1 && step != -1 {
		t.Fatalf("a step of %d", step)
	}
	if in.Rolling || len(in.Samples) == 0 {
		t.Fatalf("a step of %d while rolling %v with %d samples", step, in.Rolling, len(in.Samples))
	}
	use, target := d.Status.CPUPercent, float64(in.Spec.CPUTarget)
	if step == 1 && (use <= 1.1*target || since < 30*time.Second) ||
		step == -1 && (use >= 0.7*target || since < 5*time.Minute) {
		t.Fatalf("a step of %d at %.1f of %.0f, %s after the last", step, use, target, since)
	}
}

// TestASteadyLoadSettles: with any steady load, the count settles and stops changing.
func TestASteadyLoadSettles(t *testing.T) {
	settles(t, 34, 37.453125) // one pod is above the target, and each of two is rounded down to where one would not be
	rapid.Check(t, func(t *rapid.T) {
		settles(t, rapid.IntRange(30, 90).Draw(t, "target"), rapid.Float64Range(0, 1000).Draw(t, "load"))
	})
}

func settles(t rapid.TB, target int, load float64) {
	in := autoscale.Input{Spec: api.Autoscale{Min: 1, Max: 20, CPUTarget: target}, Replicas: 1}
	now, changes := start, 0
	for range 40 {
		now = now.Add(6 * time.Minute)
		in.Samples = nil
		for range in.Replicas {
			in.Samples = append(in.Samples, load/float64(in.Replicas))
		}
		d := autoscale.Decide(in, now)
		if d.Replicas != in.Replicas {
			changes++
		}
		in.Replicas, in.Status = d.Replicas, d.Status
	}
	last := autoscale.Decide(in, now.Add(6*time.Minute))
	if changes > 19 || last.Replicas != in.Replicas {
		t.Fatalf("after %d changes the count still moves from %d to %d", changes, in.Replicas, last.Replicas)
	}
}
