package simulation

import (
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/kinds/job"
	"tend.dev/tend/internal/store/records"
)

// cronTime is the time for which a cron job may be silent once the clock is right again: runs due while it was ahead
// are skipped for an hour at most, and after that those that had begun while it was.
const cronTime = 100 * time.Minute

// ticks demands that cron jobs go on after the clock was set.
func (w *World) ticks() {
	began := time.Now()
	for _, object := range w.declaredObjects() {
		if object.Kind != api.KindCronJob || object.Metadata.Deleting() || w.clockSet.Load() == 0 {
			continue
		}
		before := w.missed(object.Ref())
		for !w.archive.scheduledSince(object.Ref(), began) && w.missed(object.Ref()) == before {
			if time.Since(began) > cronTime {
				w.fail("%s did nothing in %s, whatever its schedule says: %s", object.Ref(), cronTime,
					w.statusOf(object.Ref()).Status)
				return
			}
			w.pass(time.Minute)
		}
	}
}

// missed is the number of due times that a cron job says it has let pass.
func (w *World) missed(ref api.Ref) int {
	var status struct{ Missed int }
	decode(w.statusOf(ref).Status, &status)
	return status.Missed
}

// clockBehind are the keys of the statuses that still say that the clock was set back, which they take back by
// themselves.
func (w *World) clockBehind() []string {
	var out []string
	for _, object := range w.declaredObjects() {
		if object.Kind != api.KindCronJob {
			continue
		}
		conditions, _ := w.said(object.Ref())
		if behind := api.FindCondition(conditions, job.ConditionClockBehind); behind != nil &&
			behind.Status == api.ConditionTrue {
			out = append(out, records.StatusKey(object.Ref()))
		}
	}
	return out
}
