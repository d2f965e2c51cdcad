package engine

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
)

// volsync creates a ReplicationSource or ReplicationDestination of VolSync, or a VolumeSnapshot: the copy without the
// replication.
type volsync struct{}

type volsyncParameters struct {
	Direction      string `json:"direction"`
	VolumeSnapshot bool   `json:"volumeSnapshot"`
	PVC            string `json:"pvc"`
	Schedule       string `json:"schedule"`
	Repository     struct {
		SecretName string `json:"secretName"`
		Type       string `json:"type"`
	} `json:"repository"`
	Retain              map[string]int64 `json:"retain"`
	CopyMethod          string           `json:"copyMethod"`
	VolumeSnapshotClass string           `json:"volumeSnapshotClassName"`
	RestoreAsOf         string           `json:"restoreAsOf"`
	Source              struct {
		PVC string `json:"sourcePVC"`
	} `json:"source"`
	Destination struct {
		PVC          string   `json:"destinationPVC"`
		Capacity     string   `json:"capacity"`
		AccessModes  []string `json:"accessModes"`
		StorageClass string   `json:"storageClassName"`
		RestoreAsOf  string   `json:"restoreAsOf"`
		Previous     *int64   `json:"previous"`
	} `json:"destination"`
}

// source reports whether the volume is read. A restore writes it.
func (p volsyncParameters) source(op *opsv1alpha1.Operation) bool {
	if p.Direction != "" {
		return p.Direction == "source"
	}
	return op.Spec.Type != opsv1alpha1.TypeRestore
}

func (volsync) Subject(req Request) (Subject, error) {
	params, err := decode[volsyncParameters](req)
	if err != nil {
		return Subject{}, err
	}
	kind := KindReplicationDestination
	switch {
	case params.VolumeSnapshot:
		kind = KindVolumeSnapshot
	case params.source(req.Operation):
		kind = KindReplicationSource
	}
	return owned(req, kind, ""), nil
}

func (v volsync) Object(req Request) (*unstructured.Unstructured, error) {
	params, err := decode[volsyncParameters](req)
	if err != nil {
		return nil, err
	}
	subject, err := v.Subject(req)
	if err != nil {
		return nil, err
	}
	if params.VolumeSnapshot {
		return object(req, subject, params.snapshot()), nil
	}
	if params.Repository.SecretName == "" {
		return nil, &RefusalError{Reason: opsv1alpha1.AcceptedValidationFailed, Message: "spec.parameters.repository is required: name the Secret of the restic repository"}
	}
	mover := map[string]any{"repository": params.Repository.SecretName}
	set(mover, "volumeSnapshotClassName", params.VolumeSnapshotClass)
	trigger := map[string]any{"manual": string(req.Operation.UID)}
	if params.Schedule != "" {
		trigger = map[string]any{"schedule": params.Schedule}
	}
	spec := map[string]any{"trigger": trigger, "restic": mover}
	if subject.GroupVersionKind == KindReplicationSource {
		spec["sourcePVC"] = cmp.Or(params.Source.PVC, params.PVC)
		mover["copyMethod"] = cmp.Or(params.CopyMethod, "Snapshot")
		if len(params.Retain) > 0 {
			keep := map[string]any{}
			for unit, n := range params.Retain {
				keep[unit] = n
			}
			mover["retain"] = keep
		}
	} else {
		params.destination(mover)
	}
	return object(req, subject, spec), nil
}

// destination sets where a restore writes, and which snapshot it reads from the repository. It writes into an existing
// volume, or into one that VolSync makes and leaves a snapshot of.
func (p volsyncParameters) destination(mover map[string]any) {
	to, method := p.Destination, "Direct"
	pvc := cmp.Or(to.PVC, p.PVC)
	if pvc == "" {
		method = "Snapshot"
	}
	mover["copyMethod"] = cmp.Or(p.CopyMethod, method)
	set(mover, "destinationPVC", pvc)
	set(mover, "capacity", to.Capacity)
	setList(mover, "accessModes", to.AccessModes)
	set(mover, "storageClassName", to.StorageClass)
	set(mover, "restoreAsOf", cmp.Or(to.RestoreAsOf, p.RestoreAsOf))
	setPointer(mover, "previous", to.Previous)
}

func (p volsyncParameters) snapshot() map[string]any {
	spec := map[string]any{"source": map[string]any{"persistentVolumeClaimName": cmp.Or(p.Source.PVC, p.PVC)}}
	set(spec, "volumeSnapshotClassName", p.VolumeSnapshotClass)
	return spec
}

