package agent_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/probe"
	"tend.dev/tend/internal/node/agent/prober"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
)

// patient is a program whose probes (commands named startup, liveness and readiness) answer as the test sets.
type patient struct {
	mu    sync.Mutex
	fails map[string]bool
	asked map[string]int
}

func newPatient(fails ...string) *patient {
	p := &patient{fails: map[string]bool{}, asked: map[string]int{}}
	p.set(true, fails...)
	return p
}

func (p *patient) set(fails bool, probes ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, probe := range probes {
		p.fails[probe] = fails
	}
}

// taken returns how often a probe ran since the last call.
func (p *patient) taken(probe string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.asked[probe]
	p.asked[probe] = 0
	return n
}

func (p *patient) engine() hollow.Options {
	return hollow.Options{Behaviour: func(runtime.ContainerSpec) hollow.Behaviour {
		return hollow.Behaviour{Exec: func(call hollow.ExecCall) int {
			p.mu.Lock()
			defer p.mu.Unlock()
			probe := call.Options.Command[0]
			p.asked[probe]++
			if p.fails[probe] {
				return 1
			}
			return 0
		}}
	}}
}

// probed declares probes, each run every second and failed after two failures.
func probed(probes ...string) func(*api.Task, *api.DeploymentSpec) {
	return func(_ *api.Task, spec *api.DeploymentSpec) {
		spec.Probes = &api.Probes{}
		for _, name := range probes {
			p := &api.Probe{Exec: &api.ExecProbe{Command: []string{name}}, Period: "1s", FailureThreshold: 2}
			switch name {
			case "startup":
				spec.Probes.Startup = p
			case "liveness":
				spec.Probes.Liveness = p
			case "readiness":
				spec.Probes.Readiness = p
			}
		}
	}
}

func TestReadinessComesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient("readiness")
		l := newHarness(t, p.engine())
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), probed("readiness", "liveness"))
		l.settle()
		l.want(task, api.TaskRunning, false, "Unready")
		before := l.wantContainer(task, runtime.StateRunning)

		p.set(false, "readiness")
		l.pass(2 * time.Second)
		l.want(task, api.TaskRunning, true, "")
		p.set(true, "readiness")
		l.pass(4 * time.Second)
		l.want(task, api.TaskRunning, false, "Unready")
		if got := l.status(task).Probes["readiness"]; got.Phase != api.ProbeUnhealthy ||
			got.Message != "readiness ended with exit code 1 and printed nothing" || got.Transition < 2 {
			t.Errorf("%+v", got)
		}
		if c := l.wantContainer(task, runtime.StateRunning); !c.StartedAt.Equal(before.StartedAt) {
			t.Error("lost readiness restarted the container")
		}
	})
}

// TestAHealthCheckIsAReadinessProbe: a container whose health check fails isn't ready, so no ingress sends requests to
// it, and it keeps running.
func TestAHealthCheckIsAReadinessProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		var healthy atomic.Bool
		l.asker = func(_ context.Context, a prober.Attempt) probe.Result {
			if get := a.Probe.HTTPGet; get == nil || get.Path != "/up" || get.Port != 8080 {
				t.Errorf("asked %+v", a.Probe)
			}
			return probe.Result{Pass: healthy.Load(), Message: "GET /up: status 503"}
		}
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), func(_ *api.Task, spec *api.DeploymentSpec) {
			spec.HealthCheck, spec.Ports = "/up", []string{"3000:8080"}
		})
		l.pass(time.Minute)
		l.want(task, api.TaskRunning, false, "Unready")
		before := l.wantContainer(task, runtime.StateRunning)
		healthy.Store(true)
		l.pass(time.Minute)
		l.want(task, api.TaskRunning, true, "")
		if c := l.wantContainer(task, runtime.StateRunning); c.ID != before.ID || !c.StartedAt.Equal(before.StartedAt) {
			t.Error("a failed health check restarted the container")
		}
	})
}

func TestStartupHoldsTheOthersBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient("startup", "liveness")
		l := newHarness(t, p.engine())
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), func(task *api.Task, spec *api.DeploymentSpec) {
			probed("startup", "liveness")(task, spec)
			spec.Probes.Startup.FailureThreshold = 30
		})
		l.pass(20 * time.Second)
		l.want(task, api.TaskRunning, false, "StartupPending")
		if n := p.taken("liveness"); n > 0 {
			t.Errorf("liveness was asked %d times before startup had passed", n)
		}
		p.set(false, "startup", "liveness")
		l.pass(2 * time.Second)
		l.want(task, api.TaskRunning, true, "")
		p.taken("startup")
		l.pass(time.Minute)
		if n := p.taken("startup"); n > 0 {
			t.Errorf("startup was asked %d times after it had passed", n)
		}
		if n := p.taken("liveness"); n < 60 {
			t.Errorf("liveness was asked %d times in a minute", n)
		}
	})
}

// TestLivenessRestartsInPlace: again and again, with growing pauses; then the task fails, to be replaced.
func TestLivenessRestartsInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient("liveness")
		l := newHarness(t, p.engine())
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), probed("liveness"))
		id := ""
		for restart, within := range []time.Duration{5 * time.Second, 15 * time.Second, 25 * time.Second} {
			l.pass(within)
			status := l.status(task)
			if len(status.LivenessRestarts) != restart+1 || status.Incarnations != restart+2 || status.State != api.TaskRunning {
				t.Fatalf("after %s: %+v", within, status)
			}
			if id == "" {
				id = status.Container
			}
			if status.Container != id {
				t.Error("the container was recreated instead of restarted")
			}
		}
		l.pass(45 * time.Second)
		l.want(task, api.TaskFailed, false, "LivenessFailed")
		l.wantContainer(task, runtime.StateExited)
		p.taken("liveness")
		l.pass(time.Minute)
		if n := p.taken("liveness"); n > 0 {
			t.Errorf("a container that was given up is asked %d times", n)
		}
	})
}

// TestProbesSurviveTheAgent: after a restart of the agent, ready containers are ready, started ones are started, and
// the probes continue.
func TestProbesSurviveTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient()
		l := newHarness(t, p.engine())
		l.start()
		task := l.deploy(taskID(1), probed("startup", "liveness", "readiness"))
		l.pass(3 * time.Second)
		before := l.status(task)
		if !before.Ready {
			t.Fatalf("not ready: %+v", before)
		}
		l.stop()
		p.taken("startup")
		p.taken("readiness")
		l.store.reports()
		l.start()
		defer l.close()
		l.want(task, api.TaskRunning, true, "")
		l.pass(10 * time.Second)
		if n := len(l.store.reports()); n > 1 { // the node's own
			t.Errorf("%d reports although nothing changed", n)
		}
		after := l.status(task)
		if !after.ReadyAt.Equal(before.ReadyAt) || after.Probes["startup"] != before.Probes["startup"] {
			t.Errorf("before %+v, after %+v", before, after)
		}
		if p.taken("startup") > 0 || p.taken("readiness") < 9 {
			t.Error("startup is asked again, or readiness isn't")
		}
		p.set(true, "readiness")
		l.pass(3 * time.Second)
		l.want(task, api.TaskRunning, false, "Unready")
	})
}

// TestNewIncarnationStartsUpAgain: a container that was restarted by hand has to start up again.
func TestNewIncarnationStartsUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient()
		l := newHarness(t, p.engine())
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), probed("startup", "readiness"))
		l.pass(3 * time.Second)
		was := l.status(task).Probes["readiness"]
		p.set(true, "startup")
		l.must(l.engine.Kill(task.ContainerName(), "SIGKILL"))
		l.settle()
		l.want(task, api.TaskRunning, false, "StartupPending")
		got := l.status(task).Probes["readiness"]
		if got.Phase != api.ProbeUnknown || got.Before != api.ProbeHealthy || got.Transition != was.Transition+1 {
			t.Errorf("before %+v, after %+v", was, got)
		}
	})
}

