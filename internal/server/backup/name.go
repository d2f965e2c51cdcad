package backup

import (
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api/pattern"
)

// stamp is the form of the time in a name: it sorts by time.
const stamp = "20060102T150405Z"

// The ends of names.
const (
	SuffixPlain  = ".tar.zst"
	SuffixSealed = ".tar.zst.age"
)

// Name returns the name of the file of a cluster's backup.
func Name(cluster string, at time.Time, sealed bool) string {
	suffix := SuffixPlain
	if sealed {
		suffix = SuffixSealed
	}
	return "tend-" + cluster + "-" + at.UTC().Format(stamp) + suffix
}

var named = pattern.Lazy(`^tend-([0-9a-f]+)-([0-9]{8}T[0-9]{6}Z)\.tar\.zst(\.age)?$`)

// Superseded returns the names that a retention of keep files deletes: the cluster's own backups except the newest
// keep. It never returns other names, nor made, the backup that was just made.
func Superseded(names []string, cluster, made string, keep int) (out []string) {
	var own []string
	for _, name := range names {
		if parts := named().FindStringSubmatch(name); parts != nil && parts[1] == cluster && name != made {
			own = append(own, name)
		}
	}
	slices.SortFunc(own, func(a, b string) int { return strings.Compare(b, a) }) // newest first
	if own = own[min(max(keep-1, 0), len(own)):]; len(own) == 0 {
		return nil
	}
	return own
}
