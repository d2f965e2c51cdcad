package window

import (
	"errors"
	"fmt"
	"time"
	_ "time/tzdata" // the operator's image has no time zone files

	"sigs.k8s.io/yaml"

	"tend.dev/tend/internal/core/timetable"
	"tend.dev/tend/internal/operator/identity"
)

// maxDuration is the longest duration of a window. A longer window would not protect anything.
const maxDuration = 7 * 24 * time.Hour

const example = `write it as {schedule: "0 2 * * 0", duration: 2h, timeZone: Europe/Berlin}`

// Window is a maintenance window. It opens at each time of a schedule and closes after a duration. A nil Window is
// always open.
type Window struct {
	schedule *timetable.Schedule
	duration time.Duration
}

// Of returns the window that an ApplicationInstance's annotations declare, or nil if they declare none.
func Of(annotations map[string]string) (*Window, error) {
	text, declared := annotations[identity.AnnotationMaintenanceWindow]
	if !declared {
		return nil, nil
	}
	w, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("the annotation %s is invalid: %w; %s", identity.AnnotationMaintenanceWindow, err, example)
	}
	return w, nil
}

func parse(text string) (*Window, error) {
	var fields struct {
		Schedule string `json:"schedule"`
		Duration string `json:"duration"`
		TimeZone string `json:"timeZone"`
	}
	if err := yaml.UnmarshalStrict([]byte(text), &fields); err != nil {
		return nil, errors.New("want an object with schedule, duration and timeZone")
	}
	schedule, err := timetable.Parse(fields.Schedule, fields.TimeZone)
	if err != nil {
		return nil, err
	}
	duration, err := time.ParseDuration(fields.Duration)
	if err != nil || duration < time.Minute || duration > maxDuration {
		return nil, fmt.Errorf("duration is %q, but must be from 1m to %s", fields.Duration, maxDuration)
	}
	return &Window{schedule: schedule, duration: duration}, nil
}

// Opens returns when the window next opens, in its time zone, or zero if it is open. The end is not part of the window.
func (w *Window) Opens(now time.Time) time.Time {
	if w == nil {
		return time.Time{}
	}
	// The first opening whose window has not ended. It is in the past if the window is open.
	at, comes := w.schedule.Next(now.Add(-w.duration))
	if comes && !at.After(now) {
		return time.Time{}
	}
	return at.In(w.schedule.Zone())
}
