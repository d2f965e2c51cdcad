package link

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestWhatIsInstalled: a controller counts as installed if all required kinds are served in the required version.
// Otherwise the message names what is missing and the release to install.
func TestWhatIsInstalled(t *testing.T) {
	const helm, source = "helm.toolkit.fluxcd.io", "source.toolkit.fluxcd.io"
	kind := func(group, version, kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
	}
	for what, test := range map[string]struct {
		served []schema.GroupVersionKind
		flux   string
		reason string
	}{
		"all": {
			[]schema.GroupVersionKind{kind(helm, "v2", "HelmRelease"), kind(source, "v1", "OCIRepository"), kind(source, "v1", "HelmRepository")}, "",
			"what is used is there",
		},
		"nothing": {
			nil, "the cluster doesn't serve HelmRelease (helm.toolkit.fluxcd.io/v2): install Flux 2.6 or later", "Flux is absent",
		},
		"an older release": {
			[]schema.GroupVersionKind{kind(helm, "v2", "HelmRelease"), kind(source, "v1beta2", "OCIRepository"), kind(source, "v1", "HelmRepository")},
			"the cluster serves OCIRepository (source.toolkit.fluxcd.io) as v1beta2, not as v1: install Flux 2.6 or later",
			"Flux is too old for charts of OCI registries",
		},
		"without the source-controller": {
			[]schema.GroupVersionKind{kind(helm, "v2", "HelmRelease")},
			"the cluster doesn't serve OCIRepository (source.toolkit.fluxcd.io/v1): install Flux 2.6 or later", "a part of Flux is absent",
		},
	} {
		var versions []schema.GroupVersion
		for _, served := range test.served {
			versions = append(versions, served.GroupVersion())
		}
		mapper := meta.NewDefaultRESTMapper(versions)
		for _, served := range test.served {
			mapper.Add(served, meta.RESTScopeNamespace)
		}
		all, err := installed(mapper)
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if got := all[0]; got.Installed != (test.flux == "") || got.Message != test.flux {
			t.Errorf("%s: %+v, want %q, since %s", what, got, test.flux, test.reason)
		}
	}
}
