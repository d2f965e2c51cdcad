package docker

import (
	"strings"
	"testing"

	"github.com/distribution/reference"

	"tend.dev/tend/internal/node/runtime"
)

func TestMissingTag(t *testing.T) {
	named, err := reference.ParseNormalizedNamed("kit:99")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		tags []string
		want string
	}{
		"none": {nil, ""},
		"one":  {[]string{"1"}, "node n1 has no image kit:99 (its tags: 1), and docker.io can't be reached"},
		"some": {[]string{"3", "2", "1"},
			"node n1 has no image kit:99 (its tags: 3, 2, 1), and docker.io can't be reached"},
		"many": {[]string{"7", "6", "5", "4", "3", "2", "1"},
			"node n1 has no image kit:99 (its tags: 7, 6, 5, 4, 3, …), and docker.io can't be reached"},
	} {
		if got := missingTag("node n1", named, tc.tags, "can't be reached"); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestUnreached: the next step for an image that may be made here isn't the DNS of Docker Hub alone.
func TestUnreached(t *testing.T) {
	const raw = "node n1 can't pull kit:99: its DNS knows no host docker.io"
	for image, want := range map[string]runtime.TransientError{
		"kit:99": {Detail: "node n1 has no image kit:99, and can't pull it: its DNS knows no host docker.io",
			Next: "correct `image`, build it there (docker build -t kit:99 .), or let node n1 reach docker.io"},
		"sha256:" + strings.Repeat("0", 64): {Detail: "node n1 has no image with the id sha256:" + strings.Repeat("0", 64),
			Next: "name the image instead, or build it there"},
		"ghcr.io/a/kit:99": {Detail: raw, Next: "check the name ghcr.io and the node's DNS"},
	} {
		named, err := reference.ParseNormalizedNamed(image)
		if err != nil {
			t.Fatal(err)
		}
		got := runtime.TransientError{Detail: raw, Next: "check the name ghcr.io and the node's DNS"}
		unreached("node n1", named, nil, &got)
		if got != want {
			t.Errorf("%s: %+v, want %+v", image, got, want)
		}
	}
	named, _ := reference.ParseNormalizedNamed("kit:99")
	other := runtime.TransientError{}
	unreached("node n1", named, []string{"1"}, &other)
	if other.Detail != missingTag("node n1", named, []string{"1"}, "can't be reached") {
		t.Errorf("with another tag: %+v", other)
	}
}
