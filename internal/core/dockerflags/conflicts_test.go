package dockerflags

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

// TestConflicts: no flag may set what a field sets.
func TestConflicts(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   api.DeploymentSpec
		args   []string
		want   []string
	}{
		"nothing said": {"flags alone are fine", api.DeploymentSpec{},
			[]string{"--user=1", "--cpus=1", "--entrypoint=", "--network=a"}, nil},
		"other fields": {"fields beside flags are fine",
			api.DeploymentSpec{Container: api.Container{User: "1", Networks: []string{"a"}}},
			[]string{"--init", "--sysctl=a=b"}, nil},
		"user": {"who runs it is said once", api.DeploymentSpec{Container: api.Container{User: "1"}},
			[]string{"-u", "2"}, []string{"--user says again what user says; keep one of them"}},
		"network": {"so are networks", api.DeploymentSpec{Container: api.Container{NetworkMode: "none"}},
			[]string{"--net=host"},
			[]string{"--network says again what network, networks and network_mode says; keep one of them"}},
		"quota": {"a quota is a limit of cpu",
			api.DeploymentSpec{Container: api.Container{Resources: &api.Resources{Limits: &api.ResourceLimits{CPU: "1"}}}},
			[]string{"--cpu-quota=50000"}, []string{"--cpu-quota says again what resources.limits.cpu says; keep one of them"}},
		"stop": {"the grace period is said once",
			api.DeploymentSpec{Container: api.Container{StopGracePeriod: "1s", StopSignal: "TERM"}},
			[]string{"--stop-timeout=1", "--stop-signal=INT"},
			[]string{"--stop-signal says again what stop_signal says; keep one of them",
				"--stop-timeout says again what stop_grace_period says; keep one of them"}},
		"env": {"a variable has one value",
			api.DeploymentSpec{Container: api.Container{Env: map[string]string{"A": "1"}}}, []string{"-e", "A=2", "-e", "B=2"},
			[]string{"--env A is in env too; keep one of them"}},
		"logs": {"logs bounds json-file", api.DeploymentSpec{Container: api.Container{Logs: &api.Logs{}}},
			[]string{"--log-driver=journald"}, []string{"--log-driver says again what logs says; keep one of them"}},
		"logs the same": {"naming the driver we use doesn't conflict",
			api.DeploymentSpec{Container: api.Container{Logs: &api.Logs{}}}, []string{"--log-driver=json-file"}, nil},
	}
	for name, c := range cases {
		options, err := Parse(c.args)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for _, conflict := range Conflicts(c.spec, options) {
			got = append(got, conflict.Error())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, c.reason, diff)
		}
	}
}

// FuzzParse: no flags cause a panic, and every error names something.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"--cpus=1.5", "-it", "--mount=type=bind,source=/a,target=/b", "--gpus=\"device=0,1\"",
		"--ulimit=nofile=1:2", "-p=[::1]:1-2:3-4/udp", "--expose=1-65535"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, arg string) {
		if _, err := Parse([]string{arg, arg}); err != nil && err.Error() == "" {
			t.Fatal("an error without words")
		}
	})
}
