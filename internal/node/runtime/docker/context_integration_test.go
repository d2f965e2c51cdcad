//go:build integration

package docker_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/docker"
)

// TestContextOfDockersOwnCommand: the engine is the one that docker context use chose; without its socket there is
// none.
func TestContextOfDockersOwnCommand(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "engine.sock")
	if err := os.Symlink("/var/run/docker.sock", socket); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DOCKER_CONFIG", filepath.Join(dir, "config"))
	t.Setenv("DOCKER_HOST", "")
	dockerCLI(t, "context", "create", "beside", "--docker", "host=unix://"+socket)
	dockerCLI(t, "context", "use", "beside")
	ask := func() (runtime.Info, error) {
		rt, err := docker.New(t.Context(), docker.Options{Cluster: "tendtest-context", Node: "n"})
		if err != nil {
			t.Fatal(err)
		}
		defer rt.Close()
		return rt.Info(t.Context())
	}
	if info, err := ask(); err != nil || info.Version != dockerCLI(t, "version", "-f", "{{.Server.Version}}") {
		t.Errorf("the context's engine: %+v, %v", info, err)
	}
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(); !errors.Is(err, runtime.ErrUnavailable) {
		t.Errorf("without the context's socket: %v, want ErrUnavailable", err)
	}
}
