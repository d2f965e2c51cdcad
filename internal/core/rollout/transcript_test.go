package rollout

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"tend.dev/tend/api"
)

// TestTranscripts replays the transcripts of testdata: commands, and what the planner does about them. Run with
// -rewrite to write what it does now, and read the difference.
//
//	deploy [replicas=N] [release=R] [order= max-parallel= pause= monitor= deadline= on-failure= probed wait-ready=no
//	  ordered]
//	scale N · restart · delete · freeze SLOT · unfreeze SLOT
//	release R fails|crash-loops|never-ready|ok     the fate of its tasks from now on
//	release R dies lives=D     its containers live so long, again and again
//	fail SLOT · crash-loop SLOT · unready SLOT · recover SLOT · rebootstrap SLOT     what happens to one
//	nodes NAME…               the nodes that there are; without it, n1
//	cut NODE · mend NODE      a node is silent, and counts as lost at once
//	drain NODE · uncordon NODE     a node may keep nothing, or may again
//	hold · let                many nodes are lost together, so that nothing is moved; or no longer
//	room full|none|plenty · agent SLOT stuck|well
//	plan                      what the planner would do now; nothing is done
//	perform N                 do the first N actions of the plan, and "crash"
//	again                     an apply without a change asks for another try
//	away D                    the server is away for a while
//	clock D                   the clock is set forward, or back
//	tick D                    time passes and agents work; nothing is decided
//	run [for=D] [all]         decide and work until it is quiet, or for a while; all also prints removals
//	state · forecast
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &story{world: newWorld()}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.out.Reset()
			if err := s.command(d); err != nil {
				d.Fatalf(t, "%v", err)
			}
			return s.out.String()
		})
	})
}

type story struct {
	*world
	out strings.Builder
}

func (s *story) command(d *datadriven.TestData) error {
	s.log = func(string, ...any) {}
	arg := ""
	if len(d.CmdArgs) > 0 {
		arg = d.CmdArgs[0].Key
	}
	switch d.Cmd {
	case "deploy":
		return s.deploy(d)
	case "scale":
		n, err := strconv.Atoi(arg)
		s.desired.Replicas = n
		return err
	case "restart":
		s.desired.Target.Restart += "'"
	case "again":
		s.desired.Pull += "'"
		s.desired.PulledAt = s.now
	case "delete":
		s.desired.Deleting = true
	case "freeze":
		s.desired.Frozen[arg] = true
	case "unfreeze":
		delete(s.desired.Frozen, arg)
	case "release":
		s.fates[arg] = fate(d.CmdArgs[1].Key)
		if lives, ok := d.Arg("lives"); ok {
			var err error
			s.lives, err = time.ParseDuration(lives.Vals[0])
			return err
		}
	case "room":
		s.full, s.noNode = arg == "full", arg == "none"
	case "nodes":
		s.nodes = nil
		for _, node := range d.CmdArgs {
			s.nodes = append(s.nodes, node.Key)
		}
	case "cut", "mend":
		s.cut[arg] = d.Cmd == "cut"
	case "drain", "uncordon":
		s.drained[arg] = d.Cmd == "drain"
	case "hold", "let":
		s.held = d.Cmd == "hold"
	case "agents":
		s.byClock = arg == "old"
	case "plan":
		s.plans()
	case "perform":
		n, err := strconv.Atoi(arg)
		s.loud(true)
		for _, a := range s.world.plan().Actions[:n] {
			s.world.perform(a)
		}
		return err
	case "clock":
		jump, err := time.ParseDuration(arg)
		s.now = s.now.Add(jump)
		return err
	case "away":
		d, err := time.ParseDuration(arg)
		s.now = s.now.Add(d)
		s.desired.WatchedSince = s.now
		return err
	case "tick":
		step, err := time.ParseDuration(arg)
		s.loud(false)
		s.work(s.now.Add(step))
		return err
	case "run":
		return s.runs(d)
	case "state":
		s.state()
	case "forecast":
		for _, a := range Forecast(s.desired, s.list(), s.now) {
			fmt.Fprintln(&s.out, a)
		}
	default:
		return s.happens(d.Cmd, arg, d)
	}
	return nil
}

