package overlay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoIptables: a machine without the command reports that if its engine may drop packets, and continues once the
// command is installed.
func TestNoIptables(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder)
	r := &rules{}
	if _, err := r.permitted(); err != nil {
		t.Fatal(err)
	}
	if fault := r.fault(true); !strings.Contains(fault, "iptables is missing") ||
		!strings.Contains(fault, "install the package iptables") {
		t.Errorf("beside an engine: %q", fault)
	}
	if fault := r.fault(false); fault != "" {
		t.Errorf("of plain processes: %q", fault)
	}
	script := "#!/bin/sh\necho 'iptables v1.8.9 (nf_tables)'\n"
	if err := os.WriteFile(filepath.Join(folder, "iptables"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := r.permitted(); err != nil {
		t.Fatal(err)
	}
	if fault := r.fault(true); fault != "" {
		t.Errorf("once it is installed: %q", fault)
	}
}
