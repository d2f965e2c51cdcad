package hollow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/node/runtime"
)

func contextWithTimeout(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

// TestEngineGone: while the engine is down, streams end and calls report it; afterwards a new client finds the same
// machine.
func TestEngineGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine, rt := machine(t, Options{})
		c := run(t, rt, spec("a", "unless-stopped"))
		events, err := rt.Events(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		engine.StopEngine()
		var kinds []runtime.EventKind
		for event := range events {
			kinds = append(kinds, event.Kind)
		}
		want := []runtime.EventKind{runtime.EventKill, runtime.EventDie, runtime.EventStop}
		if diff := cmp.Diff(want, kinds); diff != "" {
			t.Error("the stream's last words:", diff)
		}
		if _, err := rt.List(t.Context()); !errors.Is(err, runtime.ErrUnavailable) {
			t.Errorf("list: %v", err)
		}
		if err := rt.Start(t.Context(), c.ID); !errors.Is(err, runtime.ErrUnavailable) {
			t.Errorf("start: %v", err)
		}
		engine.StartEngine()
		if state := inspect(t, engine.Client("c1", "n1"), c.ID).State; state != runtime.StateRunning {
			t.Errorf("state %s after the engine's return", state)
		}
	})
}

// TestDisconnect: an unreachable engine keeps running its containers.
func TestDisconnect(t *testing.T) {
	engine, rt := machine(t, Options{})
	c := run(t, rt, spec("a", "no"))
	engine.Disconnect()
	if _, err := rt.Info(t.Context()); !errors.Is(err, runtime.ErrUnavailable) {
		t.Errorf("info: %v", err)
	}
	engine.Reconnect()
	if state := inspect(t, rt, c.ID).State; state != runtime.StateRunning {
		t.Errorf("state %s, want running", state)
	}
}

// TestScriptedFailures: the engine returns a behaviour's errors, and leaves the container as docker does.
func TestScriptedFailures(t *testing.T) {
	broken := errors.New("no such file")
	_, rt := machine(t, Options{Behaviour: func(s runtime.ContainerSpec) Behaviour {
		return map[string]Behaviour{"a": {CreateError: broken}, "b": {StartError: broken}}[s.Name]
	}})
	if _, err := rt.Create(t.Context(), spec("a", "no")); !errors.Is(err, broken) {
		t.Errorf("create: %v", err)
	}
	c, err := rt.Create(t.Context(), spec("b", "always"))
	if err != nil {
		t.Fatal(err)
	}
	if err := rt.Start(t.Context(), c.ID); !errors.Is(err, broken) {
		t.Errorf("start: %v", err)
	}
	if got := inspect(t, rt, c.ID); got.State != runtime.StateCreated || got.Error == "" {
		t.Errorf("state %s, error %q", got.State, got.Error)
	}
}

// TestBefore: the call returns the hook's error, and has no effect.
func TestBefore(t *testing.T) {
	engine, rt := machine(t, Options{})
	crash := errors.New("crash")
	engine.Before(func(verb, subject string) error {
		if verb == "create" && subject == "a" {
			return crash
		}
		return nil
	})
	if _, err := rt.Create(t.Context(), spec("a", "no")); !errors.Is(err, crash) {
		t.Errorf("create: %v", err)
	}
	if got := engine.Containers(); len(got) != 0 {
		t.Errorf("created %v", got)
	}
	run(t, rt, spec("b", "no"))
	if diff := cmp.Diff(map[string]int{"create": 2, "start": 1}, engine.Calls()); diff != "" {
		t.Error(diff)
	}
}

// TestImages: tags move, registries are asked, failures are reported.
func TestImages(t *testing.T) {
	engine, rt := machine(t, Options{PullDelay: Delay(time.Millisecond)})
	old := engine.AddImage("web")
	if engine.AddImage("web:latest") != old {
		t.Error("an image that is there was added again")
	}
	moved := engine.Retag("web")
	if got, err := rt.Resolve(t.Context(), "web"); err != nil || got.ID != moved || moved == old {
		t.Errorf("resolved %+v, %v; want %s", got, err, moved)
	}
	if got, err := rt.Resolve(t.Context(), old); err != nil || got.ID != old {
		t.Errorf("the untagged image: %+v, %v", got, err)
	}
	published := engine.PublishImage("reg/app:1")
	var percents []int
	got, err := rt.Pull(t.Context(), runtime.PullSpec{Reference: "reg/app:1"}, func(p int) { percents = append(percents, p) })
	if err != nil || got.ID != published || got.Digest == "" || len(percents) == 0 {
		t.Errorf("pulled %+v, %v, progress %v", got, err, percents)
	}
	engine.RemoveImage("reg/app:1")
	if _, err := rt.Resolve(t.Context(), "reg/app:1"); !errors.Is(err, runtime.ErrNotFound) {
		t.Errorf("resolve what was removed: %v", err)
	}
	broken := errors.New("broken in mid-layer")
	engine.FailPulls("reg/app:1", broken)
	if _, err := rt.Pull(t.Context(), runtime.PullSpec{Reference: "reg/app:1"}, nil); !errors.Is(err, broken) {
		t.Errorf("pull: %v", err)
	}
}

