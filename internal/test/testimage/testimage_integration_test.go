//go:build integration

package testimage_test

import (
	"os/exec"
	"strings"
	"testing"

	"tend.dev/tend/internal/test/testimage"
)

func TestEnsureLoadsAndTags(t *testing.T) {
	tags := []string{"tendtest-testimage/server:a", "tendtest-testimage/other"}
	for range 2 { // the second finds the image loaded
		if err := testimage.Ensure(t.Context(), "ensure-test", tags...); err != nil {
			t.Fatal(err)
		}
	}
	output, err := exec.Command("docker", "run", "--rm", "--network=none", tags[1], "/server", "env").CombinedOutput()
	if err != nil || !strings.Contains(string(output), "VERSION=ensure-test") {
		t.Errorf("run: %v: %s", err, output)
	}
	if err := testimage.Remove(t.Context(), tags...); err != nil {
		t.Fatal(err)
	}
	if err := testimage.Remove(t.Context(), tags...); err == nil {
		t.Error("the tags are still there after they were removed")
	}
}
