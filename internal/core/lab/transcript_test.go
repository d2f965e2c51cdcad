package lab

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestTranscripts replays the transcripts of testdata. Run it with -rewrite to record what the planner does now, and
// read the difference.
//
//	lab [start=D] [duration=D] [release=R|none] [held=…]   what is declared
//	containers lasts=D code=N takes=D stopping=D rejects=N   how containers behave from now on
//	node full|free|lost|back
//	extend D · stop WHO · delete · restored
//	tick D               time passes, with decisions when something happens
//	down D               time passes without decisions
//	state
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if !strings.HasSuffix(path, ".txt") {
			return // a failure that rapid keeps
		}
		w, out := newWorld(), strings.Builder{}
		w.log = func(format string, args ...any) {
			fmt.Fprintf(&out, "%8s  %s\n", w.now.Sub(epoch), strings.TrimSpace(fmt.Sprintf(format, args...)))
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out.Reset()
			if err := w.command(d, &out); err != nil {
				d.Fatalf(t, "%v", err)
			}
			if w.fault != "" {
				d.Fatalf(t, "%s", w.fault)
			}
			return out.String()
		})
	})
}

func (w *world) command(d *datadriven.TestData, out *strings.Builder) (err error) {
	arg := ""
	if len(d.CmdArgs) > 0 {
		arg = d.CmdArgs[0].Key
	}
	var span time.Duration
	switch d.Cmd {
	case "tick", "down", "extend":
		if span, err = time.ParseDuration(arg); err != nil {
			return err
		}
	}
	switch d.Cmd {
	case "lab":
		err = w.declare(d)
	case "containers":
		return w.behave(d)
	case "node":
		w.full, w.lost = arg == "full" || arg != "free" && w.full, arg == "lost" || arg != "back" && w.lost
	case "extend":
		w.desired.Duration += span
	case "stop":
		w.desired.StoppedBy = arg
	case "delete":
		w.desired.Deleting = true
	case "restored":
		w.desired.Over, w.desired.Redeclared = w.now, false
	case "tick":
		w.pass(span)
		return nil
	case "down":
		for until := w.now.Add(span); w.now.Before(until); {
			w.work()
			w.now = minTime(w.next, until)
		}
		return nil
	case "state":
		fmt.Fprintf(out, "%s, %d failures, %d tasks\n", w.stored.Phase, w.stored.Failures, len(w.tasks))
		return nil
	default:
		return fmt.Errorf("unknown command %q", d.Cmd)
	}
	w.decide()
	return err
}

func (w *world) declare(d *datadriven.TestData) error {
	w.desired.Redeclared = true
	for _, arg := range d.CmdArgs {
		value, err := arg.Vals[0], error(nil)
		var span time.Duration
		switch arg.Key {
		case "start", "duration":
			span, err = time.ParseDuration(value)
		}
		switch arg.Key {
		case "start":
			w.desired.Start = epoch.Add(span)
		case "duration":
			w.desired.Duration = span
		case "release":
			w.desired.Release = strings.TrimPrefix(value, "none")
		case "held":
			w.desired.Held = strings.TrimPrefix(value, "none")
		default:
			err = fmt.Errorf("unknown %s", arg.Key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *world) behave(d *datadriven.TestData) (err error) {
	for _, arg := range d.CmdArgs {
		value := arg.Vals[0]
		switch arg.Key {
		case "lasts":
			w.lasts, err = time.ParseDuration(value)
		case "takes":
			w.takes, err = time.ParseDuration(value)
		case "stopping":
			w.stopping, err = time.ParseDuration(value)
		case "code":
			w.code, err = strconv.Atoi(value)
		case "rejects":
			w.rejects, err = strconv.Atoi(value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
