//go:build integration

package e2e

import (
	"context"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/test/testimage"
)

// TestImageBehindATag: a missing image is reported, affects no other object, and is rolled out once it is built. What
// counts is the image behind the tag: when the tag moves, the new image is rolled out.
func TestImageBehindATag(t *testing.T) {
	m := newMachine(t).start()
	tag := "tendtest-" + random() + "/moving:latest"
	moving := m.manifest("app", replicas(2), func(s *api.DeploymentSpec) { s.Image = tag })
	revision := m.apply(moving)
	m.until("the image is said to be missing", func() bool {
		c := api.FindCondition(m.status("app").Conditions, api.ConditionDegraded)
		return c != nil && c.Status == api.ConditionTrue && c.Message != ""
	})
	m.wantSaid(m.tend("apply", "-f", m.file("app.json", string(mustJSON(t, moving)))), 1, tag)
	m.deploy(m.manifest("other"))
	m.afterwards(func() {
		if err := testimage.Remove(context.Background(), tag); err != nil {
			t.Error(err)
		}
	})
	if err := testimage.Ensure(t.Context(), "v1", tag); err != nil {
		t.Fatal(err)
	}
	m.converged("app", revision)
	m.exactly("app", 2, "v1")
	if err := testimage.Ensure(t.Context(), "v2", tag); err != nil {
		t.Fatal(err)
	}
	m.until("the moved tag is rolled out", func() bool { return m.status("app").ImageID == m.imageID(image("v2")) })
	m.converged("app", 0)
	m.exactly("app", 2, "v2")
}
