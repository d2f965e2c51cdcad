package job

import (
	"encoding/json"
	"fmt"
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/timetable"
	"tend.dev/tend/internal/store/records"
)

// declared is a parsed manifest. It is shared: don't modify it.
type declared struct {
	modified int64
	job      api.JobSpec
	// cron is nil for a job.
	cron         *api.CronJobSpec
	schedule     *timetable.Schedule
	scheduleHash string
}

// declarations caches the parsed manifest of each revision, and each schedule.
type declarations struct {
	mu        sync.Mutex
	manifests map[api.Ref]declared
	schedules map[[2]string]*timetable.Schedule // by text and zone
}

// maxDeclarations bounds the cache.
const maxDeclarations = 100_000

func newDeclarations() *declarations {
	return &declarations{manifests: map[api.Ref]declared{}, schedules: map[[2]string]*timetable.Schedule{}}
}

func (d *declarations) of(object records.Read[api.Object]) (declared, error) {
	ref := object.Value.Ref()
	d.mu.Lock()
	defer d.mu.Unlock()
	if known, ok := d.manifests[ref]; ok && known.modified == object.Modified && object.Modified != 0 {
		return known, nil
	}
	read, err := d.readLocked(*object.Value)
	if err != nil {
		return read, err
	}
	read.modified = object.Modified
	if len(d.manifests) >= maxDeclarations {
		clear(d.manifests)
		clear(d.schedules)
	}
	d.manifests[ref] = read
	return read, nil
}

func (d *declarations) readLocked(object api.Object) (out declared, err error) {
	if object.Kind == api.KindJob {
		out.job, err = api.DecodeSpec[api.JobSpec](object)
		return out, err
	}
	cron, err := api.DecodeSpec[api.CronJobSpec](object)
	if err != nil {
		return out, err
	}
	out.job, out.cron = cron.JobSpec, &cron
	key := [2]string{cron.Schedule, cron.Timezone}
	if out.schedule = d.schedules[key]; out.schedule == nil {
		if out.schedule, err = timetable.Parse(cron.Schedule, cron.Timezone); err != nil {
			return out, fmt.Errorf("schedule: %w", err)
		}
		d.schedules[key] = out.schedule
	}
	hash, _ := json.Marshal(key) // a list of strings
	out.scheduleHash = string(hash)
	return out, nil
}
