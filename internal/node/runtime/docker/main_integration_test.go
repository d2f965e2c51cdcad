//go:build integration

package docker_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/docker"
	"tend.dev/tend/internal/node/runtime/runtimetest"
	"tend.dev/tend/internal/test/testimage"
)

// What the tests of this run share, named after it.
var (
	run     = "tendtest-" + random()
	image   = run + "/server:v1"
	network = run
)

func TestMain(m *testing.M) {
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	if err := testimage.Ensure(context.Background(), "v1", image); err != nil {
		fmt.Fprintln(os.Stderr, "these tests need a Docker engine and the go command:", err)
		return 1
	}
	code := m.Run()
	_ = exec.Command("docker", "network", "rm", network).Run() // there is none if no test needed it
	if err := testimage.Remove(context.Background(), image); err != nil {
		fmt.Fprintln(os.Stderr, "remove the test image:", err)
		code = 1
	}
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

func random() string {
	var raw [4]byte
	_, _ = rand.Read(raw[:]) // never fails
	return hex.EncodeToString(raw[:])
}

func newRuntime(t *testing.T, cluster string) runtime.Runtime {
	rt, err := docker.New(t.Context(), docker.Options{Cluster: cluster, Node: "local", NetworkName: network})
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

func TestContract(t *testing.T) {
	runtimetest.Run(t, runtimetest.Harness{
		New:     newRuntime,
		Image:   image,
		Program: []string{testimage.Program},
		Kill: func(t *testing.T, container runtime.Container) {
			if output, err := exec.Command("docker", "kill", container.ID).CombinedOutput(); err != nil {
				t.Fatalf("docker kill: %v: %s", err, output)
			}
		},
	})
}
