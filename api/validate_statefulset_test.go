package api

import (
	"strings"
	"testing"
)

func TestStatefulSetRules(t *testing.T) {
	data := VolumeClaim{Name: "data", MountPath: "/data"}
	sized := func(size string) VolumeClaim { return VolumeClaim{Name: "data", MountPath: "/data", Size: size} }
	with := func(edit func(*StatefulSetSpec), claims ...VolumeClaim) StatefulSetSpec {
		spec := StatefulSetSpec{DeploymentSpec: DeploymentSpec{Container: Container{Image: "db:1"}}, VolumeClaims: claims}
		if edit != nil {
			edit(&spec)
		}
		return spec
	}
	cases := map[string]struct {
		reason string
		spec   StatefulSetSpec
		field  string // refused by its name; empty is accepted
	}{
		"bare":       {"claims are optional", with(nil), ""},
		"claim":      {"a name and a path are enough", with(nil, data), ""},
		"size":       {"shown to people in either spelling", with(nil, sized("10Gi")), ""},
		"small size": {"or the other", with(nil, sized("64m")), ""},
		"no size":    {"which must be one", with(nil, sized("large")), "volume_claims[0].size"},
		"name": {"it becomes part of a volume's name", with(nil, VolumeClaim{Name: "Data", MountPath: "/data"}),
			"volume_claims[0].name"},
		"relative": {"nothing is mounted at a relative path", with(nil, VolumeClaim{Name: "data", MountPath: "data"}),
			"volume_claims[0].mount_path"},
		"twice": {"one volume a name", with(nil, data, VolumeClaim{Name: "data", MountPath: "/other"}),
			"volume_claims[1].name"},
		"same place": {"one volume a place", with(nil, data, VolumeClaim{Name: "other", MountPath: "/data"}),
			"volume_claims[1].mount_path"},
		"same, a slash": {"behind another spelling too", with(nil, data, VolumeClaim{Name: "other", MountPath: "/data/"}),
			"volume_claims[1].mount_path"},
		"a volume's": {"whatever mounts there",
			with(func(s *StatefulSetSpec) { s.Volumes = []string{"/srv:/data"} }, data), "volume_claims[0].mount_path"},
		"a secret's": {"a file too",
			with(func(s *StatefulSetSpec) { s.SecretFiles = map[string]string{"/data": "KEY"} }, data),
			"volume_claims[0].mount_path"},
		"colon": {"behind it is a mode", with(nil, VolumeClaim{Name: "data", MountPath: "/data:ro"}),
			"volume_claims[0].mount_path"},
		"stop-first": {"it is the only order there is",
			with(func(s *StatefulSetSpec) { s.Strategy = &Strategy{Order: OrderStopFirst, MaxParallel: 1} }), ""},
		"start-first": {"an ordinal has one container",
			with(func(s *StatefulSetSpec) { s.Strategy = &Strategy{Order: OrderStartFirst} }), "strategy.order"},
		"two at a time": {"ordinals are replaced one by one",
			with(func(s *StatefulSetSpec) { s.Strategy = &Strategy{MaxParallel: 2} }), "strategy.max_parallel"},
		"autoscale": {"load moves no data",
			with(func(s *StatefulSetSpec) { s.Autoscale = &Autoscale{Min: 1, Max: 2} }), "autoscale"},
		"post_deploy": {"it is a deployment's",
			with(func(s *StatefulSetSpec) { s.PostDeploy = []string{"true"} }), "post_deploy"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := &checker{}
			c.statefulSet(tc.spec)
			switch {
			case tc.field == "" && len(c.errors) > 0:
				t.Errorf("%s: refused: %v", tc.reason, c.errors)
			case tc.field != "" && (len(c.errors) == 0 || !strings.HasPrefix(c.errors[0].Field, tc.field)):
				t.Errorf("%s: want %s refused, got %v", tc.reason, tc.field, c.errors)
			}
		})
	}
}
