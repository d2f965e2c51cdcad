package webhook

import (
	"fmt"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/deadline"
)

// The times of a delivery.
const (
	// AttemptTime limits one attempt.
	AttemptTime = 10 * time.Second
	// Attempts is the most attempts of a delivery.
	Attempts = 4
	// Stale is the age from which a call is no longer started: after a long downtime it is of no use.
	Stale = time.Hour
	// Kept is the time for which a delivery's record stays after it ended.
	Kept = time.Hour
)

var waits = [Attempts - 1]time.Duration{time.Second, 5 * time.Second, 30 * time.Second}

// Answer is the result of an attempt.
type Answer struct {
	// Status is the HTTP status; 0 if there was no answer.
	Status int
	// Err says why there was none. It contains no more of the address than its host.
	Err error
	// Final is set if a retry is useless: the request can't even be made.
	Final bool
	// After is the time that the receiver asks to wait before the next attempt (Retry-After, in seconds); 0 if it
	// doesn't.
	After time.Duration
}

// Next returns a delivery after an attempt. spread, from 0 to 1, is the position of the next attempt within the jitter.
func Next(d api.Delivery, a Answer, now time.Time, spread float64) api.Delivery {
	d.Attempts++
	d.StatusCode, d.Error, d.NextTryAt = a.Status, a.text(), time.Time{}
	switch {
	case a.delivered():
		d.State, d.EndedAt = api.DeliveryDelivered, now
	case a.again() && d.Attempts < Attempts:
		wait := waits[d.Attempts-1]
		d.NextTryAt = now.Add(wait + time.Duration(spread*0.2*float64(wait)))
	default:
		d.State, d.EndedAt = api.DeliveryFailed, now
	}
	return d
}

// Rests returns for how long a delivery is not tried again; 0 if it may be now.
func Rests(d api.Delivery, now time.Time) time.Duration {
	return deadline.Left(d.NextTryAt, now, slices.Max(waits[:])*6/5)
}

// GiveUp returns a delivery that is not retried, with the reason.
func GiveUp(d api.Delivery, reason string, now time.Time) api.Delivery {
	d.State, d.Error, d.EndedAt, d.NextTryAt = api.DeliveryFailed, reason, now, time.Time{}
	return d
}

func (a Answer) delivered() bool { return a.Err == nil && a.Status >= 200 && a.Status < 300 }

func (a Answer) again() bool {
	const timeout, tooEarly, tooMany = 408, 425, 429
	switch a.Status {
	case 0, timeout, tooEarly, tooMany:
		return !a.Final
	}
	return a.Status >= 500
}

func (a Answer) text() string {
	switch {
	case a.Err != nil:
		return a.Err.Error()
	case a.delivered():
		return ""
	}
	return fmt.Sprintf("the receiver answered %d", a.Status)
}
