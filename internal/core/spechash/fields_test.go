package spechash

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// excluded are the fields no version covers, each with the reason.
var excluded = map[string]string{
	"mode":          "how many pods there are changes none of them",
	"placement":     "says where pods run, not what; one that may not stay where it is moves by itself",
	"replicas":      "scaling must not touch containers that run",
	"env_file":      "the client reads it into env; no stored spec has it",
	"strategy":      "says how slots are replaced, not what runs in them",
	"keep_releases": "how many releases are kept reaches no container",
	"health_check":  "a path the ingress asks for; the container is the same",
	"post_deploy":   "commands of the host, run after a rollout",
	"release":       "commands run once per release, not by the slots",
	"on_deploy":     "a webhook's address must not roll slots",
	"on_probe":      "a webhook's address must not roll slots",
	"depends_on":    "says when a release may begin; the digests of the assets it names are in the hash by themselves",
}

// covers reports whether a change of a field replaces containers; the reason says why not.
func covers(field string) (covered bool, reason string) {
	return slices.Contains(includedV1, field), excluded[field]
}

// hash returns the hash of a deployment as the controllers ask for it.
func hash(spec api.DeploymentSpec, assets map[string]string) string {
	return Workload(api.WorkloadSpec{DeploymentSpec: spec}, assets)
}

// setters returns a function for each field of a spec that sets it to something made of n.
func setters() map[string]func(s *api.DeploymentSpec, n int) {
	text := func(n int) string { return fmt.Sprintf("v%d", n) }
	texts := func(n int) []string { return []string{text(n), text(n + 1)} }
	table := func(n int) map[string]string { return map[string]string{"K": text(n), text(n): "", "Z": "<&>"} }
	return map[string]func(s *api.DeploymentSpec, n int){
		"image":             func(s *api.DeploymentSpec, n int) { s.Image = text(n) },
		"replicas":          func(s *api.DeploymentSpec, n int) { s.Replicas = &n },
		"mode":              func(s *api.DeploymentSpec, n int) { s.Mode = text(n) },
		"placement":         func(s *api.DeploymentSpec, n int) { s.Placement = &api.Placement{Spread: text(n)} },
		"command":           func(s *api.DeploymentSpec, n int) { s.Command = texts(n) },
		"entrypoint":        func(s *api.DeploymentSpec, n int) { s.Entrypoint = texts(n) },
		"env":               func(s *api.DeploymentSpec, n int) { s.Env = table(n) },
		"secret_files":      func(s *api.DeploymentSpec, n int) { s.SecretFiles = table(n) },
		"env_file":          func(s *api.DeploymentSpec, n int) { s.EnvFile = texts(n) },
		"env_from":          func(s *api.DeploymentSpec, n int) { s.EnvFrom = texts(n) },
		"user":              func(s *api.DeploymentSpec, n int) { s.User = text(n) },
		"working_dir":       func(s *api.DeploymentSpec, n int) { s.WorkingDir = text(n) },
		"hostname":          func(s *api.DeploymentSpec, n int) { s.Hostname = text(n) },
		"labels":            func(s *api.DeploymentSpec, n int) { s.Labels = table(n) },
		"stop_signal":       func(s *api.DeploymentSpec, n int) { s.StopSignal = text(n) },
		"stop_grace_period": func(s *api.DeploymentSpec, n int) { s.StopGracePeriod = api.Duration(fmt.Sprintf("%ds", n+1)) },
		"ports":             func(s *api.DeploymentSpec, n int) { s.Ports = texts(n) },
		"aliases":           func(s *api.DeploymentSpec, n int) { s.Aliases = texts(n) },
		"volumes":           func(s *api.DeploymentSpec, n int) { s.Volumes = texts(n) },
		"network":           func(s *api.DeploymentSpec, n int) { s.Networks, s.Network = nil, text(n) },
		"networks":          func(s *api.DeploymentSpec, n int) { s.Networks, s.Network = texts(n), "" },
		"network_mode":      func(s *api.DeploymentSpec, n int) { s.NetworkMode = text(n) },
		"restart":           func(s *api.DeploymentSpec, n int) { s.Restart = text(n) },
		"extra_hosts":       func(s *api.DeploymentSpec, n int) { s.ExtraHosts = texts(n) },
		"cap_add":           func(s *api.DeploymentSpec, n int) { s.CapAdd = texts(n) },
		"cap_drop":          func(s *api.DeploymentSpec, n int) { s.CapDrop = texts(n) },
		"read_only":         func(s *api.DeploymentSpec, n int) { s.ReadOnly = true },
		"tmpfs":             func(s *api.DeploymentSpec, n int) { s.Tmpfs = texts(n) },
		"shm_size":          func(s *api.DeploymentSpec, n int) { s.ShmSize = text(n) },
		"devices":           func(s *api.DeploymentSpec, n int) { s.Devices = texts(n) },
		"dns":               func(s *api.DeploymentSpec, n int) { s.DNS = texts(n) },
		"security_opt":      func(s *api.DeploymentSpec, n int) { s.SecurityOpt = texts(n) },
		"ulimits":           func(s *api.DeploymentSpec, n int) { s.Ulimits = table(n) },
		"docker_options":    func(s *api.DeploymentSpec, n int) { s.DockerOptions = texts(n) },
		"health_check":      func(s *api.DeploymentSpec, n int) { s.HealthCheck = text(n) },
		"post_deploy":       func(s *api.DeploymentSpec, n int) { s.PostDeploy = texts(n) },
		"keep_releases":     func(s *api.DeploymentSpec, n int) { s.KeepReleases = &n },
		"resources": func(s *api.DeploymentSpec, n int) {
			s.Resources = &api.Resources{Limits: &api.ResourceLimits{CPU: text(n), Memory: text(n)}}
		},
		"logs":       func(s *api.DeploymentSpec, n int) { s.Logs = &api.Logs{MaxSize: text(n), MaxFiles: &n} },
		"strategy":   func(s *api.DeploymentSpec, n int) { s.Strategy = &api.Strategy{Order: text(n)} },
		"depends_on": func(s *api.DeploymentSpec, n int) { s.DependsOn = &api.DependsOn{Assets: texts(n)} },
		"build":      func(s *api.DeploymentSpec, n int) { s.Build = &api.Build{Context: text(n), Args: table(n)} },
		"release":    func(s *api.DeploymentSpec, n int) { s.Release = &api.ReleaseHooks{Command: texts(n)} },
		"autoscale":  func(s *api.DeploymentSpec, n int) { s.Autoscale = &api.Autoscale{Min: n + 1, Max: n + 2} },
		"probes": func(s *api.DeploymentSpec, n int) {
			s.Probes = &api.Probes{Liveness: &api.Probe{TCPSocket: &api.TCPSocket{Port: n + 1}}}
		},
		"on_deploy": func(s *api.DeploymentSpec, n int) {
			s.OnDeploy = &api.DeployHooks{Success: []api.Webhook{{URL: text(n)}}}
		},
		"on_probe": func(s *api.DeploymentSpec, n int) {
			s.OnProbe = &api.ProbeHooks{Failure: []api.Webhook{{URL: text(n)}}}
		},
		"inits": func(s *api.DeploymentSpec, n int) {
			s.Inits = []api.Init{{Name: text(n), Command: texts(n)}, {Name: "b", Command: texts(n)}}
		},
	}
}

