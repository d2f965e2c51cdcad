package cli

import (
	"fmt"
	"time"

	"tend.dev/tend/api"
)

// autoscaleOf returns the block of a deployment that has one.
func autoscaleOf(object api.Object) *api.Autoscale {
	if object.Kind != api.KindDeployment {
		return nil
	}
	spec, err := api.DecodeSpec[api.DeploymentSpec](object)
	if err != nil {
		return nil
	}
	return spec.Autoscale
}

// autoscaleText returns the use, the target and the bounds in short: 41%/70% 2-10.
func autoscaleText(object api.Object, status api.WorkloadStatus) string {
	a := autoscaleOf(object)
	if a == nil {
		return "-"
	}
	use := "?"
	if status.Autoscale != nil && status.Autoscale.Pods > 0 {
		use = fmt.Sprintf("%.0f%%", status.Autoscale.CPUPercent)
	}
	return fmt.Sprintf("%s/%d%% %d-%d", use, a.CPUTarget, a.Min, a.Max)
}

func describeAutoscale(w plain, object api.Object, status *api.AutoscaleStatus, now time.Time) {
	a := autoscaleOf(object)
	if a == nil {
		return
	}
	w.printf("  autoscale %d to %d replicas, target %d %% CPU per pod", a.Min, a.Max, a.CPUTarget)
	if status == nil {
		w.printf("; not evaluated yet\n")
		return
	}
	w.printf("; %s: %s\n", status.Reason, status.Message)
	if status.Pods > 0 {
		w.printf("    %.1f %% over %d pods %s ago\n", status.CPUPercent, status.Pods, age(status.At, now))
	}
	for _, last := range []struct {
		what string
		at   time.Time
	}{{"up", status.LastUp}, {"down", status.LastDown}} {
		if !last.at.IsZero() {
			w.printf("    scaled %s %s ago\n", last.what, age(last.at, now))
		}
	}
}
