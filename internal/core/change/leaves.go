package change

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"tend.dev/tend/api"
)

// maxValue bounds a shown value, maxPath a path; both are in bytes.
const (
	maxValue = 80
	maxPath  = 120
)

// leaves collects the fields that changed. A leaf is a scalar, a list (changed whole) or an empty block.
type leaves struct {
	// shows reports whether the values of a field may be shown: they can't be secret.
	shows func(path string) bool
	// skip is a field that is left out.
	skip  string
	found []api.EventChange
}

// compare adds the fields in which two values differ; a nil value is an absent one.
func (l *leaves) compare(path string, old, next json.RawMessage) {
	if bytes.Equal(old, next) || l.skip != "" && path == l.skip {
		return
	}
	before, wasBlock := block(old)
	after, isBlock := block(next)
	if (wasBlock || len(old) == 0) && (isBlock || len(next) == 0) && len(before)+len(after) > 0 {
		for key, value := range before {
			l.compare(below(path, key), value, after[key])
		}
		for key, value := range after {
			if _, both := before[key]; !both {
				l.compare(below(path, key), nil, value)
			}
		}
		return
	}
	l.add(path, old, next)
}

func block(value json.RawMessage) (map[string]json.RawMessage, bool) {
	if trimmed := bytes.TrimSpace(value); len(trimmed) == 0 || trimmed[0] != '{' {
		return nil, false
	}
	var out map[string]json.RawMessage
	return out, json.Unmarshal(value, &out) == nil
}

func (l *leaves) add(path string, old, next json.RawMessage) {
	change := api.EventChange{Path: Cut(path, maxPath)}
	if (l.shows(path) || isStatus(path) && isNumber(old) && isNumber(next)) && showable(old) && showable(next) {
		change.Old, change.New = old, next
	}
	l.found = append(l.found, change)
}

// list returns the fields ordered by path, and how many it leaves out.
func (l *leaves) list() (shown []api.EventChange, more int) {
	slices.SortFunc(l.found, func(a, b api.EventChange) int { return strings.Compare(a.Path, b.Path) })
	n := min(len(l.found), api.MaxEventChanges)
	return l.found[:n:n], len(l.found) - n
}

// showable reports whether a value is short, a scalar, and no URL with a password. A list of short texts counts as one.
func showable(value json.RawMessage) bool {
	return len(value) <= maxValue && !bytes.HasPrefix(value, []byte("{")) && !bytes.ContainsRune(value, '@')
}

func isStatus(path string) bool { return strings.HasPrefix(path, "status.") }

// isNumber reports whether a value is a number, or absent.
func isNumber(value json.RawMessage) bool {
	var number json.Number
	return len(value) == 0 || value[0] != '"' && json.Unmarshal(value, &number) == nil
}

// nothing shows no value.
func nothing(string) bool { return false }

// public are the fields of specs whose values can't be secret, by the first name of their path.
var public = map[string]bool{
	"replicas": true, "image": true, "mode": true, "ports": true, "restart": true, "keep_releases": true, "strategy": true,
	"autoscale": true, "placement": true, "resources": true, "schedule": true, "timezone": true, "suspend": true,
	"concurrency_policy": true, "starting_deadline": true, "timeout": true, "retries": true, "run_on_release": true,
	"successful_history_limit": true,
	"failed_history_limit":     true, "host": true, "service": true, "port": true, "availability": true, "duration": true,
	"start": true, "stop_grace_period": true, "network_mode": true, "read_only": true, "subnet": true, "mtu": true,
}

// rollbackStamp names the release that a rollback returns to.
const rollbackStamp = "metadata.stamps." + api.StampRollback

func specShows(path string) bool {
	if path == rollbackStamp {
		return true
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "spec."), ".")
	return public[first]
}

// statusPublic are the texts of statuses that are shown; numbers always are.
var statusPublic = map[string]bool{
	"phase": true, "release": true, "image": true, "lastState": true, "lastRun": true, "nextRun": true,
	"targetRelease": true, "lastGoodRelease": true, "url": true,
}

// below returns the path of a field of a block.
func below(path, key string) string {
	for i, r := range key {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return path + "[" + strconv.Quote(key) + "]"
		}
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// Cut returns a text of at most a number of bytes, with an ellipsis where it was cut, and no half characters.
func Cut(text string, most int) string {
	const ellipsis = "…"
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(ellipsis)], "") + ellipsis
}
