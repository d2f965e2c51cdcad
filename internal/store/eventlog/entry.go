package eventlog

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"tend.dev/tend/api"
)

// entry is the value of one key: the events of one commit. Reading adds the fields that all events of a log share.
type entry struct {
	Time   time.Time `json:"time"`
	Events []stored  `json:"events"`
}

// stored is one event as it is stored.
type stored struct {
	// Time is the event's own time, if it differs from the entry's.
	Time    *time.Time      `json:"time,omitempty"`
	Type    string          `json:"type"`
	Subject string          `json:"subject,omitempty"`
	Data    json.RawMessage `json:"data"`
}

// decode returns the events of an entry that was created at a revision.
func decode(source string, revision int64, value []byte) ([]api.Event, error) {
	var e entry
	if err := json.Unmarshal(value, &e); err != nil {
		return nil, fmt.Errorf("read the events of revision %d: %w", revision, err)
	}
	out := make([]api.Event, len(e.Events))
	for i, s := range e.Events {
		out[i] = api.Event{
			SpecVersion: api.EventSpecVersion, ID: Position{revision, i}.String(), Source: source,
			Type: s.Type, Subject: s.Subject,
			Time: e.Time, DataContentType: "application/json", Data: s.Data,
		}
		if s.Time != nil {
			out[i].Time = *s.Time
		}
	}
	return out, nil
}

// slot is the part of an entry that is known without its value.
type slot struct {
	// revision is the revision of the commit.
	revision int64
	// known is a revision that the writer had seen: keys are roughly in the order of the commits.
	known int64
	// at is the time of the write, in Unix milliseconds.
	at int64
	// subject is subjectHash of its one object, or anySubject for several.
	subject uint32
	// salt makes keys unique.
	salt uint32
	// size of the value in bytes.
	size uint32
}

// anySubject is the subject of an entry about several objects.
const anySubject = 0

// subjectHash returns the subject of entries about an object, of whatever kind.
func subjectHash(scope, name string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(scope + "/" + name))
	return max(h.Sum32(), anySubject+1)
}

// key returns the entry's key below a prefix.
func (s slot) key(prefix string) string {
	return fmt.Sprintf("%s%016x-%012x-%08x-%08x", prefix, s.known, s.at, s.subject, s.salt)
}

const keyParts = 4

// parseKey parses the key of an entry below its prefix.
func parseKey(rest string) (slot, bool) {
	parts := strings.Split(rest, "-")
	if len(parts) != keyParts {
		return slot{}, false
	}
	var fields [keyParts]uint64
	for i, bits := range [keyParts]int{63, 63, 32, 32} {
		n, err := strconv.ParseUint(parts[i], 16, bits)
		if err != nil {
			return slot{}, false
		}
		fields[i] = n
	}
	return slot{known: int64(fields[0]), at: int64(fields[1]), subject: uint32(fields[2]), salt: uint32(fields[3])}, true
}
