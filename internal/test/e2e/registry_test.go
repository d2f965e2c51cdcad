//go:build integration

package e2e

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestRegistry: a changed registry object is used at once, docker's own config applies to other registries, and the
// token can't be read anywhere.
func TestRegistry(t *testing.T) {
	s := newShop(t)
	s.release()
	host, _, _ := strings.Cut(s.reference, "/")
	config := t.TempDir()
	own := `{"auths":{"elsewhere.example":{"auth":"YW5uOnJpZ2h0"}}}`
	if err := os.WriteFile(filepath.Join(config, "config.json"), []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	m := newMachine(t)
	m.env = []string{"DOCKER_CONFIG=" + config}
	m.start()
	m.afterwards(func() { m.engine("rmi", "-f", s.reference).ignored() })
	revision := m.apply(m.manifest("app", func(o *api.DeploymentSpec) { o.Image = s.reference }))
	m.degraded("app", "Unauthorized", "apply a registry for "+host)

	const wrong, right = "wr0ng-s3cret-t0ken", "right"
	registry := func(token string) string {
		return m.file("registry.hcl", `registry "shop" {
  url      = "`+host+`"
  username = "ann"
  token    = "`+token+`"
}`)
	}
	m.wantSaid(m.tend("apply", "-f", registry(wrong)), 0, "registry/shop created")
	m.degraded("app", "Unauthorized", "correct the registry applied for "+host)
	m.wantSaid(m.tend("apply", "-f", registry(wrong)), 0, "registry/shop unchanged")
	said := m.tend("diff", "-f", registry(right))
	m.wantSaid(said, 0, "(sealed)")
	m.wantSaid(m.tend("apply", "-f", registry(right)), 0, "registry/shop configured")
	m.converged("app", revision)

	m.wantSaid(m.tend("apply", "-f", m.file("second.hcl", `registry "second" {
  url    = "http://`+host+`/"
  helper = "box"
}`)), 1, "registry/shop already declares "+host)
	shown := m.tend("get", "registry", "_/shop", "-o", "json")
	m.wantSaid(shown, 0, "sealed:")
	for _, text := range []string{shown.output, said.output, m.output.String()} {
		if strings.Contains(text, wrong) {
			t.Errorf("the token is shown:\n%s", text)
		}
	}
	if found := holding(t, m.root, wrong); len(found) > 0 {
		t.Errorf("the token lies in %v", found)
	}
	if after, err := os.ReadFile(filepath.Join(config, "config.json")); err != nil || string(after) != own {
		t.Errorf("docker's own config became %s, %v", after, err)
	}
}

// holding returns the files below a folder that contain a text.
func holding(t *testing.T, root, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		content, err := io.ReadAll(file)
		if strings.Contains(string(content), text) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
