package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"
)

// side is one of the sides of a comparison. Its run does the complete work, including cleanup, and returns the time of
// the measured part.
type side struct {
	name string
	run  func(ctx context.Context) (time.Duration, error)
}

// take lets the sides take turns, each once the machine is idle, and returns the times of each by name. It reports how
// idle the machine was.
func (l *harness) take(ctx context.Context, figure string, turns int, sides ...side) (times, error) {
	out := times{}
	for turn := range turns {
		line := fmt.Sprintf("%s %d/%d:", figure, turn+1, turns)
		for _, s := range sides {
			quiet := awaitQuiet(ctx)
			took, err := s.run(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			out[s.name] = append(out[s.name], took)
			line += fmt.Sprintf(" %s %.0f ms (idle %.0f %%)", s.name, milliseconds(took), 100*quiet)
		}
		fmt.Fprintln(os.Stderr, line)
	}
	return out, nil
}

// times are the times of each side, in the order of the turns.
type times map[string][]time.Duration

func (t times) median(name string) time.Duration { return median(t[name]) }

// ratio returns the median of the ratios of one side's times to the other's, turn by turn.
func (t times) ratio(name, peer string) float64 {
	ratios := make([]float64, len(t[name]))
	for i := range ratios {
		ratios[i] = float64(t[name][i]) / float64(t[peer][i])
	}
	return median(ratios)
}

// median of an even number is the mean of the two in the middle.
func median[T float64 | time.Duration](values []T) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
