package window

import (
	"errors"
	"fmt"
	"time"
	_ "time/tzdata" // the operator's image has no files of time zones

	"sigs.k8s.io/yaml"

	"tend.dev/tend/internal/core/timetable"
	"tend.dev/tend/internal/operator/identity"
)

// maxDuration is the longest duration of a window. A window that is longer is no protection.
const maxDuration = 7 * 24 * time.Hour

const example = `write it as {schedule: "0 2 * * 0", duration: 2h, timeZone: Europe/Berlin}`

// Window is a maintenance window: it opens at each time of a schedule, and closes after a duration. A nil Window is
// always open.
type Window struct {
	schedule *timetable.Schedule
	duration time.Duration
}

// Of returns the window that the annotations of an ApplicationInstance declare, or nil if they declare none.
func Of(annotations map[string]string) (*Window, error) {
	text, declared := annotations[identity.AnnotationMaintenanceWindow]
	if !declared {
		return nil, nil
	}
	w, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("the annotation %s is wrong: %w; %s", identity.AnnotationMaintenanceWindow, err, example)
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
		return nil, errors.New("it is no object of schedule, duration and timeZone")
	}
	schedule, err := timetable.Parse(fields.Schedule, fields.TimeZone)
	if err != nil {
		return nil, err
	}
	duration, err := time.ParseDuration(fields.Duration)
	if err != nil || duration < time.Minute || duration > maxDuration {
		return nil, fmt.Errorf("duration is %q, and must be from 1m to %s", fields.Duration, maxDuration)
	}
	return &Window{schedule: schedule, duration: duration}, nil
}

// Opens returns when the window opens next, in its time zone, or zero if it is open. Its end does not belong to it.
func (w *Window) Opens(now time.Time) time.Time {
	if w == nil {
		return time.Time{}
	}
	// The first opening that is not over yet: it is past if the window is open.
	at, comes := w.schedule.Next(now.Add(-w.duration))
	if comes && !at.After(now) {
		return time.Time{}
	}
	return at.In(w.schedule.Zone())
}
