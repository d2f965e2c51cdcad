package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
)

// velero creates a Backup or a Restore of Velero.
type velero struct{}

type backupParameters struct {
	Retention         string   `json:"retention"`
	TTL               string   `json:"ttl"`
	SnapshotClass     string   `json:"snapshotClassName"`
	CSISnapshotClass  string   `json:"csiSnapshotClassName"`
	SnapshotVolumes   *bool    `json:"snapshotVolumes"`
	StorageLocation   string   `json:"storageLocation"`
	IncludedResources []string `json:"includedResources"`
	ExcludedResources []string `json:"excludedResources"`
}

type restoreParameters struct {
	BackupName             string            `json:"backupName"`
	NamespaceMapping       map[string]string `json:"namespaceMapping"`
	RestorePVs             *bool             `json:"restorePVs"`
	ExistingResourcePolicy string            `json:"existingResourcePolicy"`
	IncludedResources      []string          `json:"includedResources"`
	ExcludedResources      []string          `json:"excludedResources"`
}

func (velero) Subject(req Request) (Subject, error) {
	kind := KindBackup
	if req.Operation.Spec.Type == opsv1alpha1.TypeRestore {
		kind = KindRestore
	}
	return owned(req, kind, req.VeleroNamespace), nil
}

func (v velero) Object(req Request) (*unstructured.Unstructured, error) {
	subject, err := v.Subject(req)
	if err != nil {
		return nil, err
	}
	spec, err := v.spec(req)
	if err != nil {
		return nil, err
	}
	made := object(req, subject, spec)
	if class := SnapshotClassOf(req.Operation); class != "" && req.SnapshotDriver != "" {
		made.SetAnnotations(map[string]string{snapshotClassAnnotation + strings.ToLower(req.SnapshotDriver): class})
	}
	return made, nil
}

// snapshotClassAnnotation is the prefix of the annotation of a Backup by which Velero chooses a VolumeSnapshotClass.
// The driver of the class follows: a Backup can have volumes of several drivers, and has no field for the class.
const snapshotClassAnnotation = "velero.io/csi-volumesnapshot-class_"

// SnapshotClassOf returns the VolumeSnapshotClass that a Velero backup names, or an empty name.
func SnapshotClassOf(op *opsv1alpha1.Operation) string {
	if op.Spec.Engine != opsv1alpha1.EngineVelero || op.Spec.Type != opsv1alpha1.TypeBackup {
		return ""
	}
	params, err := decode[backupParameters](Request{Operation: op})
	if err != nil {
		return ""
	}
	return cmp.Or(params.CSISnapshotClass, params.SnapshotClass)
}

// DefaultStorageLocation is the BackupStorageLocation of a backup that names none.
const DefaultStorageLocation = "default"

// VeleroNamespace returns the namespace of Velero, chosen from the namespaces with a BackupStorageLocation: the
// operation's own, or the only one.
func VeleroNamespace(own string, withLocation []string) (string, error) {
	all := slices.Compact(slices.Sorted(slices.Values(withLocation)))
	switch {
	case slices.Contains(all, own):
		return own, nil
	case len(all) == 1:
		return all[0], nil
	case len(all) == 0:
		return "", errors.New("no namespace has a BackupStorageLocation for backups: velero backup-location create")
	}
	return "", fmt.Errorf("several namespaces have a BackupStorageLocation: start the operator with --velero-namespace, one of %s",
		strings.Join(all, ", "))
}

func (velero) spec(req Request) (map[string]any, error) {
	if req.Operation.Spec.Type == opsv1alpha1.TypeRestore {
		return restoreSpec(req)
	}
	params, err := decode[backupParameters](req)
	if err != nil {
		return nil, err
	}
	spec := map[string]any{
		"includedNamespaces": []any{req.Operation.Namespace},
		"storageLocation":    cmp.Or(params.StorageLocation, DefaultStorageLocation),
	}
	if keep := cmp.Or(params.Retention, params.TTL); keep != "" {
		ttl, err := Duration(keep)
		if err != nil {
			return nil, &RefusalError{Reason: opsv1alpha1.AcceptedValidationFailed, Message: "spec.parameters.retention: " + err.Error()}
		}
		spec["ttl"] = ttl.String()
	}
	setPointer(spec, "snapshotVolumes", params.SnapshotVolumes)
	setList(spec, "includedResources", params.IncludedResources)
	setList(spec, "excludedResources", params.ExcludedResources)
	return spec, nil
}

