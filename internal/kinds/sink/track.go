package sink

import (
	"time"

	"tend.dev/tend/api"
)

// The shortest time between two writes of a sink's progress, and between two where only the filter left events out.
const (
	saveEvery = time.Second
	moveEvery = time.Minute
)

// hurry is the time in which a change of the progress must be stored.
type hurry int

const (
	unhurried hurry = iota
	normal
	urgentSave
)

// changes counts the changes of a progress, by their hurry.
type changes [urgentSave + 1]int

// track is the progress of a sink. The call that sends changes it and passes it to the steps, which store it.
type track struct {
	now     api.SinkProgress
	changes changes
}

func (t *track) change(h hurry, fn func(*api.SinkProgress)) {
	fn(&t.now)
	t.changes[h]++
}

// due returns how long to wait until the progress is to be written. unsaved is false if there is nothing to write.
func (k known) due(now time.Time) (wait time.Duration, unsaved bool) {
	switch {
	case k.changes == k.saved:
		return 0, false
	case k.changes[urgentSave] != k.saved[urgentSave]:
		return 0, true
	case k.changes[normal] != k.saved[normal]:
		return saveEvery - now.Sub(k.savedAt), true
	}
	return moveEvery - now.Sub(k.savedAt), true
}
