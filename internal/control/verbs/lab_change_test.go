package verbs

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
)

// TestALateChangeOfALabIsWarnedOf: it is stored, as every apply is, and the answer says that it has no effect; a dry
// run's too.
func TestALateChangeOfALabIsWarnedOf(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		phase  api.LabPhase
		change func(*api.LabSpec)
		want   string
	}{
		"pending": {"its container isn't made yet", api.LabPending, func(s *api.LabSpec) { s.Image = "lab:2" }, ""},
		"running": {"it keeps its container", api.LabRunning,
			func(s *api.LabSpec) { s.Image, s.Env = "lab:2", map[string]string{"A": "1"} },
			"env, image: without effect, it runs"},
		"longer": {"its end moves", api.LabRunning, func(s *api.LabSpec) { s.Duration = "2h" }, ""},
		"ended": {"it never runs again", api.LabFailed, func(s *api.LabSpec) { s.Duration = "2h" },
			"duration: without effect, it has ended (FAILED)"},
		"same": {"it is applied again, and doesn't run", api.LabTimeout, func(*api.LabSpec) {},
			"it has ended (TIMEOUT)"},
		"goes on": {"nothing is changed", api.LabRunning, func(*api.LabSpec) {}, ""},
		"restarts": {"it has begun", api.LabRunning, func(s *api.LabSpec) { s.Start = "2030-01-01T00:00:00Z" },
			"start: without effect, it has begun"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mustApply(labObject("linux", "", "1h"))
			w.phase("linux", c.phase)
			object := labObject("linux", "", "1h")
			spec, _ := api.DecodeSpec[api.LabSpec](object)
			c.change(&spec)
			object.Spec, _ = json.Marshal(spec)
			for _, dry := range []bool{true, false} {
				result, err := w.service.Apply(context.Background(), []api.Object{object}, ApplyOptions{DryRun: dry})
				if err != nil {
					t.Fatal(err)
				}
				got := strings.Join(result.Objects[0].Warnings, "; ")
				if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
					t.Errorf("%s: dry run %v: warned %q, want %q", c.reason, dry, got, c.want)
				}
			}
		})
	}
}

// TestADurationBeyondTheBoundIsRefused: with what a lab was extended by it is longer than a lab may run.
func TestADurationBeyondTheBoundIsRefused(t *testing.T) {
	w := newWorld(t)
	w.mustApply(labObject("linux", "", "1h"))
	w.phase("linux", api.LabRunning)
	if _, err := w.service.ExtendLabs(t.Context(), labTarget("linux"), 30*time.Minute, "ada"); err != nil {
		t.Fatal(err)
	}
	_, err := w.service.Apply(t.Context(), []api.Object{labObject("linux", "", "720h")}, ApplyOptions{})
	wantReason(t, err, Invalid)
	if !strings.Contains(err.Error(), "extended by") {
		t.Errorf("%v", err)
	}
	w.mustApply(labObject("linux", "", "719h"))
}