// restoreSpec restores only into the target's namespace: from a backup of that namespace, or of namespaces that
// namespaceMapping maps to it.
func restoreSpec(req Request) (map[string]any, error) {
	params, err := decode[restoreParameters](req)
	if err != nil {
		return nil, err
	}
	namespaces := []string{req.Operation.Namespace}
	if len(params.NamespaceMapping) > 0 {
		namespaces = slices.Sorted(maps.Keys(params.NamespaceMapping))
	}
	spec := map[string]any{"backupName": params.BackupName, "includedNamespaces": anyList(namespaces)}
	for from, to := range params.NamespaceMapping {
		if to != req.Operation.Namespace {
			return nil, &RefusalError{Reason: opsv1alpha1.AcceptedValidationFailed, Message: fmt.Sprintf(
				"spec.parameters.namespaceMapping: %s is mapped to %s: an operation restores only into its own namespace %s",
				from, to, req.Operation.Namespace)}
		}
		spec["namespaceMapping"] = anyMap(params.NamespaceMapping)
	}
	setPointer(spec, "restorePVs", params.RestorePVs)
	set(spec, "existingResourcePolicy", params.ExistingResourcePolicy)
	setList(spec, "includedResources", params.IncludedResources)
	setList(spec, "excludedResources", params.ExcludedResources)
	return spec, nil
}

// Duration parses a Go duration, or a number of days such as 30d, which Velero doesn't support.
func Duration(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil || n == 0 {
			return 0, fmt.Errorf("%q is not a number of days: write it as 30d or 720h", s)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a duration: write it as 30d or 720h", s)
	}
	return d, nil
}

func (v velero) Observe(req Request, observed *unstructured.Unstructured) Progress {
	name := "backupName"
	if req.Operation.Spec.Type == opsv1alpha1.TypeRestore {
		name = "restoreName"
	}
	p := v.progress(observed, observed.GetKind() == KindRestore.Kind).with(name, observed.GetName())
	if p.State == Succeeded {
		p = p.with("storageLocation", text(observed, "spec", "storageLocation")).
			with("backupItemCount", count(observed, "status", "progress", "totalItems")).
			with("warnings", count(observed, "status", "warnings")).
			with("errors", count(observed, "status", "errors"))
	}
	return p
}

func (velero) progress(observed *unstructured.Unstructured, restore bool) Progress {
	inProgress, completed, broken := opsv1alpha1.RunningBackupInProgress, opsv1alpha1.SucceededBackup,
		opsv1alpha1.FailedBackup
	if restore {
		inProgress, completed, broken = opsv1alpha1.RunningRestoreInProgress, opsv1alpha1.SucceededRestore,
			opsv1alpha1.FailedEngine
	}
	switch phase := text(observed, "status", "phase"); phase {
	case "", "New", "Queued", "ReadyToStart":
		return pending("Velero has not begun: does it run in the namespace " + observed.GetNamespace() + "?")
	case "Completed":
		return succeeded(completed, "Velero has completed")
	case "PartiallyFailed":
		message := fmt.Sprintf("Velero has completed, with errors (%d) and warnings (%d): see its log",
			number(observed, "status", "errors"), number(observed, "status", "warnings"))
		if restore { // a partial restore misses data
			return failed(broken, message)
		}
		return succeeded(opsv1alpha1.SucceededBackupPartially, message)
	case "Failed", "FinalizingFailed":
		return failed(broken, cmp.Or(text(observed, "status", "failureReason"), "Velero failed: see its log"))
	case "FailedValidation":
		faults, _, _ := unstructured.NestedStringSlice(observed.Object, "status", "validationErrors")
		reason := opsv1alpha1.AcceptedBackupInvalid
		if restore {
			reason = opsv1alpha1.AcceptedValidationFailed
		}
		return Progress{State: Rejected, Reason: reason, Message: cmp.Or(strings.Join(faults, "; "), "Velero refused it")}
	default: // InProgress, WaitingForPluginOperations, Finalizing, their PartiallyFailed variants, Deleting
		return running(inProgress, "Velero: "+phase)
	}
}
