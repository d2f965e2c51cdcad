package api

import (
	"strconv"
	"time"
)

// StampRestored is a key of Metadata.Stamps, set when a server goes on over a restored store. On a cron job it is the
// time (RFC 3339) up to which due times are over. On a workload whose rollout the store shows unfinished it is the number
// of the last release whose commands may have run since: they don't run by themselves.
const StampRestored = "restored"

// RestoredAt returns up to when the due times of a cron job are over because of a restore; zero if there was none.
func (o Object) RestoredAt() time.Time {
	at, _ := time.Parse(time.RFC3339, o.Metadata.Stamps[StampRestored]) // a workload's is no time
	return at
}

// RestoredRelease returns the number of the last release of a workload whose commands may have run before a restore; 0 if
// there is none.
func (o Object) RestoredRelease() int {
	number, _ := strconv.Atoi(o.Metadata.Stamps[StampRestored]) // a cron job's is no number
	return number
}
