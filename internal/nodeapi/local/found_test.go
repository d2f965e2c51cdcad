package local_test

import (
	"errors"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/nodeapi/local"
)

// TestWhatANodeSaysOfAnImage counts by the rules of a report: a pinned image has its digest, and an answer is small.
func TestWhatANodeSaysOfAnImage(t *testing.T) {
	digest := "sha256:" + strings.Repeat("d", 64)
	web := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
	for name, c := range map[string]struct {
		node, image string
		found       node.FoundImage
		counts      bool
	}{
		"an image":                      {"n2", "web:1", node.FoundImage{ID: "sha256:1", Arch: "arm64", Runtime: "docker"}, true},
		"the pinned one":                {"n2", "web@" + digest, node.FoundImage{ID: "sha256:1", Digest: digest}, true},
		"another than the pinned one":   {"n2", "web@" + digest, node.FoundImage{ID: "sha256:1", Digest: "sha256:e"}, false},
		"one whose digest isn't known":  {"n2", "web@" + digest, node.FoundImage{ID: "sha256:1"}, false},
		"the same of the server's node": {"n1", "web@" + digest, node.FoundImage{ID: "sha256:1"}, true},
		"too much":                      {"n2", "web:1", node.FoundImage{ID: strings.Repeat("x", boundary.MaxStatus)}, false},
	} {
		answer, err := local.New(local.Options{Own: "n1"}).Found(c.node, api.ImageRequest{Owner: web, Image: c.image}, c.found)
		if c.counts != (err == nil) || !c.counts && !errors.Is(err, node.ErrForbidden) {
			t.Errorf("%s: %v", name, err)
		}
		if c.counts && (answer.Node != c.node || answer.Image != c.image || answer.ImageID != c.found.ID ||
			answer.Digest != c.found.Digest || answer.Arch != c.found.Arch || answer.Runtime != c.found.Runtime ||
			answer.State != api.ImagePresent) {
			t.Errorf("%s: %+v", name, answer)
		}
	}
}