// TestPorts: a fixed host port is held by one running container at a time.
func TestPorts(t *testing.T) {
	_, rt := machine(t, Options{})
	first, second := spec("a", "no"), spec("b", "no")
	first.Spec.Ports, second.Spec.Ports = []string{"3000:80"}, []string{"3000:80"}
	holder := run(t, rt, first)
	if len(holder.Ports) != 1 || holder.Ports[0].HostPort != 3000 {
		t.Errorf("ports %v", holder.Ports)
	}
	waiting, err := rt.Create(t.Context(), second)
	if err != nil {
		t.Fatal(err)
	}
	var rejected *runtime.RejectedError
	if err := rt.Start(t.Context(), waiting.ID); !errors.As(err, &rejected) || rejected.Reason != "PortTaken" {
		t.Errorf("start: %v", err)
	}
	if err := rt.Stop(t.Context(), holder.ID, 0); err != nil {
		t.Fatal(err)
	}
	if err := rt.Start(t.Context(), waiting.ID); err != nil {
		t.Errorf("start when the port is free: %v", err)
	}
}

// TestMaxAlive counts two containers of one slot.
func TestMaxAlive(t *testing.T) {
	engine, rt := machine(t, Options{})
	a, b := spec("a", "no"), spec("b", "no")
	b.Labels["tend.slot"] = "a"
	run(t, rt, a)
	run(t, rt, b)
	if diff := cmp.Diff(map[string]int{"deployment/s/n/a": 2}, engine.MaxAlive()); diff != "" {
		t.Error(diff)
	}
}

// TestExec runs a script with its input and output.
func TestExec(t *testing.T) {
	_, rt := machine(t, Options{Behaviour: func(runtime.ContainerSpec) Behaviour {
		return Behaviour{Exec: func(call ExecCall) int {
			input, _ := io.ReadAll(call.Stdin)
			fmt.Fprintf(call.Stdout, "%s: %s", call.Options.Command[0], input)
			return 3
		}}
	}})
	c := run(t, rt, spec("a", "no"))
	exec, err := rt.Exec(t.Context(), c.ID, runtime.ExecOptions{Command: []string{"cat"}, Stdin: true})
	if err != nil {
		t.Fatal(err)
	}
	defer exec.Close()
	go func() {
		_, _ = io.WriteString(exec.Stdin(), "hi")
		_ = exec.Stdin().Close()
	}()
	output, err := io.ReadAll(exec.Stdout())
	if string(output) != "cat: hi" || err != nil {
		t.Errorf("output %q, %v", output, err)
	}
	if code, err := exec.Wait(t.Context()); code != 3 || err != nil {
		t.Errorf("wait: %d, %v", code, err)
	}
}

// TestFollow: a follower gets new lines and ends with its container.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine, rt := machine(t,
			Options{Behaviour: func(runtime.ContainerSpec) Behaviour { return Behaviour{Output: []string{"up"}} }})
		c := run(t, rt, spec("a", "no"))
		reader, err := rt.Logs(t.Context(), c.ID, runtime.LogOptions{Follow: true, Tail: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		time.AfterFunc(time.Second, func() { _ = engine.Print("a", "stderr", "oh"); _ = engine.Exit("a", 1) })
		var got []string
		for {
			line, err := reader.Next()
			if err != nil {
				break
			}
			got = append(got, line.Stream+" "+line.Text)
		}
		if diff := cmp.Diff([]string{"stdout up", "stderr oh"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestThousands: many containers are cheap.
func TestThousands(t *testing.T) {
	const many = 5000
	engine, rt := machine(t, Options{})
	for i := range many {
		run(t, rt, spec(fmt.Sprint("c", i), "always"))
	}
	engine.RestartEngine()
	listed, err := rt.List(t.Context())
	if err != nil || len(listed) != many {
		t.Fatalf("listed %d, %v", len(listed), err)
	}
	for _, c := range listed {
		if c.State != runtime.StateRunning {
			t.Fatalf("%s is %s", c.Name, c.State)
		}
	}
}

// TestStopOfWhatIsStartedAgainAtOnce: a stop ends with the incarnation that it stopped, even if another one follows.
func TestStopOfWhatIsStartedAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine, rt := machine(t,
			Options{Behaviour: func(runtime.ContainerSpec) Behaviour { return Behaviour{IgnoresStop: true} }})
		c := run(t, rt, spec("a", "no"))
		ended := make(chan error, 1)
		go func() { ended <- rt.Stop(t.Context(), c.ID, time.Minute) }()
		engine.mu.Lock()
		held := engine.containers[c.ID]
		engine.mu.Unlock()
		synctest.Wait()
		engine.mu.Lock()
		engine.dieLocked(held, 0)
		err := engine.startLocked(held)
		engine.mu.Unlock()
		synctest.Wait()
		select {
		case stopErr := <-ended:
			if err != nil || stopErr != nil {
				t.Errorf("started again: %v, stopped: %v", err, stopErr)
			}
		default:
			t.Error("the stop waits for the incarnation after its own")
		}
	})
}
