package recipe

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

func treeOf(files map[string]string) fs.FS {
	tree := fstest.MapFS{}
	for name, content := range files {
		tree[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return tree
}

var trees = map[string]struct {
	files map[string]string
	build api.Build
}{
	"go":          {files: map[string]string{"go.mod": "module x\n\ngo 1.24.3\n", "go.sum": "", "main.go": ""}},
	"go-vendored": {files: map[string]string{"go.mod": "module x\n", "vendor/modules.txt": ""}, build: api.Build{Path: "cmd/x", Args: map[string]string{"B": "1", "A": "2"}}},
	"go-below":    {files: map[string]string{"README.md": "", "services/api/go.mod": "module x\ngo 1.25\n", "web/deep/down/package.json": "{}"}},
	"node":        {files: map[string]string{"package.json": `{"scripts":{"start":"node .","build":"tsc"},"engines":{"node":">=20.1"}}`, "package-lock.json": ""}},
	"node-pnpm":   {files: map[string]string{"package.json": `{"packageManager":"pnpm@9.1.0","main":"dist/server.js"}`, "pnpm-lock.yaml": "", "package-lock.json": "", ".nvmrc": "v22.3.0\n"}},
	"node-bun":    {files: map[string]string{"package.json": `{}`, "bun.lock": ""}, build: api.Build{Lang: &api.BuildLang{Entrypoint: "server.ts"}}},
	"node-broken": {files: map[string]string{"package.json": `{`}},
	"python":      {files: map[string]string{"requirements.txt": "flask", "runtime.txt": "python-3.12.4\n", "app.py": ""}},
	"python-line": {files: map[string]string{"pyproject.toml": "[project]\nrequires-python = \">=3.11\"\n"}, build: api.Build{Lang: &api.BuildLang{Entrypoint: "gunicorn app:app --bind 0.0.0.0:8000"}}},
	"ruby":        {files: map[string]string{"Gemfile": "ruby '3.3.1'\n", "Gemfile.lock": "", "config.ru": ""}},
	"rails":       {files: map[string]string{"config/application.rb": "", "Gemfile": "", "Gemfile.lock": "", "package.json": "{}", "bin/rails": "", ".ruby-version": "ruby-3.4.2\n"}},
	"declared":    {files: map[string]string{"server.py": ""}, build: api.Build{Lang: &api.BuildLang{Name: "python", Version: "3.13", Entrypoint: "server.py"}}},
}

// TestRecipes: of each tree, what was decided and the Dockerfile that is written for it. Rewrite with -rewrite.
func TestRecipes(t *testing.T) {
	for name, test := range trees {
		recipe, err := Decide(treeOf(test.files), test.build, "")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := fmt.Sprintf("# %s %s in %s\n%s", recipe.Language, recipe.Version, recipe.Folder, recipe.Text)
		at := filepath.Join("testdata", name+".Dockerfile")
		if *rewrite {
			if err := os.WriteFile(at, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

func TestADockerfileComesFirst(t *testing.T) {
	tree := treeOf(map[string]string{"Dockerfile": "FROM scratch", "go.mod": "module x", "deploy/Dockerfile": "FROM scratch"})
	for declared, want := range map[string]string{"": "Dockerfile", "deploy/Dockerfile": "deploy/Dockerfile", "./deploy/Dockerfile": "deploy/Dockerfile"} {
		recipe, err := Decide(tree, api.Build{Dockerfile: declared, Lang: &api.BuildLang{Name: "go"}}, "")
		if err != nil || recipe.Dockerfile != want || recipe.Text != "" || recipe.Language != Docker {
			t.Errorf("%q: %+v %v", declared, recipe, err)
		}
	}
}

func TestUndecided(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		build api.Build
		want  string
	}{
		"nothing known":       {map[string]string{"main.c": ""}, api.Build{}, "put a Dockerfile into the folder"},
		"too deep":            {map[string]string{"a/b/c/go.mod": ""}, api.Build{}, "put a Dockerfile into the folder"},
		"of a dependency":     {map[string]string{"vendor/x/go.mod": "", ".cache/go.mod": ""}, api.Build{}, "put a Dockerfile into the folder"},
		"an unknown language": {map[string]string{"go.mod": ""}, api.Build{Lang: &api.BuildLang{Name: "cobol"}}, `"cobol" is no language`},
		"no such Dockerfile":  {map[string]string{"Dockerfile": ""}, api.Build{Dockerfile: "docker/Dockerfile"}, "there is no file docker/Dockerfile"},
		"a Dockerfile above":  {map[string]string{"Dockerfile": ""}, api.Build{Dockerfile: "../Dockerfile"}, "there is no file ../Dockerfile"},
	} {
		if _, err := Decide(treeOf(test.files), test.build, ""); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