func (v volsync) Observe(_ Request, observed *unstructured.Unstructured) Progress {
	if observed.GetKind() == KindVolumeSnapshot.Kind {
		return snapshotProgress(observed).with("volumeSnapshotName", observed.GetName()).
			with("volumeSnapshotContentName", text(observed, "status", "boundVolumeSnapshotContentName")).
			with("restoreSize", text(observed, "status", "restoreSize"))
	}
	return v.progress(observed).with("replicationName", observed.GetName()).
		with("lastSyncTime", text(observed, "status", "lastSyncTime")).
		with("latestImage", text(observed, "status", "latestImage", "name"))
}

// progress reads the status of a replication. One with a manual trigger ends with its sync; a scheduled one is idle
// between two. VolSync repeats failures, so only a timeout or a person ends it.
func (volsync) progress(observed *unstructured.Unstructured) Progress {
	synced := text(observed, "status", "lastSyncTime")
	manual := text(observed, "spec", "trigger", "manual")
	if manual != "" && text(observed, "status", "lastManualSync") == manual {
		return succeeded(opsv1alpha1.SucceededVolSync, "synchronized at "+synced)
	}
	syncing := conditionOf(observed, "Synchronizing")
	fault := cmp.Or(reconcileFault(observed), moverFault(observed))
	p := replication(manual, synced, syncing, cmp.Or(fault, syncing.Message))
	if paused, _, _ := unstructured.NestedBool(observed.Object, "spec", "paused"); paused {
		p = Progress{State: Suspended, Reason: opsv1alpha1.RunningVolSyncIdle, Message: "the replication is paused"}
		if fault != "" {
			p.Message += "; " + fault
		}
	}
	return p.repeated(opsv1alpha1.SucceededVolSyncFailed, fault)
}

// replication returns the progress of a replication whose last synchronization, if there was one, ended at a time.
func replication(manual, synced string, syncing condition, message string) Progress {
	switch {
	case syncing.Status == "" && synced == "" && message == "":
		return pending("VolSync has not begun: does its controller run?")
	case synced == "":
		return running(opsv1alpha1.RunningVolSyncFirstSync, cmp.Or(message, "the first synchronization is in progress"))
	case syncing.Status == "True":
		return running(opsv1alpha1.RunningVolSyncSynchronizing, cmp.Or(message, "a synchronization is in progress"))
	case manual != "": // a sync by an older trigger doesn't count
		return running(opsv1alpha1.RunningVolSyncFirstSync, cmp.Or(message, "the synchronization has not begun"))
	}
	return Progress{State: Idle, Reason: opsv1alpha1.SucceededVolSync, Message: cmp.Or(message, "synchronized at "+synced)}
}

// reconcileFault returns VolSync's error if it can't work on the replication; empty if it can.
func reconcileFault(observed *unstructured.Unstructured) string {
	for _, kind := range []string{"Reconciled", "Synchronizing"} {
		c := conditionOf(observed, kind)
		if c.Status == "False" && (kind == "Reconciled" || c.Reason == "Error") {
			return cmp.Or(c.Message, c.Reason)
		}
	}
	return ""
}

// moverFault returns the last log lines of a failed synchronization; empty if it didn't fail.
func moverFault(observed *unstructured.Unstructured) string {
	if text(observed, "status", "latestMoverStatus", "result") != "Failed" {
		return ""
	}
	return fmt.Sprintf("the last synchronization failed, VolSync repeats it: %s", text(observed, "status", "latestMoverStatus", "logs"))
}

// snapshotProgress reads the status of a VolumeSnapshot. Its controller repeats what failed, and removes the error once
// it has succeeded, so only a timeout or a person ends it.
func snapshotProgress(observed *unstructured.Unstructured) Progress {
	if ready, _, _ := unstructured.NestedBool(observed.Object, "status", "readyToUse"); ready {
		return succeeded(opsv1alpha1.SucceededVolumeSnapshot, "the snapshot is ready to use")
	}
	if fault := text(observed, "status", "error", "message"); fault != "" {
		return running(opsv1alpha1.RunningEngineStarted, fault).repeated(opsv1alpha1.SucceededVolumeSnapshotFailed, fault)
	}
	if text(observed, "status", "boundVolumeSnapshotContentName") == "" {
		return pending("the snapshot controller has not begun: does it run?")
	}
	return running(opsv1alpha1.RunningEngineStarted, "the snapshot is being taken")
}
