package manifest

import (
	"errors"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/timetable"
)

// validateSchedule checks the schedule of a cron job: its grammar, and that this machine knows its time zone.
func validateSchedule(o api.Object) []api.FieldError {
	spec, err := api.DecodeSpec[api.CronJobSpec](o)
	if err != nil || spec.Schedule == "" {
		return nil // reported already
	}
	var faults []api.FieldError
	report := func(field string, err error) {
		faults = append(faults, api.FieldError{Object: o.Ref().String(), Field: field, Detail: err.Error()})
	}
	_, err = timetable.Parse(spec.Schedule, spec.Timezone)
	if zone := new(timetable.ZoneError); errors.As(err, &zone) {
		report("timezone", err)
		_, err = timetable.Parse(spec.Schedule, "") // the schedule's own faults don't depend on the zone
	}
	if err != nil {
		report("schedule", err)
	}
	return faults
}
