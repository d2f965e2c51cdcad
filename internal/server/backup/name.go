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

// incomplete follows the time in the name of a backup that lacks files.
const incomplete = "-incomplete"

// Name returns the name of the file of a cluster's backup.
func Name(cluster string, at time.Time, sealed bool) string {
	suffix := SuffixPlain
	if sealed {
		suffix = SuffixSealed
	}
	return "tend-" + cluster + "-" + at.UTC().Format(stamp) + suffix
}

// Incomplete returns the name of a backup that lacks files, given the name that it would have with them.
func Incomplete(name string) string {
	stem, rest, _ := strings.Cut(name, ".")
	return stem + incomplete + "." + rest
}

var named = pattern.Lazy(`^tend-([0-9a-f]+)-([0-9]{8}T[0-9]{6}Z)(` + incomplete + `)?\.tar\.zst(\.age)?$`)

// Superseded returns the names that a retention of keep files deletes: the cluster's own backups of the same sort as
// made, the one that was just made, except the newest keep. A backup that lacks files thus never replaces a whole one.
// A whole one also replaces those that lack files and are older than all whole ones that stay. Superseded never returns
// other names, nor made.
func Superseded(names []string, cluster, made string, keep int) (out []string) {
	sorts := map[bool][]string{}
	lacks := func(name string) bool {
		parts := named().FindStringSubmatch(name)
		return parts != nil && parts[3] != ""
	}
	for _, name := range names {
		if parts := named().FindStringSubmatch(name); parts != nil && parts[1] == cluster && name != made {
			sorts[parts[3] != ""] = append(sorts[parts[3] != ""], name)
		}
	}
	own := sorts[lacks(made)]
	slices.SortFunc(own, func(a, b string) int { return strings.Compare(b, a) }) // newest first
	stay := min(max(keep-1, 0), len(own))
	if !lacks(made) {
		oldest := slices.Min(append([]string{made}, own[:stay]...))
		for _, name := range sorts[true] {
			if name < oldest {
				out = append(out, name)
			}
		}
	}
	return append(out, own[stay:]...)
}
