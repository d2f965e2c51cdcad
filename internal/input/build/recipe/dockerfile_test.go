package recipe

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

func decideOn(dockerfile, registry string) (Recipe, error) {
	return Decide(fstest.MapFS{"Dockerfile": {Data: []byte(dockerfile)}}, api.Build{}, registry)
}

func TestBuildKitIsNamed(t *testing.T) {
	for feature, text := range map[string]string{
		"Dockerfile:2: RUN --mount":         "FROM a\nRUN --mount=type=cache,target=/x go build",
		"Dockerfile:3: RUN --network":       "FROM a\n\nrun --network=none \\\n  make",
		"Dockerfile:2: RUN --security":      "FROM a\nRUN --security=insecure x",
		"Dockerfile:2: COPY --chmod":        "FROM a\nCOPY --from=b --chmod=755 x y",
		"Dockerfile:2: ADD --link":          "FROM a\nADD --link x y",
		"Dockerfile:4: a here-document":     "# syntax=docker/dockerfile:1\nFROM a\n# more\nRUN <<EOF\necho\nEOF",
		"Dockerfile:2: ADD --checksum":      "FROM a\nADD --checksum=sha256:1 https://x y",
		"Dockerfile:2: COPY --exclude":      "FROM a\nCOPY --exclude=*.md . .",
		"Dockerfile:2: COPY --parents":      "FROM a\nCOPY --parents a/b .",
		"Dockerfile:2: a here-document nee": "FROM a\nCOPY <<'EOF' /x\nEOF",
	} {
		recipe, err := decideOn(text, "")
		if err != nil || recipe.BuildKit == nil || !strings.HasPrefix(recipe.BuildKit.Error(), feature) {
			t.Errorf("%q: %v, %v, want %s", text, recipe.BuildKit, err, feature)
		}
	}
	for _, plain := range []string{
		"# syntax=docker/dockerfile:1\nFROM a\nRUN echo --mount=x", "FROM a\nRUN cat <<EOF\n",
		"FROM a\nCOPY --from=b --chown=1:1 x y",
		"FROM a\nRUN true \\\n  # a comment\n  --mount=x", "",
	} {
		if recipe, err := decideOn(plain, ""); err != nil || recipe.BuildKit != nil {
			t.Errorf("%q: %v, %v", plain, recipe.BuildKit, err)
		}
	}
}

// TestSecretsNeedADockerfile: a Dockerfile that is written for a language mounts none.
func TestSecretsNeedADockerfile(t *testing.T) {
	tree := fstest.MapFS{"go.mod": {Data: []byte("module x\ngo 1.26\n")}}
	if _, err := Decide(tree, api.Build{Secrets: []string{"TOKEN"}}, ""); err == nil ||
		!strings.Contains(err.Error(), "build.secrets") {
		t.Errorf("secrets that nothing mounts: %v", err)
	}
}

func TestBases(t *testing.T) {
	recipe, err := decideOn("FROM golang:1.26 AS build\nFROM --platform=linux/amd64 reg:5000/a/b@sha256:0\nFROM scratch\nARG V\nFROM x:$V\nfrom Build\n FROM golang:1.26", "mirror/")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"golang:1.26", "reg:5000/a/b@sha256:0"}, recipe.Bases); diff != "" {
		t.Error(diff)
	}
}

func TestBaseImagesMayComeFromARegistryOfOnesOwn(t *testing.T) {
	tree := fstest.MapFS{"go.mod": {Data: []byte("module x\ngo 1.26\n")}}
	recipe, err := Decide(tree, api.Build{}, "mirror.local:5000/")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"mirror.local:5000/golang:1.26-alpine", "mirror.local:5000/alpine:3"},
		recipe.Bases); diff != "" {
		t.Error(diff)
	}
}

// An instruction over half a million lines is read at once, not each time from its beginning.
func TestOneInstructionOfManyLines(t *testing.T) {
	recipe, err := decideOn("FROM scratch\nRUN "+strings.Repeat("\\\n", 500_000)+"--mount=type=cache true", "")
	if err != nil || recipe.BuildKit == nil || recipe.BuildKit.Line != 2 {
		t.Errorf("%v, %v", recipe.BuildKit, err)
	}
}
