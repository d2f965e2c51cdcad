//go:build integration

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEarlierOutputOfProcesses: the output of earlier processes can be read though their records are removed, until
// their object is deleted. No file holds it in plain text, since it may contain secrets.
func TestEarlierOutputOfProcesses(t *testing.T) {
	m := newMachine(t, "--runtime", "process")
	folder := t.TempDir()
	for _, part := range []string{m.root, folder, filepath.Dir(folder)} { // who the processes run as passes through
		if err := os.Chmod(part, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	m.start()
	m.wantSaid(m.tend("config", "set", m.scope, "TOKEN=s3cret-word"), 0)
	for _, version := range []string{"first", "second"} {
		m.wantSaid(m.tend("apply", "-f", m.file("app.hcl", `deployment "SCOPE" "app" {
  image   = "`+folder+`"
  command = ["/bin/sh", "-c", "echo the $VERSION says $TOKEN; exec sleep 600"]
  env     = { VERSION = "`+version+`" }
  strategy {
    pause   = "0s"
    monitor = "100ms"
  }
}`)), 0)
	}
	m.until("the one before is read", func() bool {
		r := m.tend("logs", m.scope+"/app", "--previous")
		return r.code == 0 && strings.Contains(r.output, "the first says s3cret-word")
	})
	kept, err := filepath.Glob(filepath.Join(m.root, "logs", "*.log"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept are %v, %v", kept, err)
	}
	if content, err := os.ReadFile(kept[0]); err != nil || strings.Contains(string(content), "s3cret-word") {
		t.Errorf("%s holds %s, %v", kept[0], content, err)
	}
	m.delete("app")
	m.wantSaid(m.tend("logs", m.scope+"/app", "--previous"), 1, "there is no")
}
