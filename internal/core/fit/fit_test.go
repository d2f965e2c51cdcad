package fit

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
)

func specOf(edit func(*api.WorkloadSpec)) (spec api.WorkloadSpec) {
	spec.Image = "web:1"
	if edit != nil {
		edit(&spec)
	}
	return spec
}

// TestNeed: what makes a pod fit one kind of runtime, or neither, and how that is said.
func TestNeed(t *testing.T) {
	for name, c := range map[string]struct {
		reason     string
		edit       func(*api.WorkloadSpec)
		facts      Facts
		containers bool
		processes  bool
		says       string
	}{
		"a name":           {"a registry's image, or a folder in ROOT/images: who finds it decides", nil, Facts{}, true, true, ""},
		"found by Docker":  {"images don't travel between kinds", nil, Facts{Runtime: "docker"}, true, false, "its image is one of a container engine"},
		"found as folder":  {"images don't travel between kinds", nil, Facts{Runtime: "process"}, false, true, "its image is one of plain processes"},
		"a path":           {"no engine takes it", func(s *api.WorkloadSpec) { s.Image = "/srv/web" }, Facts{}, false, true, "its image is a folder (/srv/web)"},
		"the platform's":   {"every process is reachable on its host", func(s *api.WorkloadSpec) { s.Networks = []string{"tend0"} }, Facts{}, true, true, ""},
		"networks":         {"a process has those of its host", func(s *api.WorkloadSpec) { s.Networks = []string{"back"} }, Facts{}, true, false, "networks"},
		"the host's ports": {"a process has them", func(s *api.WorkloadSpec) { s.NetworkMode = "host"; s.Ports = []string{"80:80"} }, Facts{}, true, true, ""},
		"same place":       {"a process sees it", func(s *api.WorkloadSpec) { s.Volumes = []string{"/srv:/srv", "/a:/a:rw"} }, Facts{}, true, true, ""},
		"another place":    {"a process has no mounts", func(s *api.WorkloadSpec) { s.Volumes = []string{"/srv:/data"} }, Facts{}, true, false, "volumes"},
		"claims":           {"there are no volumes", func(s *api.WorkloadSpec) { s.Claims = []api.VolumeClaim{{Name: "data"}} }, Facts{}, true, false, "volume_claims"},
		"several":          {"all of them are named at once", func(s *api.WorkloadSpec) { s.ReadOnly = true; s.CapAdd = []string{"KILL"} }, Facts{}, true, false, "cap_add, read_only"},
		"of an init":       {"it runs in the pod's place", func(s *api.WorkloadSpec) { s.Inits = []api.Init{{DockerOptions: []string{"--init"}}} }, Facts{}, true, false, "docker_options"},
		"an init's path":   {"it runs in the pod's place", func(s *api.WorkloadSpec) { s.Inits = []api.Init{{Image: "/srv/init"}} }, Facts{}, false, true, "/srv/init"},
		"a build":          {"only an engine builds it", func(s *api.WorkloadSpec) { s.Image = ""; s.Build = &api.Build{} }, Facts{}, true, false, "plain processes are not built from source"},
		"a deployer's":     {"a process isolates nothing", nil, Facts{Confined: true}, true, false, "a deployer"},
		"neither":          {"nothing honours both", func(s *api.WorkloadSpec) { s.Image = "/srv/web"; s.ReadOnly = true }, Facts{}, false, false, "no node can run it: its image is a folder (/srv/web), and plain"},
		"constrained": {"the placement names a runtime", func(s *api.WorkloadSpec) {
			s.Placement = &api.Placement{Constraints: []string{"node.runtime == process", "node.arch == amd64"}}
		}, Facts{}, false, true, "placement.constraints has node.runtime == process"},
		"constrained away": {"the placement excludes a runtime", func(s *api.WorkloadSpec) {
			s.Placement = &api.Placement{Constraints: []string{"node.runtime != process"}}
		}, Facts{}, true, false, "placement.constraints has node.runtime != process"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOf(c.edit)
			need := Of(spec, c.facts).Within(spec.Placement)
			if need.Takes("docker") != c.containers || need.Takes("process") != c.processes || !need.Takes("") {
				t.Fatalf("%s: %+v", c.reason, need)
			}
			var lacking []string
			for runtime, takes := range map[string]bool{"docker": c.containers, "process": c.processes} {
				if !takes {
					lacking = append(lacking, runtime)
				}
				if (need.Refuses(runtime) == "") != takes {
					t.Errorf("%s refuses %q", runtime, need.Refuses(runtime))
				}
			}
			message, next := need.Missing(lacking)
			if (message == "") != (len(lacking) == 0) || (next == "") != (message == "") || !strings.Contains(message, c.says) {
				t.Errorf("it says %q, next %q; want %q", message, next, c.says)
			}
			for _, others := range [][]string{nil, append([]string{""}, lacking...)} {
				if message, _ := need.Missing(others); message != "" {
					t.Errorf("with a node that may have it: %q", message)
				}
			}
		})
	}
}

// TestStepWhereNoRuntimeFits: the step that needs containers is named only if a node runs them.
func TestStepWhereNoRuntimeFits(t *testing.T) {
	need := Of(specOf(func(s *api.WorkloadSpec) { s.Image = "/srv/web"; s.Networks = []string{"back"} }), Facts{})
	for want, runtimes := range map[string][]string{
		"leave out `networks`": {"process"},
		"name an image as docker pull takes it, or leave out `networks`": {"process", "docker"},
	} {
		message, next := need.Missing(runtimes)
		if next != want || message != "no node can run it: its image is a folder (/srv/web), and plain processes can't have networks" {
			t.Errorf("%v: %q, next %q, want %q", runtimes, message, next, want)
		}
	}
}

// TestReleaseOfAnEarlierVersion: a release that doesn't say which runtime has its image is placed by what only an
// engine reports.
func TestReleaseOfAnEarlierVersion(t *testing.T) {
	for name, c := range map[string]struct {
		reason  string
		release api.Release
		process bool
	}{
		"nothing is known":  {"a folder has neither", api.Release{}, true},
		"an architecture":   {"only engines report one", api.Release{ImageArch: "amd64"}, false},
		"a digest":          {"only registries give one", api.Release{ImageDigest: "sha256:1"}, false},
		"it says so itself": {"", api.Release{ImageRuntime: "process"}, true},
	} {
		c.release.Kind, c.release.Spec = api.KindDeployment, []byte(`{"image":"web:1"}`)
		if need := Release(c.release); need.Takes("process") != c.process {
			t.Errorf("%s (%s): %+v", name, c.reason, need)
		}
	}
	if need := Release(api.Release{Kind: api.KindDeployment, Spec: []byte(`{`)}); !need.Takes("process") ||
		!need.Takes("docker") {
		t.Error("what can't be read requires something")
	}
}