// happens is an event of one slot.
func (s *story) happens(what, id string, d *datadriven.TestData) error {
	slot := s.slots[id]
	if slot == nil {
		return fmt.Errorf("no slot %q", id)
	}
	switch what {
	case "fail":
		s.end(slot, api.TaskFailed, "failed")
	case "crash-loop":
		s.crashLoop(slot)
	case "unready":
		s.stuck[id] = true
		s.unready(slot)
	case "rebootstrap":
		slot.Rebootstrap = true
	case "recover":
		delete(s.stuck, id)
		slot.Ready, slot.Steady, slot.CrashLoop, slot.StartedAt, slot.ReadyAt = true, false, false, s.now, s.now
		slot.UnreadyAt = time.Time{}
	case "agent":
		s.stuck[id] = d.CmdArgs[1].Key == "stuck"
	default:
		return fmt.Errorf("unknown command %q", what)
	}
	return nil
}

func (s *story) deploy(d *datadriven.TestData) error {
	strategy := &s.desired.Strategy
	for _, arg := range d.CmdArgs {
		value := ""
		if len(arg.Vals) > 0 {
			value = arg.Vals[0]
		}
		var err error
		switch arg.Key {
		case "replicas":
			s.desired.Replicas, err = strconv.Atoi(value)
		case "release":
			s.desired.Target.Release = value
		case "order":
			strategy.Order = value
		case "on-failure":
			strategy.OnFailure = value
		case "max-parallel":
			strategy.MaxParallel, err = strconv.Atoi(value)
		case "pause":
			strategy.Pause, err = time.ParseDuration(value)
		case "monitor":
			strategy.Monitor, err = time.ParseDuration(value)
		case "deadline":
			strategy.Deadline, err = time.ParseDuration(value)
		case "keep-dead":
			s.desired.KeepDead, err = strconv.Atoi(value)
		case "wait-ready":
			strategy.WaitReady = value != "no"
		case "superseded":
			s.desired.Superseded = value != "no"
		case "ordered":
			s.desired.Ordered, strategy.Order = true, api.OrderStopFirst
		case "probed":
			s.probed = value != "no"
		default:
			err = fmt.Errorf("unknown argument %q", arg.Key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// loud makes the world print what is done, with the time since the story began.
func (s *story) loud(all bool) {
	s.log = func(format string, args ...any) {
		line := fmt.Sprintf(format, args...)
		if all || !strings.HasPrefix(line, "remove ") && !strings.HasPrefix(line, "forget ") {
			fmt.Fprintf(&s.out, "%7s %s\n", s.now.Sub(epoch), line)
		}
	}
}

func (s *story) runs(d *datadriven.TestData) error {
	until := s.now.Add(24 * time.Hour)
	if limit, ok := d.Arg("for"); ok {
		step, err := time.ParseDuration(limit.Vals[0])
		if err != nil {
			return err
		}
		until = s.now.Add(step)
	}
	s.loud(d.HasArg("all"))
	if !s.world.run(until) {
		plan := s.world.plan()
		s.log("%s so far: %s", plan.Phase, s.message(plan))
	}
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
	fmt.Fprintf(&s.out, "%s, %s: %s\n", plan.Phase, plan.Reason, s.message(plan))
	c := plan.Counts
	fmt.Fprintf(&s.out, "running %d, ready %d, updated %d, outdated %d, failing %d, frozen %d", c.Running, c.Ready,
		c.Updated, c.Outdated, c.Failing, c.Frozen)
	if c.Lost > 0 {
		fmt.Fprintf(&s.out, ", lost %d", c.Lost)
	}
	fmt.Fprintln(&s.out)
	for _, slot := range s.sorted() {
		fmt.Fprintf(&s.out, "  %s %s%s %s, wanted %s", slot.ID, slot.Version.Release, slot.Version.Restart,
			slot.State, slot.Desired)
		if slot.Ready {
			fmt.Fprint(&s.out, ", ready")
		}
		if slot.CrashLoop {
			fmt.Fprint(&s.out, ", crash loop")
		}
		if slot.Lost {
			fmt.Fprint(&s.out, ", lost")
		}
		fmt.Fprintln(&s.out)
	}
}
