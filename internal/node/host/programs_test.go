package host

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/node/netpolicy"
)

// TestMissingPrograms: each missing program is reported with the feature that is off and the package that installs it,
// in the log and among the node's warnings, until it is installed.
func TestMissingPrograms(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder)
	var log bytes.Buffer
	git := Program{"git", "git", "the sync of git repositories"}
	h := &Host{Options: Options{Programs: []Program{git}, Logger: slog.New(slog.NewTextHandler(&log, nil))},
		policy: &netpolicy.Keeper{}}
	h.reportPrograms()
	for _, name := range []string{"git", "nft", "iptables"} {
		if line := name + " is missing, so "; strings.Count(log.String(), line) != 1 {
			t.Errorf("the log says %d times %q:\n%s", strings.Count(log.String(), line), line, &log)
		}
	}
	for _, name := range []string{"nft", "iptables"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"git is missing, so the sync of git repositories is off: install git"}
	if diff := cmp.Diff(want, h.missingPrograms()); diff != "" {
		t.Errorf("once they are installed (-want +got):\n%s", diff)
	}
	h.policy = nil
	h.Programs = nil
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if got := h.missingPrograms(); len(got) != 0 {
		t.Errorf("a machine of plain processes needs %v", got)
	}
}
