package engine

import (
	"encoding/json"
	"time"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
)

// DefaultTimeout limits an operation without a timeout of its own.
const DefaultTimeout = 24 * time.Hour

// Timeout returns the time limit of the operation; 0 means none. It is the parameter timeoutSeconds, or else
// activeDeadlineSeconds, or else the default. A scheduled replication has no default: it never ends.
func Timeout(op *opsv1alpha1.Operation) time.Duration {
	var params struct {
		TimeoutSeconds        *int64 `json:"timeoutSeconds"`
		ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds"`
		Schedule              string `json:"schedule"`
	}
	if raw := op.Spec.Parameters; raw != nil && json.Unmarshal(raw.Raw, &params) != nil {
		return DefaultTimeout
	}
	switch {
	case params.TimeoutSeconds != nil:
		return time.Duration(*params.TimeoutSeconds) * time.Second
	case params.ActiveDeadlineSeconds != nil:
		return time.Duration(*params.ActiveDeadlineSeconds) * time.Second
	case params.Schedule != "":
		return 0
	}
	return DefaultTimeout
}
