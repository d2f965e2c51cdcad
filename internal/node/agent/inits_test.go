package agent_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
)

// initsLast returns an engine whose init containers take a while: those named after a number exit with it.
func initsLast(d time.Duration) hollow.Options {
	return hollow.Options{Behaviour: func(spec runtime.ContainerSpec) hollow.Behaviour {
		if spec.Labels[api.LabelRole] != api.RoleInit {
			return hollow.Behaviour{}
		}
		b := hollow.Behaviour{Exits: true, ExitAfter: d}
		if spec.Spec.Command[0] == "fail" {
			b.ExitCode, b.Output = 3, []string{"no such table"}
		}
		return b
	}}
}

func withInits(inits ...api.Init) func(*api.Task, *api.DeploymentSpec) {
	return func(_ *api.Task, spec *api.DeploymentSpec) { spec.Inits = inits }
}

func run(name string) api.Init  { return api.Init{Name: name, Command: []string{"run"}} }
func fail(name string) api.Init { return api.Init{Name: name, Command: []string{"fail"}} }

// initContainers returns the engine's init containers, as name and state.
func (l *harness) initContainers() string {
	var out []string
	for _, c := range l.engine.Containers() {
		if c.Labels[api.LabelRole] == api.RoleInit {
			out = append(out, strings.TrimPrefix(c.Name, "shop-web-init-")+" "+string(c.State))
		}
	}
	return strings.Join(out, ", ")
}

func (l *harness) wantInits(want string) {
	l.t.Helper()
	if got := l.initContainers(); got != want {
		l.t.Errorf("init containers are %q, want %q", got, want)
	}
}

func TestInitsRunBeforeTheContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, initsLast(10*time.Second))
		l.start()
		defer l.close()
		task := l.deploy("aa", withInits(run("schema"), run("seed")))
		l.pass(5 * time.Second)
		l.want(task, api.TaskPreparing, false, "Initializing")
		l.wantContainer(task, runtime.StateCreated)
		l.wantInits("schema-aa running")
		l.pass(10 * time.Second)
		l.wantInits("schema-aa exited, seed-aa running")
		l.pass(10 * time.Second)
		l.want(task, api.TaskRunning, true, "")
		l.wantInits("")
		main := l.wantContainer(task, runtime.StateRunning)

		l.must(l.engine.Exit(task.ContainerName(), 1)) // the engine restarts it: no init runs again
		l.pass(2 * time.Second)
		l.want(task, api.TaskRunning, true, "")
		l.must(l.engine.RemoveByHand(task.ContainerName()))
		l.pass(5 * time.Second)
		l.want(task, api.TaskRunning, false, "Initializing")
		l.pass(16 * time.Second)
		l.want(task, api.TaskRunning, true, "")
		if again := l.wantContainer(task, runtime.StateRunning); again.ID == main.ID {
			t.Error("the container is still the one that was removed")
		}
	})
}

func TestAFailingInitFailsItsTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, initsLast(time.Second))
		l.start()
		defer l.close()
		bad := fail("schema")
		bad.Retries = 1
		task := l.deploy("aa", withInits(run("first"), bad))
		l.pass(2500 * time.Millisecond)
		l.want(task, api.TaskPreparing, false, "InitRetry")
		l.pass(5 * time.Second)
		l.want(task, api.TaskFailed, false, "InitFailed")
		status := l.status(task)
		if status.Message != "init schema exited with 3 (attempt 2 of 2)" ||
			strings.Join(status.LastLog, "") != "no such table" {
			t.Errorf("the task says %q with the log %q", status.Message, status.LastLog)
		}
		l.wantContainer(task, runtime.StateCreated)
		l.wantInits("schema-aa exited")
		l.raise(task, api.DesiredRemoved)
		l.wantInits("")
		if left := l.engine.Containers(); len(left) > 0 {
			t.Errorf("left are %+v", left)
		}
	})
}

// TestAnAgentRestartGoesOnWithAnInit: neither a running init nor one that passed is run again.
func TestAnAgentRestartGoesOnWithAnInit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, initsLast(10*time.Second))
		l.start()
		task := l.deploy("aa", withInits(run("schema"), run("seed")))
		l.pass(15 * time.Second)
		running := map[string]string{}
		for _, c := range l.engine.Containers() {
			running[c.Name] = c.ID
		}
		l.stop()
		l.start()
		defer l.close()
		l.wantInits("schema-aa exited, seed-aa running")
		for _, c := range l.engine.Containers() {
			if running[c.Name] != c.ID {
				t.Errorf("%s was made again", c.Name)
			}
		}
		l.pass(10 * time.Second)
		l.want(task, api.TaskRunning, true, "")
	})
}

