//go:build integration && long

package hosts

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/internal/test/testimage"
)

const onlyHere = `
deployment "prod" "web" {
  image    = "only:1"
  replicas = 6
  ports    = ["8080"]
}
`

// TestAnImageOfOneEngine: an image loaded only into the engine of one agent's host runs on the others, the server's and
// another agent's, as the same image.
func TestAnImageOfOneEngine(t *testing.T) {
	archive, err := testimage.Archive(t.Context(), "v3", "only:1")
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t, 3)
	load := l.hosts[1].inside("docker", "load")
	load.Stdin = bytes.NewReader(archive)
	if output, err := load.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	l.hosts[0].startServer()
	for _, h := range l.hosts[1:] {
		h.startAgent()
	}
	l.until("all have joined", func() bool { return strings.Count(l.command("nodes").output, "ready") == 3 })
	file := filepath.Join(l.folder, "only.hcl")
	if err := os.WriteFile(file, []byte(onlyHere), 0o644); err != nil {
		t.Fatal(err)
	}
	l.must("apply", "-f", file)
	want := l.hosts[1].docker("image", "inspect", "--format", "{{.Id}}", "only:1").output
	for _, h := range l.hosts {
		containers := strings.Fields(h.docker("ps", "--quiet", "--no-trunc", "--filter", "label=tend.name=web").output)
		if len(containers) != 2 {
			t.Errorf("%s runs %d containers, want 2", h.name, len(containers))
		}
		for _, id := range containers {
			if is := h.docker("inspect", "--format", "{{.Image}}", id).output; is != want || is == "" {
				t.Errorf("a container at %s is of %q, want %q", h.name, is, want)
			}
		}
	}
}