// TestNoProbesWhileStopping: the end of a container doesn't fail its probes.
func TestNoProbesWhileStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient()
		o := p.engine()
		o.StopDelay = hollow.Delay(8 * time.Second)
		l := newHarness(t, o)
		l.start()
		defer l.close()
		for i, end := range []func(api.Task){l.freeze, func(task api.Task) { l.raise(task, api.DesiredShutdown) }} {
			task := l.deploy(taskID(i), probed("readiness", "liveness"))
			l.pass(3 * time.Second)
			transition := l.status(task).Probes["readiness"].Transition
			p.set(true, "readiness", "liveness")
			end(task)
			p.taken("readiness")
			l.pass(time.Minute)
			if n := p.taken("readiness"); n > 0 || l.status(task).Probes["readiness"].Transition != transition {
				t.Errorf("asked %d times while it was stopped, %+v", n, l.status(task).Probes)
			}
			p.set(false, "readiness", "liveness")
		}
	})
}

// TestAnswersThatChangeNothingAreNotWritten: an hour of passes, then one of failures, causes one write for the change.
func TestAnswersThatChangeNothingAreNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient()
		l := newHarness(t, p.engine())
		l.start()
		defer l.close()
		l.deploy(taskID(1), probed("readiness"))
		l.pass(5 * time.Second)
		l.store.reports()
		l.pass(time.Hour)
		if n := len(l.store.reports()); n > 0 {
			t.Errorf("%d reports in an hour of passes", n)
		}
		p.set(true, "readiness")
		l.pass(time.Hour)
		if n := len(l.store.reports()); n != 1 {
			t.Errorf("%d reports in an hour of failures", n)
		}
	})
}

// TestAnEngineThatIsAwayCountsNothing: no container can be probed, so no probe failed.
func TestAnEngineThatIsAwayCountsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient()
		l := newHarness(t, p.engine())
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), probed("readiness", "liveness"))
		l.pass(3 * time.Second)
		l.engine.StopEngine()
		l.pass(time.Minute)
		l.engine.StartEngine()
		l.pass(10 * time.Second)
		l.want(task, api.TaskRunning, true, "")
		if n := len(l.status(task).LivenessRestarts); n > 0 {
			t.Errorf("restarted %d times by a probe that got no answer", n)
		}
	})
}

// TestTheImagesCheckDecidesReadiness: where no readiness probe is declared the health check of the image is one: its
// failures are shown from the first on and don't count in its start period. An empty block of probes switches it off.
func TestTheImagesCheckDecidesReadiness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient("check")
		image := func(spec runtime.ContainerSpec) hollow.Behaviour {
			behaviour := p.engine().Behaviour(spec)
			behaviour.Check = &runtime.HealthCheck{Command: []string{"check"}, Interval: time.Second,
				StartPeriod: 20 * time.Second, Retries: 2}
			return behaviour
		}
		l := newHarness(t, hollow.Options{Behaviour: image})
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), func(*api.Task, *api.DeploymentSpec) {})
		off := l.deploy(taskID(2), func(_ *api.Task, spec *api.DeploymentSpec) { spec.Probes = &api.Probes{} })
		l.pass(10 * time.Second)
		readiness := l.status(task).Probes["readiness"]
		if l.status(task).Ready || readiness.Phase != api.ProbeUnknown || readiness.Source != "image" ||
			readiness.Message != "check ended with exit code 1 and printed nothing" {
			t.Errorf("in its start period: %+v", l.status(task))
		}
		if status := l.status(off); !status.Ready || len(status.Probes) > 0 {
			t.Errorf("switched off: %+v", status)
		}
		l.pass(20 * time.Second)
		if phase := l.status(task).Probes["readiness"].Phase; phase != api.ProbeUnhealthy {
			t.Errorf("after its start period: %s", phase)
		}
		p.set(false, "check")
		l.pass(2 * time.Second)
		if status := l.status(task); !status.Ready || status.Probes["readiness"].Message != "" {
			t.Errorf("well: %+v", status)
		}
	})
}
