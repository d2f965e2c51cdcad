package agent

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
)

// TestAPullOutlivesARefusedReport: a pull that began while an older status of its image was under way is reported after
// its beginTime, also if the control plane refuses the older one.
func TestAPullOutlivesARefusedReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReporter(nil, slog.New(slog.DiscardHandler))
		owner := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
		failed := api.ImageStatus{Owner: owner, State: api.ImageFailed}
		reported := func() (out node.Report) {
			b, _ := r.take()
			for _, part := range b {
				part(&out)
			}
			return out
		}
		r.reportImage(api.ImageStatus{}, failed, time.Now())
		older := reported()
		r.reportImage(failed, api.ImageStatus{Owner: owner, State: api.ImagePulling}, time.Now())
		r.unsay(older)
		time.Sleep(beginTime)
		synctest.Wait()
		if got := reported().Images; len(got) != 1 || got[0].State != api.ImagePulling {
			t.Errorf("%+v is reported, want the pull", got)
		}
	})
}
