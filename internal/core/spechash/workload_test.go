package spechash

import (
	"testing"

	"tend.dev/tend/api"
)

func TestClaimsCount(t *testing.T) {
	data := api.VolumeClaim{Name: "data", MountPath: "/data"}
	logs := api.VolumeClaim{Name: "logs", MountPath: "/logs"}
	hash := func(claims ...api.VolumeClaim) string { return Workload(api.WorkloadSpec{Claims: claims}, nil) }
	large, moved := data, data
	large.Size, moved.MountPath = "10Gi", "/elsewhere"
	cases := map[string]struct {
		reason string
		a, b   string
		same   bool
	}{
		"none":    {"a claim is a mount", hash(), hash(data), false},
		"another": {"so is a second one", hash(data), hash(data, logs), false},
		"moved":   {"its path is where it is mounted", hash(data), hash(moved), false},
		"swapped": {"which volume lies where counts", hash(data, logs),
			hash(api.VolumeClaim{Name: "data", MountPath: "/logs"}, api.VolumeClaim{Name: "logs", MountPath: "/data"}), false},
		"size":  {"a size is shown to people only", hash(data), hash(large), true},
		"order": {"they are found by name", hash(data, logs), hash(logs, data), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if (tc.a == tc.b) != tc.same {
				t.Errorf("%s: the hashes are the same: %t", tc.reason, tc.a == tc.b)
			}
		})
	}
	old, err := WorkloadVersion(Version, api.WorkloadSpec{Claims: []api.VolumeClaim{data}}, nil)
	if err != nil || old != hash(data) {
		t.Errorf("version %d: %s, %v", Version, old, err)
	}
	if _, err := WorkloadVersion(99, api.WorkloadSpec{}, nil); err == nil {
		t.Error("an unknown version must be an error")
	}
}
