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

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

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
	"go": {files: map[string]string{"go.mod": "module x\n\ngo 1.24.3\n", "go.sum": "",
		"main.go": "package main"}},
	"go-vendored": {files: map[string]string{"go.mod": "module x\n", "vendor/modules.txt": ""},
		build: api.Build{Path: "cmd/x", Args: map[string]string{"B": "1", "A": "2"}}},
	"go-below": {files: map[string]string{"README.md": "", "services/api/go.mod": "module x\ngo 1.25\n",
		"web/deep/down/package.json": "{}"}},
	"go-command": {files: map[string]string{"go.mod": "module x\ngo 1.25\ntoolchain go1.26.1\n", "x.go": "package x",
		"x_test.go": "package main", "gen.go": "//go:build ignore\n\npackage main",
		"cmd/web/main.go": "// Command web.\npackage main", "cmd/README": ""}},
	"go-beside": {files: map[string]string{"api/go.mod": "module x\nreplace y => ../lib\n",
		"api/main.go": "package main", "lib/go.mod": "module y"}},
	"go-work":     {files: map[string]string{"go.work": "use ./a b", "my api/go.mod": "module x\ngo 1.26"}},
	"go-replaced": {files: map[string]string{"go.mod": "module x\nreplace y => ./lib\n", "lib/go.mod": "module y"}},
	"go-odd-name": {files: map[string]string{"my [api] $x*/go.mod": "module x\n", "my [api] $x*/go.sum": ""}},
	"node":        {files: map[string]string{"package.json": `{"scripts":{"start":"node .","build":"tsc"},"engines":{"node":">=20.1"}}`, "package-lock.json": "", ".npmrc": ""}},
	"node-pnpm": {files: map[string]string{"package.json": `{"packageManager":"pnpm@9.1.0","main":"dist/server.js"}`,
		"pnpm-lock.yaml": "", "package-lock.json": "", ".nvmrc": "v22.3.0\n"}},
	"node-yarn": {files: map[string]string{"package.json": `{"scripts":{"start":"x"}}`,
		"yarn.lock": "# yarn lockfile v1\n", ".nvmrc": "lts/iron"}},
	"node-berry": {files: map[string]string{"package.json": `{"packageManager":"yarn@4.5.0","scripts":{"start":"x"}}`,
		"yarn.lock": "", ".yarnrc.yml": "", ".tool-versions": "ruby 3.1.0\nnodejs 22.1.0\n"}},
	"node-work": {files: map[string]string{"package.json": `{"workspaces":["packages/*"]}`, "package-lock.json": "",
		"packages/a/package.json": "{}"}},
	"node-prepares": {files: map[string]string{"package.json": `{"scripts":{"postinstall":"prisma generate"}}`,
		"package-lock.json": "", "Procfile": "# how it runs\nworker: node w.js\nweb: node server.js && true\n"}},
	"node-bun": {files: map[string]string{"package.json": `{"packageManager":"bun@1.2.3"}`, "bun.lock": "",
		".nvmrc": "22"}, build: api.Build{Lang: &api.BuildLang{Entrypoint: "server.ts"}}},
	"node-broken": {files: map[string]string{"package.json": `{`}},
	"bun": {files: map[string]string{"package.json": `{}`},
		build: api.Build{Lang: &api.BuildLang{Name: "bun", Version: "1.1"}}},
	"python": {files: map[string]string{"requirements.txt": "flask",
		"runtime.txt": "python-3.12.4\n", "app.py": ""}},
	"python-more": {files: map[string]string{"requirements.txt": "-r base.txt\n", "base.txt": "",
		"Procfile": "web: gunicorn app:app"}},
	"python-line": {files: map[string]string{"pyproject.toml": "[project]\nrequires-python = \">=3.11\"\n"},
		build: api.Build{Lang: &api.BuildLang{Entrypoint: "gunicorn app:app --bind 0.0.0.0:8000"}}},
	"python-uv": {files: map[string]string{"pyproject.toml": "", "uv.lock": "",
		".python-version": "3.13\n3.12\n", "main.py": ""}},
	"python-poetry": {files: map[string]string{"pyproject.toml": "[tool.poetry.dependencies]\npython = \"^3.12\"\n",
		"poetry.lock": ""}},
	"python-pipenv": {files: map[string]string{"Pipfile": "[requires]\npython_version = \"3.11\"\n", "Pipfile.lock": ""}},
	"ruby":          {files: map[string]string{"Gemfile": "ruby '~> 3.3.1'\n", "Gemfile.lock": "", "config.ru": ""}},
	"ruby-puma": {files: map[string]string{"Gemfile": "gem 'mysql2'",
		"Gemfile.lock": "    puma (6.4)\n\nRUBY VERSION\n   ruby 3.3.5p100\n", "config.ru": "", "app.rb": ""}},
	"rails": {files: map[string]string{"config/application.rb": "", "Gemfile": "",
		"Gemfile.lock": "    propshaft (1.1.0)\n    image_processing (1.2)", "package.json": "{}", "yarn.lock": "",
		".ruby-version": "ruby-3.4.2\n"}},
	"rails-api": {files: map[string]string{"config/application.rb": "config.api_only = true", "Gemfile": "",
		"Gemfile.lock": "    rails (8.0)", "Procfile": "web: bin/rails server -b 0.0.0.0"}},
	"declared": {files: map[string]string{"server.py": ""},
		build: api.Build{Lang: &api.BuildLang{Name: "python", Version: "3.13", Entrypoint: "server.py"}}},
}

// TestRecipes: the decision for each tree, and its generated Dockerfile. Rewrite with -rewrite.
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
	tree := treeOf(map[string]string{"Dockerfile": "FROM scratch", "go.mod": "module x",
		"deploy/Dockerfile": "FROM scratch"})
	for declared, want := range map[string]string{"": "Dockerfile", "deploy/Dockerfile": "deploy/Dockerfile",
		"./deploy/Dockerfile": "deploy/Dockerfile"} {
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
		"nothing known": {map[string]string{"main.c": ""}, api.Build{}, "put a Dockerfile into the folder"},
		"too deep":      {map[string]string{"a/b/c/go.mod": ""}, api.Build{}, "put a Dockerfile into the folder"},
		"of a dependency": {map[string]string{"vendor/x/go.mod": "", ".cache/go.mod": ""}, api.Build{},
			"put a Dockerfile into the folder"},
		"an unknown language": {map[string]string{"go.mod": ""}, api.Build{Lang: &api.BuildLang{Name: "cobol"}},
			`"cobol" is not a language`},
		"no such Dockerfile": {map[string]string{"Dockerfile": ""}, api.Build{Dockerfile: "docker/Dockerfile"},
			"there is no file docker/Dockerfile"},
		"several programs": {map[string]string{"go.mod": "", "x.go": "package x", "cmd/a/a.go": "package main",
			"cmd/b/b.go": "package main"}, api.Build{}, "more than one program: cmd/a, cmd/b: name one with build { path"},
		"no program": {map[string]string{"go.mod": "", "x.go": "package x"}, api.Build{},
			"hold no program: name its folder"},
		"a package": {map[string]string{"go.mod": "", "lib/x.go": "package x"}, api.Build{Path: "./lib"},
			"lib is not a program but a package"},
		"a Dockerfile above": {map[string]string{"Dockerfile": ""}, api.Build{Dockerfile: "../Dockerfile"},
			"there is no file ../Dockerfile"},
	} {
		if _, err := Decide(treeOf(test.files), test.build, ""); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
