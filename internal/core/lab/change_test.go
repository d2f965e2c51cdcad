package lab

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
)

func TestUnheeded(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		phase  api.LabPhase
		fields string
		want   string
	}{
		"pending":         {"all of it counts", api.LabPending, "image start duration", ""},
		"new":             {"no phase yet", "", "image", ""},
		"longer":          {"the end of a running lab moves", api.LabRunning, "duration", ""},
		"route":           {"a route is made of what is declared now", api.LabRunning, "host port", ""},
		"container":       {"a running lab keeps its container, whatever else counts", api.LabRunning, "duration image env env", "env, image: without effect, it runs"},
		"start":           {"it has begun", api.LabRunning, "start", "start: without effect, it has begun"},
		"being made":      {"the next try takes it", api.LabProvisioning, "image", "image: its container is being made"},
		"ended":           {"nothing brings it back", api.LabTimeout, "duration", "duration: without effect, it has ended (TIMEOUT)"},
		"ended, whose":    {"the listing shows it, but it doesn't run", api.LabCompleted, "owner class", "it has ended (COMPLETED)"},
		"ended, the same": {"it is applied again, and doesn't run", api.LabTimeout, "", "it has ended (TIMEOUT)"},
		"failed":          {"it says so with its phase", api.LabFailed, "image host", "host, image: without effect, it has ended (FAILED)"},
		"nothing changed": {"no fields, no warning", api.LabRunning, "", ""},
	} {
		got := Unheeded(c.phase, strings.Fields(c.fields))
		if (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) || c.want != "" && !strings.Contains(got, "delete it and apply again") {
			t.Errorf("%s: %s: %q, want %q", name, c.reason, got, c.want)
		}
	}
}
