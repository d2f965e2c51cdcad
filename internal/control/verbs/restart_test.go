package verbs

import (
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// TestRestartOfAFailedRelease: if a newer release's command failed, a restart only retries that.
func TestRestartOfAFailedRelease(t *testing.T) {
	web := ref("prod", "web")
	status := func(release, reason string) api.WorkloadStatus {
		return api.WorkloadStatus{Release: release,
			Conditions: []api.Condition{{Type: api.ConditionProgressing, Status: api.ConditionFalse, Reason: reason}}}
	}
	for name, tc := range map[string]struct {
		reason  string
		status  api.WorkloadStatus
		retries string
	}{
		"failed":      {"it is tried again", status("v1", api.ReasonReleaseCommandFailed), "v2"},
		"first":       {"the first one too, nothing serves then", status("", api.ReasonReleaseCommandFailed), "v2"},
		"in force":    {"nothing failed", status("v2", "Complete"), ""},
		"rolled back": {"no command failed", status("v1", "RolledBack"), ""},
	} {
		w := newWorld(t)
		w.mustApply(deployment("prod", "web", `{}`))
		for _, id := range []string{"v1", "v2"} {
			w.put(records.ReleaseKey(web, id),
				api.Release{ID: id, Number: int(id[1] - '0'), Kind: web.Kind, Scope: web.Scope, Name: web.Name})
		}
		w.put(records.StatusKey(web), tc.status)
		result, err := w.service.Restart(t.Context(), Target{Name: "web"}, "")
		stamps := w.object(web).Metadata.Stamps
		if err != nil || result.Retries != tc.retries || (stamps[api.StampRetry] == "1") != (tc.retries != "") ||
			(stamps[api.StampRestart] == "1") != (tc.retries == "") {
			t.Errorf("%s: %s: %+v, %v, stamps %v", name, tc.reason, result, err, stamps)
		}
	}
}
