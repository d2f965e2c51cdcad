package link

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
)

const controllerFlux = "flux"

// controllers are the controllers that the operator relies on, each with the kinds it needs and the software to
// install.
var controllers = []struct {
	name, needed string
	kinds        []schema.GroupVersionKind
}{
	{controllerFlux, "Flux 2.6 or later", []schema.GroupVersionKind{
		{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"},
		{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "OCIRepository"},
		{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "HelmRepository"},
	}},
	{"velero", "Velero", []schema.GroupVersionKind{{Group: "velero.io", Version: "v1", Kind: "Backup"}}},
	{"argo-workflows", "Argo Workflows", []schema.GroupVersionKind{{Group: "argoproj.io", Version: "v1alpha1", Kind: "Workflow"}}},
	{"volsync", "VolSync", []schema.GroupVersionKind{{Group: "volsync.backube", Version: "v1alpha1", Kind: "ReplicationSource"}}},
}

// installed returns which controllers are installed: the cluster serves all of their kinds in the required versions.
func installed(mapper meta.RESTMapper) ([]opsv1alpha1.ControllerStatus, error) {
	var all []opsv1alpha1.ControllerStatus
	for _, c := range controllers {
		status := opsv1alpha1.ControllerStatus{Name: c.name, Installed: true}
		for _, kind := range c.kinds {
			missing, err := lacks(mapper, kind)
			if err != nil {
				return nil, err
			}
			if missing != "" {
				status.Installed, status.Message = false, fmt.Sprintf("%s: install %s", missing, c.needed)
				break
			}
		}
		all = append(all, status)
	}
	return all, nil
}

// lacks returns how a kind is missing, or an empty text. It may be missing entirely, or be served only in versions of
// another release.
func lacks(mapper meta.RESTMapper, kind schema.GroupVersionKind) (string, error) {
	_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err == nil {
		return "", nil
	}
	if !meta.IsNoMatchError(err) {
		return "", fmt.Errorf("look up %s: %w", kind.Kind, err)
	}
	others, err := mapper.RESTMappings(kind.GroupKind())
	if err != nil && !meta.IsNoMatchError(err) {
		return "", fmt.Errorf("look up %s: %w", kind.Kind, err)
	}
	var versions []string
	for _, other := range others {
		versions = append(versions, other.GroupVersionKind.Version)
	}
	if len(versions) == 0 {
		return fmt.Sprintf("the cluster doesn't serve %s (%s)", kind.Kind, kind.GroupVersion()), nil
	}
	return fmt.Sprintf("the cluster serves %s (%s) as %s, not as %s", kind.Kind, kind.Group, strings.Join(versions, ", "), kind.Version), nil
}
