package pull_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"tend.dev/tend/api/pull"
)

// TestVerifyQuery: whatever is changed of a signed query, it is refused; also the signature of a job, and any query if
// the cluster knows no key.
func TestVerifyQuery(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 5, time.UTC)
	good := pull.Query{ID: "a", Namespace: "prod", Name: "web", Object: "u", Pod: "p", Container: "c", Tail: 7, Since: now,
		CreatedAt: now, ExpiresAt: now.Add(pull.QueryLife)}
	old, young := keyOf("old"), keyOf("young")
	var err error
	if good.Signature, err = pull.SignQuery(good, "east", young, old); err != nil {
		t.Fatal(err)
	}
	job := pull.Job{ID: "a", Kind: pull.KindApply, Payload: []byte(`{}`)}
	if job.Signature, err = pull.Sign(job, "east", young); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		reason  string
		change  func(*pull.Query)
		cluster string
		keys    string
		want    error
	}{
		"good":    {"as it was signed", func(*pull.Query) {}, "east", pull.PublicKeys(young), nil},
		"old key": {"a cluster that knows the key before", func(*pull.Query) {}, "east", pull.PublicKeys(old), nil},
		"zone": {"a time may be written otherwise",
			func(q *pull.Query) { q.Since = now.In(time.FixedZone("x", 3600)) }, "east", pull.PublicKeys(old), nil},
		"no key":      {"nothing to check with", func(*pull.Query) {}, "east", "", pull.ErrQuery},
		"unsigned":    {"no signature", func(q *pull.Query) { q.Signature = "" }, "east", pull.PublicKeys(old), pull.ErrQuery},
		"another key": {"not by this control plane", func(*pull.Query) {}, "east", pull.PublicKeys(keyOf("x")), pull.ErrQuery},
		"elsewhere":   {"another cluster's", func(*pull.Query) {}, "west", pull.PublicKeys(old), pull.ErrQuery},
		"a job's": {"the signature of something else",
			func(q *pull.Query) { q.Signature = job.Signature }, "east", pull.PublicKeys(young), pull.ErrQuery},
	} {
		asked := good
		test.change(&asked)
		if err := pull.VerifyQuery(asked, test.cluster, test.keys); !errors.Is(err, test.want) {
			t.Errorf("%s: %s: got %v, want %v", name, test.reason, err, test.want)
		}
	}
	changeEach(t, good, func(field string, changed pull.Query) {
		if err := pull.VerifyQuery(changed, "east", pull.PublicKeys(young, old)); !errors.Is(err, pull.ErrQuery) {
			t.Errorf("another %s: got %v, want a refusal", field, err)
		}
	})
}

// changeEach calls see with each field of a query changed, in the form in which it arrives.
func changeEach(t *testing.T, good pull.Query, see func(field string, changed pull.Query)) {
	t.Helper()
	for i := range reflect.TypeFor[pull.Query]().NumField() {
		changed := good
		field := reflect.ValueOf(&changed).Elem().Field(i)
		switch value := field.Interface().(type) {
		case string:
			field.SetString(value + "x")
		case int:
			field.SetInt(int64(value) + 1)
		case bool:
			field.SetBool(!value)
		case time.Time:
			field.Set(reflect.ValueOf(value.Add(time.Second)))
		default:
			t.Fatalf("a field of type %T", value)
		}
		if name := reflect.TypeFor[pull.Query]().Field(i).Name; name != "Signature" {
			text, err := json.Marshal(changed)
			if err == nil {
				changed = pull.Query{}
				err = json.Unmarshal(text, &changed)
			}
			if err != nil {
				t.Fatal(err)
			}
			see(name, changed)
		}
	}
}
