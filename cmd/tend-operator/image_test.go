//go:build integration

package main

import (
	"crypto/rand"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// TestTheImage: `make operator-image` makes an image that starts as a user without rights, on a root that can't be
// written, and holds nothing but the binary and texts.
func TestTheImage(t *testing.T) {
	const version = "v0.2.0"
	image := "tendtest-" + strings.ToLower(rand.Text()) + "/tend-operator:" + version
	docker := func(args ...string) (string, error) {
		output, err := exec.Command("docker", args...).CombinedOutput()
		return strings.TrimSpace(string(output)), err
	}
	made := exec.Command("make", "-C", "../..", "operator-image", "VERSION="+version, "BIN="+t.TempDir(),
		"OPERATOR_IMAGE="+image)
	if out, err := made.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := docker("rmi", "-f", image); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	run := []string{"run", "--rm", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", image}
	if said, err := docker(append(run, "--version")...); err != nil || said != version {
		t.Errorf("--version: %v: %s", err, said)
	}
	if said, err := docker(append(run, "--help")...); err != nil || !strings.Contains(said, "-leader-elect") {
		t.Errorf("--help: %v: %s", err, said)
	}
	if said, err := docker(append(run, "--health-probe-bind-address=0")...); err == nil ||
		!strings.Contains(said, "find the Kubernetes API") {
		t.Errorf("without a cluster: %v: %s", err, said)
	}
	said, err := docker("inspect", image)
	var images []struct {
		Config struct{ User string }
		RootFS struct{ Layers []string }
	}
	if err == nil {
		err = json.Unmarshal([]byte(said), &images)
	}
	if err != nil || len(images) != 1 || images[0].Config.User != "65532:65532" || len(images[0].RootFS.Layers) != 1 {
		t.Errorf("%v: %s: want one layer and the user 65532", err, said)
	}
}
