package records

import (
	"strings"
	"sync"

	"tend.dev/tend/api"
)

// texts keeps one copy of each text that many records contain: the names of scopes, workloads, nodes and releases,
// which each task and its status repeat. It drops texts that no recent record contains.
type texts struct {
	mu           sync.Mutex
	newer, older map[string]string
}

// manyTexts is the number of texts at which the unused ones are dropped.
const manyTexts = 1 << 15

var common texts

// one returns the kept copy of a text, and keeps it if it is new.
func (t *texts) one(s string) string {
	if s == "" {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if kept, ok := t.newer[s]; ok {
		return kept
	}
	if kept, ok := t.older[s]; ok {
		s = kept
	}
	if len(t.newer) >= manyTexts {
		t.older, t.newer = t.newer, nil
	}
	if t.newer == nil {
		t.newer = map[string]string{}
	}
	t.newer[s] = s
	return s
}

// share replaces a text by the common copy.
func share[S ~string](fields ...*S) {
	for _, field := range fields {
		*field = S(common.one(string(*field)))
	}
}

func decodeTask(key string, value []byte) (any, error) {
	t, err := decodeInto[api.Task](value)
	if err != nil {
		return nil, err
	}
	t.ID = sameText(t.ID, strings.TrimPrefix(key, TasksPrefix))
	share(&t.Kind)
	share(&t.Scope, &t.Name, &t.OwnerUID, &t.Release, &t.Restart, &t.Node, &t.Reason)
	share(&t.Class)
	share(&t.Role)
	share(&t.Desired)
	return t, nil
}

func decodeTaskStatus(key string, value []byte) (any, error) {
	s, err := decodeInto[api.TaskStatus](value)
	if err != nil {
		return nil, err
	}
	s.ID = sameText(s.ID, strings.TrimPrefix(key, ActualTasksPrefix))
	share(&s.Node, &s.Reason, &s.ImageID)
	share(&s.State)
	return s, nil
}

// sameText returns b's copy of a text if it is a's.
func sameText(a, b string) string {
	if a == b {
		return b
	}
	return a
}
