package simulation

import (
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/kinds/job"
	"tend.dev/tend/internal/store/records"
)

// cronTime is the longest silence of a cron job once the clock is right again: due times that passed while the clock
// was ahead are skipped for an hour at most, then the runs that began in that time.
const cronTime = 100 * time.Minute

// ticks requires that cron jobs continue after the clock was set.
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

// missed returns the number of due times that a cron job reports as missed.
func (w *World) missed(ref api.Ref) int {
	var status struct{ Missed int }
	decode(w.statusOf(ref).Status, &status)
	return status.Missed
}

// clockBehind returns the keys of the statuses that still report a clock that was set back; Tend clears that report by
// itself.
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
