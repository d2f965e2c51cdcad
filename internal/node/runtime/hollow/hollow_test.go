package hollow

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/runtimetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	engine := NewEngine(Options{Behaviour: server})
	engine.AddImage("tendtest/server:v1")
	runtimetest.Run(t, runtimetest.Harness{
		New:       func(_ *testing.T, cluster string) runtime.Runtime { return engine.Client(cluster, "node-1") },
		Image:     "tendtest/server:v1",
		Program:   []string{"/server"},
		Simulated: true,
		Kill: func(t *testing.T, container runtime.Container) {
			if err := engine.Exit(container.Name, 137); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// server simulates the commands of the contract's test program.
func server(spec runtime.ContainerSpec) Behaviour {
	command := spec.Spec.Command
	switch {
	case slices.Contains(command, "exit"):
		code, _ := strconv.Atoi(command[len(command)-1])
		return Behaviour{Exits: true, ExitCode: code}
	case slices.Contains(command, "sleep"):
		d, _ := time.ParseDuration(command[len(command)-1])
		return Behaviour{Exits: true, ExitAfter: d}
	case slices.Contains(command, "ignore-term"):
		return Behaviour{IgnoresStop: true}
	}
	return Behaviour{}
}

// machine returns an engine with one image and a client, for one test.
func machine(t *testing.T, opts Options) (*Engine, *Runtime) {
	t.Helper()
	engine := NewEngine(opts)
	engine.AddImage("web")
	t.Cleanup(engine.Close)
	return engine, engine.Client("c1", "n1")
}

func spec(name, policy string) runtime.ContainerSpec {
	return runtime.ContainerSpec{
		Name: name, Image: "web", Restart: policy,
		Labels: map[string]string{"tend.task": "task-" + name, "tend.slot": name, "tend.kind": "deployment",
			"tend.scope": "s", "tend.name": "n"},
	}
}

func run(t *testing.T, rt *Runtime, s runtime.ContainerSpec) runtime.Container {
	t.Helper()
	c, err := rt.Create(t.Context(), s)
	if err == nil {
		err = rt.Start(t.Context(), c.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	return inspect(t, rt, c.ID)
}

func inspect(t *testing.T, rt *Runtime, id string) runtime.Container {
	t.Helper()
	c, err := rt.Inspect(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// eventWords returns the engine's history in short: "kill die stop".
func eventWords(engine *Engine, after int) string {
	var words []string
	for _, record := range engine.History()[after:] {
		words = append(words, string(record.Event))
	}
	return strings.Join(words, " ")
}
