//go:build integration

package e2e

import (
	"os"
	"slices"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/test/testimage"
)

// TestAssetReferences: a file can be referenced wherever a path is permitted, also in a job. An asset in use stays,
// assets of two scopes are separate, and those that belong together are deleted together.
func TestAssetReferences(t *testing.T) {
	m := newMachine(t).start()
	m.wantSaid(m.tend("apply", "-f", m.texts("conf", `main = "one"`)), 0)
	m.deploy(m.manifest("app", env(map[string]string{"A": "at ${asset.conf.main}", "B": "$${asset.conf.main}"}),
		func(s *api.DeploymentSpec) {
			s.Labels = map[string]string{"conf": "${asset.conf.main}"}
			s.DockerOptions = []string{"--volume=${asset.conf.main}:/data/flag.conf:ro"}
			s.Inits = []api.Init{{Name: "check", Command: []string{testimage.Program, "cat", "/data/flag.conf"}}}
		}))
	for id := range m.running("app") {
		config := m.inspect(id).Config
		path := config.Labels["conf"]
		if content, err := os.ReadFile(path); string(content) != "one" || err != nil {
			t.Errorf("the label names %s: %q, %v", path, content, err)
		}
		if !slices.Contains(config.Env, "A=at "+path) || !slices.Contains(config.Env, "B=${asset.conf.main}") {
			t.Errorf("the environment is %v", config.Env)
		}
		if got := m.reads(id, "/data/flag.conf"); got != "one" {
			t.Errorf("the flag's file holds %q", got)
		}
	}
	m.delete("app")
	m.jobReadsAsset()
	m.assetsInUse()
}

// jobReadsAsset: a job's volumes and commands have files too, and the next run has the newest.
func (m *machine) jobReadsAsset() {
	m.Helper()
	m.wantSaid(m.tend("apply", "-f", m.file("job.hcl", `job "SCOPE" "show" {
  image   = "IMAGE"
  command = ["/server", "cat", "/data/app.conf"]
  env     = { CONF = "${asset.conf.main}" }
  volumes = ["${asset.conf.main}:/data/app.conf"]
}`)), 0, "job/"+m.scope+"/show created")
	m.wantSaid(m.tend("run", m.scope+"/show"), 0, "one")
	m.wantSaid(m.tend("apply", "-f", m.texts("conf", `main = "two"`)), 0, "job/"+m.scope+"/show configured")
	m.wantSaid(m.tend("run", m.scope+"/show"), 0, "two")
	m.wantSaid(m.tend("delete", "job", m.scope+"/show"), 0)
}

func (m *machine) assetsInUse() {
	m.Helper()
	both := m.file("both.hcl", `
asset "SCOPE" "conf" { main = "mine" }
asset "SCOPE-b" "conf" { main = "theirs" }
asset "conf" { all = "shared" }
deployment "SCOPE" "app" {
  image   = "IMAGE"
  volumes = ["${asset.conf.main}:/data/app.conf", "${asset.SCOPE-b.conf.main}:/data/theirs", "${asset.conf.all}:/data/all"]
}`)
	m.wantSaid(m.tend("apply", "-f", both), 0)
	for id := range m.running("app") {
		for path, want := range map[string]string{mounted: "mine", "/data/theirs": "theirs", "/data/all": "shared"} {
			if got := m.reads(id, path); got != want {
				m.Errorf("%s holds %q, want %q", path, got, want)
			}
		}
	}
	m.wantSaid(m.tend("delete", "asset", m.scope+"/conf"), 1, "is in use", "deployment/"+m.scope+
		"/app uses it (volumes[0])")
	m.wantSaid(m.tend("apply", "-f", m.texts("conf", `other = "x"`)), 1, "uses it")
	m.wantSaid(m.tend("apply", "-f", m.file("lost.hcl", `deployment "SCOPE" "app" {
  image   = "IMAGE"
  volumes = ["${asset.conf.gone}:/x"]
}`)), 1, "${asset.conf.gone}: there is no such file")
	m.wantSaid(m.tend("delete", "-f", both), 0)
	m.gone("app")
}
