package manifest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

// TestWhereSourceLies: a context is relative to its manifest, and an object that names its tree has none here.
func TestWhereSourceLies(t *testing.T) {
	root := t.TempDir()
	deploy := filepath.Join(root, "deploy")
	if err := os.Mkdir(deploy, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(deploy, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	digest := "sha256:" + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	write("a.hcl", `deployment "prod" "here" {
  build {}
}
app "prod" "near" {
  host = "near.example.com"
  build {
    context = "../src"
    args    = { A = "1" }
  }
}
job "prod" "far" {
  build {
    context = "/srv/far"
  }
}
deployment "prod" "pulled" {
  image = "web"
}`)
	write("b.json", `{"kind":"deployment","scope":"prod","name":"named","metadata":{"stamps":{"build":"`+digest+`","restart":"3"}},"spec":{"build":{}}}`)
	result, err := Load(Options{Files: []string{deploy}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, source := range result.Builds {
		got[source.Object.String()] = source.Folder
	}
	want := map[string]string{"deployment/prod/here": deploy, "deployment/prod/near": filepath.Join(root, "src"), "job/prod/far": "/srv/far"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, object := range result.Objects {
		if object.Name == "named" {
			if diff := cmp.Diff(map[string]string{api.StampBuild: digest}, object.Metadata.Stamps); diff != "" {
				t.Errorf("a client's word on other stamps was taken: %s", diff)
			}
		}
	}
}
