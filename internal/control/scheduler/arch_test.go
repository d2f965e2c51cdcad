package scheduler

import (
	"encoding/json"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// An image that no registry has runs on nodes of its architecture. One with a registry's digest may be there for
// others, and one that names a platform is emulated on purpose.
func TestPlacementFollowsTheImagesArchitecture(t *testing.T) {
	for name, test := range map[string]struct {
		digest  string
		options []string
		arch    string
		says    string
	}{
		"no registry has it":       {"", nil, "amd64", "1 of 2 nodes does not answer; 1 of 2 nodes is arm64; the image is amd64"},
		"its own architecture":     {"", nil, "arm64", ""},
		"a registry has it":        {"sha256:1", nil, "amd64", ""},
		"it is emulated":           {"", []string{"--platform", "linux/amd64"}, "amd64", ""},
		"a release of an old Tend": {"", nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			l.node("n1", true)
			l.node("n2", false)
			raw, err := json.Marshal(api.DeploymentSpec{Container: api.Container{DockerOptions: test.options}})
			if err != nil {
				t.Fatal(err)
			}
			release := api.Release{ID: "v1", Kind: web.Kind, Scope: web.Scope, Name: web.Name, Spec: raw,
				ImageArch: test.arch, ImageDigest: test.digest}
			l.write(func(txn *records.Txn) {
				txn.Put(records.NodeKey("n1"), api.NodeStatus{ID: "n1", Runtime: "docker", Ready: true, Arch: "arm64"})
				txn.Put(records.ReleaseKey(web, "v1"), release)
			})
			l.tasks(1, "v1", nil)
			l.looks()
			if got := l.s.Board.Refusals(l.snapshot())["t0000"].Message; got != test.says ||
				(got == "") != (l.on()["n1"] == 1) {
				t.Errorf("%q, want %q; tasks by node: %v", got, test.says, l.on())
			}
		})
	}
}
