package timetable

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"tend.dev/tend/api"
)

// TestTranscripts replays the transcripts of testdata. Run with -rewrite to write what the planner does now, and read
// the difference.
//
//	job [schedule=… zone=… concurrency=… timeout=… retries=… succeeded=… failed=… deadline=… suspend=…
//	     release=… held=… each=…]
//	containers DURATION CODE [stopping=…] [mute]    how long containers run from now on, and how they end
//	ask RUN              a run is requested
//	stop RUN             a stop of a run is requested
//	lines                the last lines of mute containers are reported
//	refuse REASON        no image is available
//	tick D               time passes, with decisions when something happens
//	down D               time passes without decisions
//	clock D              the clock is set forward, or back
//	look                 decisions are made until there is nothing to decide
//	node dark|lost|back|full · delete               a dark node is down, and not judged to be
//	crash N              carry out the first N actions of the plan, and forget the rest
//	plan · state
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if !strings.HasSuffix(path, ".txt") {
			return // an input of a fuzz target
		}
		s := &story{world: newWorld()}
		s.log = func(format string, args ...any) {
			fmt.Fprintf(&s.out, "%8s  %s\n", s.now.Sub(epoch), fmt.Sprintf(format, args...))
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.out.Reset()
			if err := s.command(d); err != nil {
				d.Fatalf(t, "%v", err)
			}
			if s.fault != "" {
				d.Fatalf(t, "%s", s.fault)
			}
			return s.out.String()
		})
	})
}

type story struct {
	*world
	out strings.Builder
}

func (s *story) command(d *datadriven.TestData) (err error) {
	arg := ""
	if len(d.CmdArgs) > 0 {
		arg = d.CmdArgs[0].Key
	}
	var span time.Duration
	switch d.Cmd {
	case "tick", "down", "clock", "containers":
		if span, err = time.ParseDuration(arg); err != nil {
			return err
		}
	}
	switch d.Cmd {
	case "job":
		return s.job(d)
	case "containers":
		s.lasts, s.code, s.stopping, s.mute = span, atoi(d.CmdArgs[1].Key), 0, d.HasArg("mute")
		if stopping, ok := d.Arg("stopping"); ok {
			s.stopping, err = time.ParseDuration(stopping.Vals[0])
		}
	case "lines":
		s.speak()
		s.decide()
	case "ask":
		s.create(api.Run{ID: arg, Trigger: api.TriggerManual, CreatedAt: s.now, State: api.RunPending})
		s.decide()
	case "stop":
		s.stop(arg)
		s.decide()
	case "refuse":
		s.desired.Refused = &Refusal{Reason: arg, Message: "the image can't be had", At: s.now}
		s.decide()
	case "tick":
		s.pass(span, true)
	case "down":
		s.pass(span, false)
		s.decide()
	case "clock":
		s.now = s.now.Add(span)
	case "look":
		s.decide()
	case "node":
		s.lost, s.dark, s.full = arg == "lost", arg == "dark", arg == "full"
		s.work()
		s.decide()
	case "delete":
		s.desired.Deleting = true
		s.decide()
	case "crash":
		s.crash(atoi(arg))
	case "plan":
		s.plans()
	case "state":
		s.state()
	default:
		return fmt.Errorf("unknown command %q", d.Cmd)
	}
	return err
}

func (s *story) job(d *datadriven.TestData) error {
	schedule, zone := "", ""
	for _, arg := range d.CmdArgs {
		value := strings.Join(arg.Vals, ",")
		var err error
		switch arg.Key {
		case "schedule":
			schedule = strings.ReplaceAll(value, "_", " ")
		case "zone":
			zone = value
		case "concurrency":
			s.desired.Concurrency = value
		case "timeout":
			s.desired.Timeout, err = time.ParseDuration(value)
		case "deadline":
			s.desired.StartingDeadline, err = time.ParseDuration(value)
		case "retries":
			s.desired.Retries, err = strconv.Atoi(value)
		case "succeeded":
			s.desired.KeepSucceeded, err = strconv.Atoi(value)
		case "failed":
			s.desired.KeepFailed, err = strconv.Atoi(value)
		case "suspend":
			s.desired.Suspend, err = strconv.ParseBool(value)
		case "release":
			s.desired.Release = value
		case "each":
			s.each, err = strconv.ParseBool(value)
		case "held":
			s.desired.Held = strings.ReplaceAll(value, "_", " ")
		default:
			err = fmt.Errorf("unknown argument %q", arg.Key)
		}
		if err != nil {
			return err
		}
	}
	if schedule != "" {
		parsed, err := Parse(schedule, zone)
		if err != nil {
			return err
		}
		s.desired.Schedule, s.desired.ScheduleHash = parsed, schedule+zone
	}
	s.desired.Since = s.now
	s.decide()
	return nil
}

func (s *story) plans() {
	plan := s.world.plan()
	for _, a := range plan.Actions {
		fmt.Fprintln(&s.out, a)
	}
	if len(plan.Actions) == 0 {
		fmt.Fprintln(&s.out, "nothing to do")
	}
	if plan.After > 0 {
		fmt.Fprintf(&s.out, "look again in %s\n", plan.After)
	}
}

func (s *story) state() {
	plan := s.world.plan()
	fmt.Fprintf(&s.out, "active %d, succeeded %d, failed %d", plan.Active, plan.Succeeded, plan.Failed)
	if plan.Timeline.Missed > 0 && plan.Timeline.Why == "" {
		fmt.Fprintf(&s.out, ", missed %d", plan.Timeline.Missed)
	} else if plan.Timeline.Missed > 0 {
		fmt.Fprintf(&s.out, ", missed %d (%s at %s)", plan.Timeline.Missed, plan.Timeline.Why,
			plan.Timeline.LastMissed.Format(time.TimeOnly))
	}
	if plan.Waiting != "" {
		fmt.Fprintf(&s.out, ", waiting: %s", plan.Waiting)
	}
	if !plan.NextRun.IsZero() {
		fmt.Fprintf(&s.out, ", next %s", plan.NextRun.Format(time.DateTime))
	}
	if !plan.Timeline.Ahead.IsZero() {
		fmt.Fprintf(&s.out, ", ahead %s", plan.Timeline.Ahead.Format(time.DateTime))
	}
	fmt.Fprintln(&s.out)
	for _, run := range s.sortedRuns() {
		fmt.Fprintf(&s.out, "  %s %s", run.ID, run.State)
		if run.ExitCode != nil {
			fmt.Fprintf(&s.out, " %d", *run.ExitCode)
		}
		if run.Reason != "" {
			fmt.Fprintf(&s.out, " %s: %s", run.Reason, run.Message)
		}
		fmt.Fprintf(&s.out, ", %d attempts", len(run.Attempts))
		if len(run.LastLog) > 0 {
			fmt.Fprintf(&s.out, ", said %q", run.LastLog)
		}
		fmt.Fprintln(&s.out)
	}
}

func atoi(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}