// TestInitsOfAShutDownTask: the init containers of a task stop with it.
func TestInitsOfAShutDownTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, initsLast(time.Hour))
		l.start()
		defer l.close()
		task := l.deploy("aa", withInits(api.Init{Name: "slow", Command: []string{"run"}, Timeout: "2h"}))
		l.pass(time.Second)
		next := l.deploy("bb", func(next *api.Task, _ *api.DeploymentSpec) { next.After = task.ID })
		l.pass(time.Second)
		l.want(next, api.TaskPreparing, false, "WaitingForPredecessor")
		l.raise(task, api.DesiredShutdown)
		l.wantInits("slow-aa exited")
		l.want(task, api.TaskShutdown, false, "Shutdown")
		l.want(next, api.TaskRunning, true, "")
	})
}

// TestAnInitThatWeStoppedHasNotPassed: it exited with 0 on the stop signal, and the event that reports it is late.
func TestAnInitThatWeStoppedHasNotPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, initsLast(time.Hour))
		l.start()
		defer l.close()
		task := l.deploy("aa", withInits(api.Init{Name: "slow", Command: []string{"run"}, Timeout: "2h"}))
		l.pass(time.Second)
		l.deaf.Store(true)
		l.freeze(task)
		l.wantInits("")
		l.thaw(task)
		l.wantInits("slow-aa running")
		l.wantContainer(task, runtime.StateCreated)
	})
}

func TestAnInitThatTakesTooLongIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, initsLast(time.Hour))
		l.start()
		defer l.close()
		task := l.deploy("aa", withInits(api.Init{Name: "slow", Command: []string{"run"}, Timeout: "5s"}))
		l.pass(6 * time.Second)
		l.want(task, api.TaskFailed, false, "InitFailed")
		l.wantInits("slow-aa exited")
	})
}

// TestWhatAnInitIsMadeFrom: it has the container's surroundings, its own limits, and no published ports.
func TestWhatAnInitIsMadeFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, initsLast(time.Minute))
		l.start()
		defer l.close()
		l.deploy("aa", func(_ *api.Task, spec *api.DeploymentSpec) {
			spec.Volumes, spec.Ports, spec.User, spec.CapAdd = []string{"data:/data"}, []string{"80"}, "1000", []string{"CHOWN"}
			spec.Labels, spec.Hostname, spec.DockerOptions = map[string]string{"route": "yes"}, "web", []string{"--cpus", "1"}
			spec.Resources = &api.Resources{Limits: &api.ResourceLimits{Memory: "1Gi"}}
			spec.Inits = []api.Init{{Name: "own", Command: []string{"run"}, DockerOptions: []string{"--user", "0"}}}
		})
		l.pass(time.Second)
		made := l.engine.Spec("shop-web-init-own-aa")
		if made.Env["COLOUR"] != "blue" || made.Env[api.EnvSlot] != "aa" || made.ImageID != l.imageID {
			t.Errorf("environment %v, image %s", made.Env, made.ImageID)
		}
		if len(made.Aliases) > 0 || !made.Private || made.Restart != "no" {
			t.Errorf("aliases %v, private %v, restart %s", made.Aliases, made.Private, made.Restart)
		}
		s := made.Spec
		if len(s.Volumes) != 1 || len(s.CapAdd) != 1 || len(s.Ports) > 0 || len(s.Labels) > 0 || s.Hostname != "" {
			t.Errorf("the init's spec is %+v", s)
		}
		if s.User != "" || s.Resources != nil || strings.Join(s.DockerOptions, " ") != "--user 0" {
			t.Errorf("user %q, resources %v, docker options %v", s.User, s.Resources, s.DockerOptions)
		}
	})
}

// TestAnInitsOwnImageIsPulled: it is pulled if the node doesn't have it.
func TestAnInitsOwnImageIsPulled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := initsLast(time.Second)
		options.PullDelay = hollow.Delay(3 * time.Second)
		l := newHarness(t, options)
		l.engine.PublishImage("tools:2")
		l.start()
		defer l.close()
		own := run("own")
		own.Image = "tools:2"
		task := l.deploy("aa", withInits(own))
		l.pass(time.Second)
		if message := l.status(task).Message; !strings.HasSuffix(message, "node n1 pulls its image, which it doesn't have") {
			t.Errorf("while its image is pulled the task says %q", message)
		}
		l.pass(5 * time.Second)
		l.want(task, api.TaskRunning, true, "")
	})
}
