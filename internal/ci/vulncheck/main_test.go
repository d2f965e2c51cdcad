package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestVulncheck runs the command with tools that end as govulncheck does.
func TestVulncheck(t *testing.T) {
	command := filepath.Join(t.TempDir(), "vulncheck")
	if said, err := exec.Command("go", "build", "-o", command, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for name, tc := range map[string]struct {
		tool, says string
		passes     bool
	}{
		"nothing found": {"echo No vulnerabilities found.", "No vulnerabilities found.", true},
		"a finding":     {"echo 'Vulnerability #1: GO-2026-1'; exit 3", "Vulnerability #1", false},
		"no database": {
			"echo 'govulncheck: fetching vulnerabilities: Get \"https://vuln.go.dev\": dial tcp'; exit 1", "NOT CHECKED", true,
		},
		"a finding before the database is lost": {
			"echo 'Vulnerability #1: GO-2026-1'; echo 'fetching vulnerabilities: Get x'; exit 1", "Vulnerability #1", false,
		},
		"the tree doesn't build": {"echo 'loading packages: there are errors'; exit 1", "there are errors", false},
	} {
		t.Run(name, func(t *testing.T) {
			tool := filepath.Join(t.TempDir(), "govulncheck")
			if err := os.WriteFile(tool, []byte("#!/bin/sh\n"+tc.tool+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			said, err := exec.Command(command, tool, "./...").CombinedOutput()
			if (err == nil) != tc.passes || !strings.Contains(string(said), tc.says) {
				t.Errorf("%v: %s", err, said)
			}
		})
	}
	if _, err := exec.Command(command, filepath.Join(t.TempDir(), "absent")).CombinedOutput(); err == nil {
		t.Error("a tool that isn't there passes")
	}
}
