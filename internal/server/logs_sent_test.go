package server

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	container "tend.dev/tend/internal/node/runtime"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TestNoLineIsSentTwice: an engine may begin again from any earlier line, any number of times. Each line is sent once,
// in order, also lines of the same moment.
func TestNoLineIsSentTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var written []container.LogLine
		at := noon
		for i := range rapid.IntRange(1, 30).Draw(t, "lines") {
			at = at.Add(time.Duration(rapid.IntRange(0, 1).Draw(t, "later")))
			written = append(written, container.LogLine{Stream: "stdout", At: at, Text: fmt.Sprint(i)})
		}
		var seen sentLines
		var out []string
		read := 0
		for read < len(written) {
			upTo := rapid.IntRange(read, len(written)-1).Draw(t, "up to")
			from := read
			if read > 0 && rapid.Bool().Draw(t, "again") { // the engine begins again, at a line of an earlier moment
				from = rapid.IntRange(0, read).Draw(t, "from")
				for from > 0 && from < read &&
					(!written[from].At.Before(written[read-1].At) || written[from-1].At.Equal(written[from].At)) {
					from--
				}
				if !written[from].At.Before(written[read-1].At) {
					from = read
				}
			}
			for _, line := range written[from : upTo+1] {
				if !seen.before(line, noon.Add(time.Hour)) {
					out = append(out, line.Text)
				}
			}
			read = upTo + 1
		}
		if len(out) != len(written) {
			t.Fatalf("sentLines %v of %d lines", out, len(written))
		}
		for i, text := range out {
			if text != fmt.Sprint(i) {
				t.Fatalf("sentLines %v", out)
			}
		}
	})
}

// TestLinesAreSentAtAnyClock: a clock that was set back suppresses no line, and the streams don't suppress each other's
// lines.
func TestLinesAreSentAtAnyClock(t *testing.T) {
	var seen sentLines
	for _, step := range []struct {
		reason string
		line   container.LogLine
		now    time.Time
		before bool
	}{
		{"the first", container.LogLine{Stream: "stdout", At: noon}, noon, false},
		{"another stream is behind", container.LogLine{Stream: "stderr", At: noon.Add(-time.Second)}, noon, false},
		{"the engine begins again", container.LogLine{Stream: "stdout", At: noon.Add(-time.Second)}, noon, true},
		{"the clock was set back an hour", container.LogLine{Stream: "stdout", At: noon.Add(-time.Hour)},
			noon.Add(-time.Hour), false},
		{"it goes on from there", container.LogLine{Stream: "stdout", At: noon.Add(1 - time.Hour)},
			noon.Add(2 - time.Hour), false},
		{"no time", container.LogLine{Stream: "stdout"}, noon, false},
	} {
		if got := seen.before(step.line, step.now); got != step.before {
			t.Errorf("%s: %v", step.reason, got)
		}
	}
}
