package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
)

// The kinds of objects that operations need, besides those that engines create.
var (
	KindSecret           = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	KindServiceAccount   = schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}
	KindClaim            = schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}
	KindSnapshotClass    = schema.GroupVersionKind{Group: "snapshot.storage.k8s.io", Version: "v1", Kind: "VolumeSnapshotClass"}
	KindWorkflowTemplate = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "WorkflowTemplate"}
)

// Need is an object that must exist before the operation starts: without it the engine would wait forever.
type Need struct {
	schema.GroupVersionKind
	// Namespace is empty for a kind without namespaces.
	Namespace, Name string
	// Reason is the reason of Blocked while the object does not exist.
	Reason string
	// Next says what to do about it.
	Next string
}

// String says that the object does not exist, and what to do.
func (n Need) String() string {
	if n.Namespace == "" {
		return fmt.Sprintf("the cluster has no %s %s: %s", n.Kind, n.Name, n.Next)
	}
	return fmt.Sprintf("the namespace %s has no %s %s: %s", n.Namespace, n.Kind, n.Name, n.Next)
}

// needed holds the parameters that name objects.
type needed struct {
	Repository struct {
		SecretName string `json:"secretName"`
	} `json:"repository"`
	Env []struct {
		ValueFrom struct {
			SecretKeyRef struct {
				Name     string `json:"name"`
				Optional bool   `json:"optional"`
			} `json:"secretKeyRef"`
		} `json:"valueFrom"`
	} `json:"env"`
	WorkflowTemplate    string `json:"workflowTemplate"`
	Template            string `json:"template"`
	PVC                 string `json:"pvc"`
	VolumeSnapshotClass string `json:"volumeSnapshotClassName"`
	Source              struct {
		PVC string `json:"sourcePVC"`
	} `json:"source"`
	Destination struct {
		PVC string `json:"destinationPVC"`
	} `json:"destination"`
}

// Needs returns the objects that the operation needs, by kind and name. Unreadable parameters name nothing.
func Needs(op *opsv1alpha1.Operation) []Need {
	var params needed
	if raw := op.Spec.Parameters; raw != nil && json.Unmarshal(raw.Raw, &params) != nil {
		return nil
	}
	all := params.secrets(op)
	switch op.Spec.Engine {
	case opsv1alpha1.EngineJob:
		all = append(all, runnerOf(op))
	case opsv1alpha1.EngineWorkflow:
		template := cmp.Or(params.WorkflowTemplate, params.Template)
		all = append(all, runnerOf(op), Need{KindWorkflowTemplate, op.Namespace, template,
			opsv1alpha1.BlockedDependencyMissing, "create it, or name another one in spec.parameters.workflowTemplate"})
	case opsv1alpha1.EngineVolSync:
		all = append(all, Need{KindClaim, op.Namespace, cmp.Or(params.Source.PVC, params.Destination.PVC, params.PVC),
			opsv1alpha1.BlockedDependencyMissing, "create it, or name another one in spec.parameters.pvc"})
		all = append(all, snapshotClass(params.VolumeSnapshotClass))
	case opsv1alpha1.EngineVelero:
		all = append(all, snapshotClass(SnapshotClassOf(op)))
	}
	all = slices.DeleteFunc(all, func(n Need) bool { return n.Name == "" })
	slices.SortStableFunc(all, func(a, b Need) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(all)
}

// secrets returns the Secret of a repository, and the Secrets of variables that are not optional.
func (p needed) secrets(op *opsv1alpha1.Operation) []Need {
	names := []string{p.Repository.SecretName}
	for _, variable := range p.Env {
		if ref := variable.ValueFrom.SecretKeyRef; !ref.Optional {
			names = append(names, ref.Name)
		}
	}
	all := make([]Need, len(names))
	for i, name := range names {
		all[i] = Need{KindSecret, op.Namespace, name, opsv1alpha1.BlockedMissingSecret, "create it: spec.parameters names it"}
	}
	return all
}

// runnerOf returns the service account of the operation's pods. The operator doesn't create it: the owner of the
// namespace decides what its pods may do.
func runnerOf(op *opsv1alpha1.Operation) Need {
	return Need{KindServiceAccount, op.Namespace, identity.RunnerServiceAccount, opsv1alpha1.BlockedRunnerMissing,
		fmt.Sprintf("kubectl create serviceaccount %s -n %s", identity.RunnerServiceAccount, op.Namespace)}
}

func snapshotClass(name string) Need {
	return Need{KindSnapshotClass, "", name, opsv1alpha1.BlockedMissingVolumeSnapClass, "name one of kubectl get volumesnapshotclasses"}
}
