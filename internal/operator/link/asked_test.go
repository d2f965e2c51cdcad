package link

import (
	"context"
	"crypto/ed25519"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api/pull"
)

// TestAsked: nothing is read for a query that isn't the control plane's, is for another cluster, or comes too late.
func TestAsked(t *testing.T) {
	key, other := ed25519.NewKeyFromSeed(make([]byte, 32)), ed25519.NewKeyFromSeed([]byte(strings.Repeat("x", 32)))
	good := pull.Query{ID: "q", Namespace: "prod", Name: "web", Object: "u", Tail: 10, CreatedAt: noon, ExpiresAt: noon.Add(pull.QueryLife)}
	for name, test := range map[string]struct {
		reason  string
		change  func(*pull.Query)
		key     ed25519.PrivateKey
		cluster string
		keys    string
		later   time.Duration
		want    string
	}{
		"good":      {reason: "it is read"},
		"old":       {reason: "it has expired", later: pull.QueryLife, want: "came too late"},
		"other key": {reason: "not by this control plane", key: other, want: "not signed with a key"},
		"elsewhere": {reason: "another cluster's", cluster: "west", want: "not signed with a key"},
		"no keys":   {reason: "the cluster can't know whose it is", keys: "none", want: "not signed with a key"},
		"long": {reason: "it would count for ever", change: func(q *pull.Query) { q.ExpiresAt = noon.Add(time.Hour) },
			want: "more than a query may"},
		"much": {reason: "too many lines", change: func(q *pull.Query) { q.Tail = pull.MaxTail + 1 }, want: "more than a query may"},
		"less": {reason: "no number of lines", change: func(q *pull.Query) { q.Tail = -1 }, want: "more than a query may"},
	} {
		query, signer, of, keys := good, key, "east", pull.PublicKeys(key)
		if test.change != nil {
			test.change(&query)
		}
		if test.key != nil {
			signer = test.key
		}
		if test.cluster != "" {
			of = test.cluster
		}
		if test.keys != "" {
			keys = test.keys
		}
		var err error
		if query.Signature, err = pull.SignQuery(query, of, signer); err != nil {
			t.Fatal(err)
		}
		read := 0
		a := &asked{Cluster: "east", Keys: keys, Now: func() time.Time { return noon.Add(test.later) },
			Read: func(context.Context, pull.Query) pull.Answer { read++; return pull.Answer{} }}
		answer := a.Answer(t.Context(), query)
		switch {
		case test.want == "":
			if read != 1 || answer.Refusal != nil {
				t.Errorf("%s: %s: %+v", name, test.reason, answer.Refusal)
			}
		case read > 0 || answer.Refusal == nil || answer.Refusal.Reason != pull.RefusedQuery ||
			!strings.Contains(answer.Refusal.Message, test.want):
			t.Errorf("%s: %s: read %d times, %+v", name, test.reason, read, answer.Refusal)
		}
	}
}