func setterNames() []string { return slices.Sorted(maps.Keys(setters())) }

// TestEveryFieldChooses: every field of the api is in the hash, or excluded with a reason, and has a setter for the
// tests below.
func TestEveryFieldChooses(t *testing.T) {
	all := setters()
	fields := map[string]bool{}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[api.DeploymentSpec]()) {
		if field.Anonymous {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields[name] = true
		covered, reason := covers(name)
		if covered == (reason != "") {
			t.Errorf("%s is in the hash: %t, and the reason to leave it out is %q: choose one", name, covered, reason)
		}
		if all[name] == nil {
			t.Errorf("%s has no setter in this test", name)
		}
	}
	for name := range excluded {
		if !fields[name] {
			t.Errorf("%s is excluded and no field", name)
		}
	}
}

// TestFieldsCount: a change of an included field changes the hash, a change of an excluded one doesn't.
func TestFieldsCount(t *testing.T) {
	for name, set := range setters() {
		var bare, one, two api.DeploymentSpec
		set(&one, 1)
		set(&two, 5)
		covered, _ := covers(name)
		if got := hash(bare, nil) != hash(one, nil); got != covered {
			t.Errorf("%s: setting it changes the hash: %t, want %t", name, got, covered)
		}
		if name == "read_only" {
			continue // has two values only
		}
		if got := hash(one, nil) != hash(two, nil); got != covered {
			t.Errorf("%s: changing it changes the hash: %t, want %t", name, got, covered)
		}
	}
}
