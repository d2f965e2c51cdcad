package clusterjob

import (
	"testing"
	"time"

	"tend.dev/tend/api"
)

// TestAWrongClockHoldsNoJob: the clock was a day ahead when an operator was heard of, and when it renewed its job.
func TestAWrongClockHoldsNoJob(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	ahead := now.Add(25 * time.Hour)
	if _, worth := Heard(&api.ClusterContact{UID: "u", At: ahead}, "u", "", nil, now); !worth {
		t.Error("a contact is not written")
	}
	job, report := api.ClusterJob{UID: "u", ID: "j", ExpiresAt: now.Add(time.Hour)},
		api.ClusterReport{UID: "u", Job: "j", RenewedAt: ahead}
	if due, at := Due(job, &report, now); !due {
		t.Errorf("a job is not sent before %s", at)
	}
	if job.ExpiresAt = ahead.Add(Life); !over(job, now) {
		t.Error("a job lives longer than jobs do")
	}
}
