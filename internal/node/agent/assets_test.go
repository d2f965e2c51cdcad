package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/runtime"
)

// shelf returns a path for each digest it knows.
type shelf map[string]bool

func (s shelf) Path(_ context.Context, digest, key string) (string, error) {
	switch {
	case digest == "unreadable":
		return "", errors.New("input/output error")
	case !s[digest]:
		return "", fmt.Errorf("%w: %s", node.ErrNoBlob, digest)
	}
	return "/assets/" + digest + "/" + key, nil
}

// library returns one release.
type library struct {
	nodeapi.Assignments
	release node.Release
}

func (l library) Release(context.Context, api.Task) (node.Release, error) { return l.release, nil }

func assetTask() api.Task {
	return api.Task{ID: "t", Kind: api.KindDeployment, Scope: "prod", Name: "web", Release: "v1"}
}

func TestReleasesNameTheFilesOfTheNode(t *testing.T) {
	hook := &api.DeployHooks{Success: []api.Webhook{{URL: "http://x", File: "${asset.hook.body}"}}}
	release := node.Release{ID: "v1", AssetDigests: map[string]string{"prod.conf.a": "one", "_.ca.pem": "two"},
		Spec: api.DeploymentSpec{OnDeploy: hook, Container: api.Container{
			Image: "web", Command: []string{"run", "${asset.conf.a}", "$${asset.conf.a}"},
			Env:     map[string]string{"A": "at ${asset.ca.pem}", "B": "$${asset.conf.a}", "C": "plain"},
			Volumes: []string{"${asset.conf.a}:/a", "${asset.ca.pem}:/b:z", "${asset.prod.conf.a}:/c:ro", "data:/d"},
		}},
		Env: map[string]string{"A": "at ${asset.ca.pem}", "B": "$${asset.conf.a}", "C": "plain", "BUCKET": "${asset.conf.a}"},
	}
	r := newReleases(library{release: release}, shelf{"one": true, "two": true}, "")
	got, err := r.of(t.Context(), assetTask())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"A": "at /assets/two/pem", "B": "${asset.conf.a}", "C": "plain", "BUCKET": "${asset.conf.a}"}
	if diff := cmp.Diff(want, got.Env); diff != "" {
		t.Errorf("a bucket's value is literal:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/assets/one/a:/a:ro", "/assets/two/pem:/b:z,ro", "/assets/one/a:/c:ro", "data:/d"},
		got.Spec.Volumes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"run", "/assets/one/a", "${asset.conf.a}"}, got.Spec.Command); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(hook, got.Spec.OnDeploy); diff != "" {
		t.Errorf("no container has what a webhook sends:\n%s", diff)
	}
	if release.Spec.Volumes[0] != "${asset.conf.a}:/a" || release.Env["A"] != "at ${asset.ca.pem}" {
		t.Error("the stored release was written to")
	}
}

func TestAMissingFileIsReported(t *testing.T) {
	spec := api.DeploymentSpec{Container: api.Container{Volumes: []string{"${asset.conf.a}:/a"}}}
	for reason, tc := range map[string]struct {
		digests  map[string]string
		assets   Assets
		rejected bool
		want     string
	}{
		"its bytes are gone":       {map[string]string{"prod.conf.a": "gone"}, shelf{}, true, "AssetMissing"},
		"the release has no stamp": {nil, shelf{}, true, "AssetMissing"},
		"the node keeps no files":  {map[string]string{"prod.conf.a": "one"}, nil, true, "AssetMissing"},
		"the disk is at fault":     {map[string]string{"prod.conf.a": "unreadable"}, shelf{}, false, "AssetUnreadable"},
	} {
		r := newReleases(library{release: node.Release{ID: "v1", Spec: spec, AssetDigests: tc.digests}}, tc.assets, "")
		_, err := r.of(t.Context(), assetTask())
		fault := (&Agent{}).faultOf(err)
		if err == nil || fault.Rejected != tc.rejected || fault.Reason != tc.want ||
			!strings.Contains(fault.Message, "release v1") {
			t.Errorf("%s: %+v", reason, fault)
		}
	}
}

// A file may vanish between the fetch of a release and the creation of a container.
func TestLinksAreThereBeforeEachContainer(t *testing.T) {
	assets := shelf{"one": true}
	r := newReleases(library{}, assets, "")
	release := node.Release{ID: "v1", AssetDigests: map[string]string{"prod.conf.a": "one"}}
	if err := r.link(t.Context(), release); err != nil {
		t.Error(err)
	}
	delete(assets, "one")
	var rejected *runtime.RejectedError
	if err := r.link(t.Context(), release); !errors.As(err, &rejected) {
		t.Error(err)
	}
}
