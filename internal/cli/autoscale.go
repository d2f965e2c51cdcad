package cli

import (
	"fmt"
	"io"
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

func describeAutoscale(w io.Writer, object api.Object, status *api.AutoscaleStatus, now time.Time) {
	a := autoscaleOf(object)
	if a == nil {
		return
	}
	fmt.Fprintf(w, "  autoscale %d to %d replicas, target %d %% CPU per pod", a.Min, a.Max, a.CPUTarget)
	if status == nil {
		fmt.Fprintln(w, "; not evaluated yet")
		return
	}
	fmt.Fprintf(w, "; %s: %s\n", status.Reason, status.Message)
	if status.Pods > 0 {
		fmt.Fprintf(w, "    %.1f %% over %d pods %s ago\n", status.CPUPercent, status.Pods, age(status.At, now))
	}
	for _, last := range []struct {
		what string
		at   time.Time
	}{{"up", status.LastUp}, {"down", status.LastDown}} {
		if !last.at.IsZero() {
			fmt.Fprintf(w, "    scaled %s %s ago\n", last.what, age(last.at, now))
		}
	}
}
