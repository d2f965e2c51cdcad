package control

import (
	"fmt"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/dependency"
	"tend.dev/tend/internal/store/records"
)

// Dependencies returns a function that reports the state of a workload to those that depend on it. A deployment or a
// statefulset is ready when its Ready condition is true for the newest generation; a job when its newest run succeeded
// with its newest release.
func Dependencies(s records.Snapshot) func(api.Ref) dependency.State {
	return func(ref api.Ref) dependency.State {
		object := s.Object(ref)
		switch {
		case !object.Exists():
			return dependency.State{Why: "it does not exist"}
		case object.Value.Metadata.Deleting():
			return dependency.State{Why: "it is being deleted"}
		case ref.Kind == api.KindJob:
			return jobState(s, object)
		}
		return workloadState(s, object)
	}
}

func workloadState(s records.Snapshot, object records.Read[api.Object]) dependency.State {
	status := s.WorkloadStatus(object.Value.Ref()).Value
	if status == nil || status.ObservedRevision < object.Modified {
		return dependency.State{Why: "its newest manifest is not reconciled yet"}
	}
	ready := api.FindCondition(status.Conditions, api.ConditionReady)
	if ready != nil && ready.Status == api.ConditionTrue {
		return dependency.State{Ready: true}
	}
	return dependency.State{Why: fmt.Sprintf("%d of %d replicas ready", min(status.Ready, status.Replicas),
		status.Replicas)}
}

func jobState(s records.Snapshot, object records.Read[api.Object]) dependency.State {
	ref := object.Value.Ref()
	status := s.JobStatus(ref).Value
	if status == nil || status.ObservedRevision < object.Modified {
		return dependency.State{Why: "its newest manifest is not reconciled yet"}
	}
	// While the image of its newest manifest is looked for, its last run is of an older release.
	if ready := api.FindCondition(status.Conditions, api.ConditionReady); ready != nil &&
		ready.Status != api.ConditionTrue {
		return dependency.State{Why: strings.TrimSuffix(ready.Reason+": "+ready.Message, ": ")}
	}
	switch {
	case status.LastRun == "":
		if spec, err := api.DecodeSpec[api.JobSpec](*object.Value); err == nil && spec.RunOnRelease {
			return dependency.State{Why: "it has yet to run"}
		}
		return dependency.State{Why: "it never ran; start it with `tend run`"}
	case status.LastState != api.RunSucceeded:
		return dependency.State{Why: fmt.Sprintf("its run %s: %s", status.LastRun, status.LastState)}
	}
	if run := s.Run(ref, status.LastRun).Value; run != nil && run.Release != status.Release {
		return dependency.State{Why: fmt.Sprintf("its run %s was of release %s, not %s", run.ID, run.Release,
			status.Release)}
	}
	return dependency.State{Ready: true}
}
