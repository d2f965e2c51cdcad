package runtimetest

import (
	"errors"
	"slices"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

func testInfo(f *fixture) {
	info, err := f.runtime.Info(f.Context())
	f.noError("info", err)
	if info.Name == "" || info.CPUs <= 0 || info.MemoryBytes <= 0 {
		f.Errorf("info %+v lacks a name, CPUs or memory", info)
	}
}

func testCreate(f *fixture) {
	spec := f.spec()
	before := time.Now().Add(-time.Minute)
	container := f.create(spec)
	if container.ID == "" || container.Name != spec.Name || container.State != runtime.StateCreated {
		f.Errorf("created %+v, want name %s in state created", container, spec.Name)
	}
	if container.Task() != spec.Labels[api.LabelTask] || container.Labels[api.LabelCluster] != f.cluster {
		f.Errorf("labels %v lack the task or the cluster %s", container.Labels, f.cluster)
	}
	if _, ok := container.Labels[api.LabelNode]; !ok {
		f.Errorf("labels %v lack the node", container.Labels)
	}
	for _, key := range []string{container.ID, spec.Name} {
		seen, err := f.runtime.Inspect(f.Context(), key)
		f.noError("inspect "+key, err)
		if seen.ID != container.ID || seen.Name != spec.Name || seen.Restart != "no" || seen.CreatedAt.Before(before) {
			f.Errorf("inspect %s: %+v", key, seen)
		}
	}
}

func testCreateAgain(f *fixture) {
	spec := f.spec()
	first := f.start(spec)
	second, err := f.runtime.Create(f.Context(), spec)
	f.noError("create again", err)
	if second.ID != first.ID || second.State != runtime.StateRunning {
		f.Errorf("creating the same task again answered %s in state %s, want %s running", second.ID, second.State, first.ID)
	}
}

func testNameTaken(f *fixture) {
	spec := f.spec()
	container := f.create(spec)
	spec.Labels[api.LabelTask] = "another"
	_, err := f.runtime.Create(f.Context(), spec)
	f.wantError("create with the name of another task", err, runtime.ErrNameTaken)
	if !f.OwnNames {
		_, err = f.other().Create(f.Context(), spec)
		f.wantError("create with the name of another cluster", err, runtime.ErrNameTaken)
	}
	_, err = f.runtime.Inspect(f.Context(), container.ID)
	f.noError("inspect the holder of the name", err)
}

func testCreateWithoutImage(f *fixture) {
	spec := f.spec()
	spec.Image, spec.Spec.Image = f.AbsentImage, f.AbsentImage
	_, err := f.runtime.Create(f.Context(), spec)
	var rejected *runtime.RejectedError
	if !errors.As(err, &rejected) || rejected.Reason != "ImageNotFound" || rejected.Next == "" {
		f.Errorf("create with an absent image: %#v, want a RejectedError ImageNotFound with a next step", err)
	}
}

func testStart(f *fixture) {
	container := f.start(f.spec())
	f.noError("start a running container", f.runtime.Start(f.Context(), container.ID))
	running := f.inState(container.ID, runtime.StateRunning)
	if running.StartedAt.IsZero() || running.RestartCount != 0 {
		f.Errorf("running %+v lacks a start time or was restarted", running)
	}
	if running.PID <= 0 && !f.Simulated {
		f.Errorf("running %+v has no process", running)
	}
}

func testExit(f *fixture) {
	container := f.start(f.spec("exit", "3"))
	ended := f.inState(container.ID, runtime.StateExited)
	if ended.ExitCode != 3 || ended.FinishedAt.IsZero() || ended.OOMKilled {
		f.Errorf("ended %+v, want exit code 3 and an end time", ended)
	}
}

func testStop(f *fixture) {
	container := f.start(f.spec("ignore-term"))
	f.ready(container.ID)
	f.noError("stop", f.runtime.Stop(f.Context(), container.ID, 100*time.Millisecond))
	stopped, err := f.runtime.Inspect(f.Context(), container.ID)
	f.noError("inspect", err)
	if stopped.State != runtime.StateExited || stopped.ExitCode != 137 {
		f.Errorf("after stop: state %s code %d, want exited by SIGKILL (137)", stopped.State, stopped.ExitCode)
	}
	f.noError("stop a stopped container", f.runtime.Stop(f.Context(), container.ID, time.Second))
}

func testStopSignal(f *fixture) {
	container := f.start(f.spec("wait"))
	f.ready(container.ID)
	f.noError("stop", f.runtime.Stop(f.Context(), container.ID, f.Patience))
	stopped, err := f.runtime.Inspect(f.Context(), container.ID)
	f.noError("inspect", err)
	if stopped.State != runtime.StateExited || stopped.ExitCode != 0 {
		f.Errorf("after stop: state %s code %d, want exited by its own will (0)", stopped.State, stopped.ExitCode)
	}
}

// ready waits until the program reports that it handles signals.
func (f *fixture) ready(id string) {
	f.Helper()
	if !f.Simulated {
		f.eventually("first line", func() bool { return len(f.lines(id, runtime.LogOptions{Tail: -1})) > 0 })
	}
}

func testStartAgain(f *fixture) {
	container := f.start(f.spec())
	f.noError("stop", f.runtime.Stop(f.Context(), container.ID, 0))
	f.noError("start again", f.runtime.Start(f.Context(), container.ID))
	f.inState(container.ID, runtime.StateRunning)
}

func testRemove(f *fixture) {
	container := f.start(f.spec())
	f.noError("remove a running container", f.runtime.Remove(f.Context(), container.ID))
	_, err := f.runtime.Inspect(f.Context(), container.ID)
	f.wantError("inspect what was removed", err, runtime.ErrNotFound)
	f.noError("remove again", f.runtime.Remove(f.Context(), container.ID))
	f.noError("stop what was removed", f.runtime.Stop(f.Context(), container.ID, 0))
}

func testAbsent(f *fixture) {
	const absent = "tendtest-absent.0"
	_, err := f.runtime.Inspect(f.Context(), absent)
	f.wantError("inspect", err, runtime.ErrNotFound)
	f.wantError("start", f.runtime.Start(f.Context(), absent), runtime.ErrNotFound)
	f.noError("stop", f.runtime.Stop(f.Context(), absent, 0))
	f.noError("remove", f.runtime.Remove(f.Context(), absent))
	_, err = f.runtime.Logs(f.Context(), absent, runtime.LogOptions{})
	f.wantError("logs", err, runtime.ErrNotFound)
}

// testOtherCluster calls one cluster's runtime for another's container: the calls return ErrNotFound and don't affect
// the container.
func testOtherCluster(f *fixture) {
	container := f.start(f.spec())
	other := f.other()
	for _, key := range []string{container.ID, container.Name} {
		_, err := other.Inspect(f.Context(), key)
		f.wantError("inspect", err, runtime.ErrNotFound)
		f.wantError("start", other.Start(f.Context(), key), runtime.ErrNotFound)
		_, err = other.Logs(f.Context(), key, runtime.LogOptions{})
		f.wantError("logs", err, runtime.ErrNotFound)
		f.noError("stop", other.Stop(f.Context(), key, 0))
		f.noError("remove", other.Remove(f.Context(), key))
		if !f.Simulated && !f.NoExec {
			_, err = other.Exec(f.Context(), key, runtime.ExecOptions{Command: append(slices.Clone(f.Program), "env")})
			f.wantError("exec", err, runtime.ErrNotFound)
		}
	}
	f.inState(container.ID, runtime.StateRunning)
	if seen, err := other.List(f.Context()); err != nil || len(seen) != 0 {
		f.Errorf("the other cluster lists %v, %v", seen, err)
	}
}

func testList(f *fixture) {
	want := map[string]runtime.State{
		f.create(f.spec()).ID:              runtime.StateCreated,
		f.start(f.spec()).ID:               runtime.StateRunning,
		f.start(f.spec("exit", "7")).ID:    runtime.StateExited,
		f.start(f.spec("sleep", "1ms")).ID: runtime.StateExited,
	}
	for id, state := range want {
		f.inState(id, state)
	}
	listed, err := f.runtime.List(f.Context())
	f.noError("list", err)
	if len(listed) != len(want) {
		f.Errorf("listed %d containers, want %d", len(listed), len(want))
	}
	for _, container := range listed {
		inspected, err := f.runtime.Inspect(f.Context(), container.ID)
		f.noError("inspect", err)
		if container.State != want[container.ID] || container.ExitCode != inspected.ExitCode ||
			container.Name != inspected.Name ||
			container.Task() != inspected.Task() || container.ImageID != inspected.ImageID ||
			!container.StartedAt.Equal(inspected.StartedAt) || !container.FinishedAt.Equal(inspected.FinishedAt) ||
			container.Restart != inspected.Restart {
			f.Errorf("listed    %+v\ninspected %+v", container, inspected)
		}
	}
}

func testRestartPolicy(f *fixture) {
	spec := f.spec("exit", "1")
	spec.Restart = "on-failure:2"
	container := f.start(spec)
	f.eventually("the second restart", func() bool {
		seen, err := f.runtime.Inspect(f.Context(), container.ID)
		f.noError("inspect", err)
		return seen.RestartCount == 2 && seen.State == runtime.StateExited && seen.ExitCode == 1
	})
	listed, err := f.runtime.List(f.Context())
	f.noError("list", err)
	if len(listed) != 1 || listed[0].RestartCount != 2 || listed[0].Restart != "on-failure:2" {
		f.Errorf("listed %+v, want two restarts by on-failure:2", listed)
	}
}

// testNoRestart: a container that the engine stopped stays stopped, whatever its policy is.
func testNoRestart(f *fixture) {
	spec := f.spec()
	spec.Restart = "unless-stopped"
	container := f.start(spec)
	f.noError("stop", f.runtime.Stop(f.Context(), container.ID, 0))
	stopped, err := f.runtime.Inspect(f.Context(), container.ID)
	f.noError("inspect", err)
	if stopped.State != runtime.StateExited {
		f.Errorf("state %s after a stop, want exited", stopped.State)
	}
}

func testMany(f *fixture) {
	const many = 6
	errs := make([]error, many)
	var group sync.WaitGroup
	for i := range many {
		spec := f.spec()
		group.Go(func() {
			container, err := f.runtime.Create(f.Context(), spec)
			if err == nil {
				err = f.runtime.Start(f.Context(), container.ID)
			}
			errs[i] = err
		})
	}
	group.Wait()
	f.noError("create and start in parallel", errors.Join(errs...))
	listed, err := f.runtime.List(f.Context())
	f.noError("list", err)
	for _, container := range listed {
		if container.State != runtime.StateRunning {
			f.Errorf("%s is %s", container.Name, container.State)
		}
	}
	if len(listed) != many {
		f.Errorf("listed %d, want %d", len(listed), many)
	}
}
