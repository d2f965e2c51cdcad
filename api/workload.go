package api

import (
	"encoding/json"
	"fmt"
)

// WorkloadSpec is the common form of all kinds that run containers, as releases are read: what a kind lacks is zero.
type WorkloadSpec struct {
	DeploymentSpec
	// Claims are a statefulset's volumes.
	Claims []VolumeClaim
}

// DecodeWorkload reads the spec of a kind that runs containers, or of a release of it, leniently: it was validated when
// it was stored.
func DecodeWorkload(kind Kind, raw json.RawMessage) (WorkloadSpec, error) {
	var w WorkloadSpec
	var err error
	switch kind {
	case KindDeployment:
		err = json.Unmarshal(raw, &w.DeploymentSpec)
	case KindStatefulSet:
		var s StatefulSetSpec
		err = json.Unmarshal(raw, &s)
		w.DeploymentSpec, w.Claims = s.DeploymentSpec, s.VolumeClaims
	case KindJob, KindCronJob:
		var s JobSpec // of a cron job, what it runs
		err = json.Unmarshal(raw, &s)
		w.Container = s.Container
	case KindLab:
		var s LabSpec
		err = json.Unmarshal(raw, &s)
		w.DeploymentSpec = s.Workload()
	default:
		err = fmt.Errorf("%s runs no containers", kind)
	}
	if err != nil {
		return WorkloadSpec{}, fmt.Errorf("read the spec: %w", err)
	}
	return w, nil
}
