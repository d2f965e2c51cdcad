//go:build linux

package process

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/runtimetest"
	"tend.dev/tend/internal/test/testimage"
)

func TestMain(m *testing.M) {
	MaybeShim()
	if dir := os.Getenv(serverRoot); dir != "" {
		fmt.Fprintln(os.Stderr, beServer(dir))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// root returns a state folder that unprivileged programs can enter, which t.TempDir is not.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tendtest-process-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// image puts the test program into a folder of the root's images, and returns a reference to it.
func image(t *testing.T, root, name string) string {
	t.Helper()
	binary, err := testimage.Binary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(binary)
	if err == nil {
		err = os.MkdirAll(filepath.Join(root, "images", name), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "images", name, "server"), program, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func TestContract(t *testing.T) {
	dir := root(t)
	runtimetest.Run(t, runtimetest.Harness{
		New: func(t *testing.T, cluster string) runtime.Runtime {
			rt, err := New(Options{Root: dir, Cluster: cluster, Node: "node-1"})
			if err != nil {
				t.Fatal(err)
			}
			return rt
		},
		Image:   image(t, dir, "hello"),
		Program: []string{"/server"}, NoVolumes: true,
		Adjust: func(spec *runtime.ContainerSpec) { spec.Spec.NetworkMode = "" },
		Kill: func(t *testing.T, container runtime.Container) {
			if err := syscall.Kill(container.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		},
	})
}
