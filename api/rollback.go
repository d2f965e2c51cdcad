package api

import (
	"fmt"
	"strings"
)

// RollbackKeepsConfig is the value of StampRollbackConfig for a rollback that leaves config as it is today.
const RollbackKeepsConfig = "kept"

// What was done to a config value since a release was made.
const (
	ConfigAdded   = "added"
	ConfigChanged = "changed"
	ConfigRemoved = "removed"
)

// ConfigDifference names a config value that was changed after a release was made. It never holds the value.
type ConfigDifference struct {
	// Key is the key of a bucket, or the variable of the manifest that refers to one by ${config.…}.
	Key string `json:"key"`
	// Since is the change to it: added, changed or removed.
	Since string `json:"since"`
}

// ConfigDifferences are sorted by key.
type ConfigDifferences []ConfigDifference

// mostDifferences bounds how many keys a text names.
const mostDifferences = 20

// String lists the keys: "DB_PASSWORD changed, API_KEY removed".
func (d ConfigDifferences) String() string {
	var texts []string
	for i, difference := range d {
		if i == mostDifferences {
			texts = append(texts, fmt.Sprintf("and %d more", len(d)-i))
			break
		}
		texts = append(texts, difference.Key+" "+difference.Since)
	}
	return strings.Join(texts, ", ")
}
