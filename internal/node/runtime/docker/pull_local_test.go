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
		"one":  {[]string{"1"}, "no image kit:99 here (1 is); docker.io can't be reached"},
		"some": {[]string{"3", "2", "1"}, "no image kit:99 here (3, 2, 1 are); docker.io can't be reached"},
		"many": {[]string{"7", "6", "5", "4", "3", "2", "1"},
			"no image kit:99 here (7, 6, 5, 4, 3, … are); docker.io can't be reached"},
	} {
		if got := missingTag(named, tc.tags, "can't be reached"); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestUnreached: the next step for an image that may be made here isn't the DNS of Docker Hub alone.
func TestUnreached(t *testing.T) {
	const raw = "pull image kit:99: dial tcp: lookup registry-1.docker.io: no such host"
	for image, want := range map[string]runtime.TransientError{
		"kit:99": {Detail: "no image kit:99 here, and docker.io can't be reached: no such host",
			Next: "correct the name or the tag, build the image on this node (docker build -t kit:99 .), or let the node reach docker.io"},
		"sha256:" + strings.Repeat("0", 64): {Detail: "no image with the id sha256:" + strings.Repeat("0", 64) + " here",
			Next: "name the image instead, or build it on this node"},
		"ghcr.io/a/kit:99": {Detail: raw, Next: "check the name ghcr.io and the node's DNS"},
	} {
		named, err := reference.ParseNormalizedNamed(image)
		if err != nil {
			t.Fatal(err)
		}
		got := runtime.TransientError{Detail: raw, Next: "check the name ghcr.io and the node's DNS"}
		unreached(named, nil, &got)
		if got != want {
			t.Errorf("%s: %+v, want %+v", image, got, want)
		}
	}
	named, _ := reference.ParseNormalizedNamed("kit:99")
	other := runtime.TransientError{}
	if unreached(named, []string{"1"}, &other); other.Detail != missingTag(named, []string{"1"}, "can't be reached") {
		t.Errorf("with another tag: %+v", other)
	}
}
