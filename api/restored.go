package api

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// StampRestored is a key of Metadata.Stamps, set when a server goes on over a restored store. On a cron job it is the
// time (RFC 3339) up to which due times are over, on a lab "<time>@<generation>". On a workload whose rollout the store
// shows unfinished it is a RestoredRelease.
const StampRestored = "restored"

// RestoredAt returns up to when the due times of a cron job, or of a lab, are over because of a restore; zero if there
// was none.
func (o Object) RestoredAt() time.Time {
	stamp, _, _ := strings.Cut(o.Metadata.Stamps[StampRestored], "@")
	at, _ := time.Parse(time.RFC3339, stamp) // a workload's stamp isn't a time
	return at
}

// RestoredLab returns the stamp of a lab that may have run before a restore.
func (o Object) RestoredLab(at time.Time) string {
	return fmt.Sprintf("%s@%d", at.Format(time.RFC3339Nano), o.Metadata.Generation)
}

// Redeclared reports whether the manifest of a lab was changed since a restore: by its generation, since the clock may
// have been set.
func (o Object) Redeclared() bool {
	_, stamped, _ := strings.Cut(o.Metadata.Stamps[StampRestored], "@")
	generation, err := strconv.ParseInt(stamped, 10, 64)
	return err == nil && o.Metadata.Generation > generation
}

// RestoredRelease is the last release of a workload whose commands may have run before a restore: they don't run by
// themselves. A release of a later generation is another one, whatever its number: people asked for it since.
type RestoredRelease struct {
	Number     int
	Generation int64
}

// String returns the value of the stamp, "<number>@<generation>".
func (r RestoredRelease) String() string { return fmt.Sprintf("%d@%d", r.Number, r.Generation) }

// Covers reports whether the commands of a release may have run before the restore.
func (r RestoredRelease) Covers(release Release) bool {
	return release.Number <= r.Number && release.Generation <= r.Generation
}

// RestoredRelease returns the one that a restore stamped; the zero value covers none. A stamp without a generation, of
// an earlier version, is of every generation.
func (o Object) RestoredRelease() RestoredRelease {
	number, generation, bounded := strings.Cut(o.Metadata.Stamps[StampRestored], "@")
	r := RestoredRelease{Generation: math.MaxInt64}
	r.Number, _ = strconv.Atoi(number) // a cron job's isn't a number
	if bounded {
		r.Generation, _ = strconv.ParseInt(generation, 10, 64)
	}
	return r
}
