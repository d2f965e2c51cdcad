package runtimetest

import (
	"crypto/rand"
	"encoding/hex"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// Harness binds the contract to one runtime. New, Image and Program are required.
type Harness struct {
	// New makes a runtime of one cluster. All runtimes of one test must use the same machine. The suite closes it and
	// removes its containers.
	New func(t *testing.T, cluster string) runtime.Runtime
	// Image is a reference present on the node; its containers run Program.
	Image string
	// Program is the test server's argv: a container's command is Program and its arguments ("exit", "3").
	Program []string
	// AbsentImage is a reference that is not on the node and can't be pulled. Default: a name that exists nowhere.
	AbsentImage string
	// Kill ends a running container's process without the runtime, as a person would. Nil skips those cases.
	Kill func(t *testing.T, container runtime.Container)
	// OwnNames is set if clusters can't see each other's containers at all, so that equal names don't conflict.
	OwnNames bool
	// Simulated is set if there is no real process: no output, no exec, no stats.
	Simulated bool
	// NoExec and NoStats skip the cases to which the runtime answers ErrUnsupported.
	NoExec, NoStats bool
	// NoVolumes leaves out volumes, which the runtime refuses.
	NoVolumes bool
	// Adjust changes the spec of every case's container, for a runtime that doesn't support a part of it. Nil changes
	// nothing.
	Adjust func(spec *runtime.ContainerSpec)
	// Patience is the time for which a case waits for a state. Default 20s.
	Patience time.Duration
}

// Run runs the contract. Cases are independent of each other and run in parallel.
func Run(t *testing.T, h Harness) {
	if h.Patience == 0 {
		h.Patience = 20 * time.Second
	}
	if h.AbsentImage == "" {
		h.AbsentImage = "127.0.0.1:1/tendtest/absent:none"
	}
	for name, test := range cases(h) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newFixture(t, h))
		})
	}
}

func cases(h Harness) map[string]func(*fixture) {
	all := map[string]func(*fixture){
		"info":                testInfo,
		"create":              testCreate,
		"create/again":        testCreateAgain,
		"create/name taken":   testNameTaken,
		"create/no image":     testCreateWithoutImage,
		"start":               testStart,
		"exit":                testExit,
		"stop":                testStop,
		"stop/signal":         testStopSignal,
		"stop/start again":    testStartAgain,
		"remove":              testRemove,
		"absent":              testAbsent,
		"other cluster":       testOtherCluster,
		"list":                testList,
		"events":              testEvents,
		"events/stop":         testStopEvents,
		"events/other":        testEventsOfOthers,
		"events/end":          testEventsEnd,
		"resolve":             testResolve,
		"pull/absent":         testPullAbsent,
		"restart policy":      testRestartPolicy,
		"restart policy/none": testNoRestart,
		"many":                testMany,
	}
	if h.Kill != nil {
		all["kill"] = testKill
	}
	if !h.NoVolumes {
		all["volumes"] = testVolumes
	}
	if !h.Simulated {
		all["env"] = testEnv
		all["logs"] = testLogs
		all["logs/follow"] = testLogsFollow
		all["logs/since"] = testLogsSince
		all["logs/long line"] = testLongLine
	}
	if !h.Simulated && !h.NoExec {
		all["exec"] = testExec
		all["exec/stdin"] = testExecStdin
		all["exec/stopped"] = testExecStopped
		all["exec/killed"] = testExecKilled
		all["exec/closed"] = testExecClosed
	}
	if !h.Simulated && !h.NoStats {
		all["stats"] = testStats
	}
	return all
}

// fixture is the cluster of one case.
type fixture struct {
	*testing.T
	Harness
	cluster string
	runtime runtime.Runtime
}

func newFixture(t *testing.T, h Harness) *fixture {
	cluster := "tendtest-" + random()
	return &fixture{T: t, Harness: h, cluster: cluster, runtime: open(t, h, cluster)}
}

// open makes a runtime, and removes its containers when the test ends.
func open(t *testing.T, h Harness, cluster string) runtime.Runtime {
	rt := h.New(t, cluster)
	t.Cleanup(func() { cleanUp(t, rt) })
	return rt
}

func (f *fixture) other() runtime.Runtime { return open(f.T, f.Harness, "tendtest-"+random()) }

// spec returns a container with a new name that runs the test server with the arguments; without any the server waits.
func (f *fixture) spec(args ...string) runtime.ContainerSpec {
	if len(args) == 0 {
		args = []string{"wait"}
	}
	name, slot := "tendtest-"+random(), random()
	spec := runtime.ContainerSpec{
		Name: name + "." + slot,
		Labels: map[string]string{
			api.LabelTask: "task-" + slot, api.LabelSlot: slot, api.LabelScope: "tendtest", api.LabelName: name,
		},
		Image: f.Image,
		Spec: api.DeploymentSpec{Container: api.Container{Image: f.Image,
			Command: append(append([]string{}, f.Program...), args...), NetworkMode: "none"}},
		Restart: "no",
	}
	if f.Adjust != nil {
		f.Adjust(&spec)
	}
	return spec
}

func random() string {
	var raw [4]byte
	_, _ = rand.Read(raw[:]) // never fails
	return hex.EncodeToString(raw[:])
}
