package engine

import (
	"encoding/json"
	"time"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
)

// DefaultTimeout is how long an operation may take that does not say how long.
const DefaultTimeout = 24 * time.Hour

// Timeout returns how long the operation may take; 0 is without a limit. That is the parameter timeoutSeconds, or else
// activeDeadlineSeconds, or else the default, which a replication on a schedule does not have: it never ends.
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
