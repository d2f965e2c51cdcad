package docker

import (
	"strings"
	"testing"
)

// TestRepositoryDigest: an image that has several digests in a repository has the one that is asked for.
func TestRepositoryDigest(t *testing.T) {
	a, b, c := "sha256:"+strings.Repeat("a", 64), "sha256:"+strings.Repeat("b", 64), "sha256:"+strings.Repeat("c", 64)
	known := []string{"other@" + c, "reg.example/web@" + c, "web@" + a, "web@" + b}
	for ref, want := range map[string]string{
		"web:1": a, "web@" + a: a, "web@" + b: b, "docker.io/library/web:2@" + b: b, "reg.example/web": c,
		"reg.example/none": "", a: "",
	} {
		if got := repositoryDigest(ref, known); got != want {
			t.Errorf("%s: %q, want %q", ref, got, want)
		}
	}
}
