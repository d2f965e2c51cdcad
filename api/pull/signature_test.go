package pull_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"tend.dev/tend/api/pull"
)

func keyOf(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(name))
	return ed25519.NewKeyFromSeed(seed[:])
}

// TestVerify: whatever is changed of a signed job, it is refused; so is one without a signature once a key is known.
func TestVerify(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 5, time.UTC)
	good := pull.Job{
		ID: "a", Kind: pull.KindApply, Payload: []byte(`{"a": 1, "b": "<&>"}`), IdempotencyKey: "k", Object: "u.1",
		CreatedAt: now, ExpiresAt: now.Add(time.Hour),
	}
	old, young := keyOf("old"), keyOf("young")
	signature, err := pull.Sign(good, "east", young, old)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		reason  string
		change  func(*pull.Job)
		cluster string
		keys    string
		want    error
	}{
		"good":      {"as it was signed", func(*pull.Job) {}, "east", pull.PublicKeys(young), nil},
		"old key":   {"a cluster that knows the key before", func(*pull.Job) {}, "east", pull.PublicKeys(old), nil},
		"both keys": {"one of them is enough", func(*pull.Job) {}, "east", pull.PublicKeys(keyOf("other"), old), nil},
		"no key":    {"nothing to check with", func(j *pull.Job) { j.Signature = "" }, "east", "", nil},
		"spaces": {"JSON may be written otherwise on the way",
			func(j *pull.Job) { j.Payload = []byte(`{"a":1,"b":"\u003c\u0026\u003e"}`) }, "east", pull.PublicKeys(old), nil},
		"zone": {"a time may be written otherwise",
			func(j *pull.Job) { j.CreatedAt = now.In(time.FixedZone("x", 3600)) }, "east", pull.PublicKeys(old), nil},
		"unsigned": {"no signature", func(j *pull.Job) { j.Signature = "" }, "east",
			pull.PublicKeys(old), pull.ErrUnsigned},
		"garbage": {"no base64", func(j *pull.Job) { j.Signature = "!" }, "east",
			pull.PublicKeys(old), pull.ErrSignature},
		"another key": {"signed by somebody else", func(*pull.Job) {}, "east",
			pull.PublicKeys(keyOf("other")), pull.ErrSignature},
		"another plan": {"another payload", func(j *pull.Job) { j.Payload = []byte(`{"a":2}`) }, "east",
			pull.PublicKeys(old), pull.ErrSignature},
		"another verb": {"another kind", func(j *pull.Job) { j.Kind = pull.KindDelete }, "east",
			pull.PublicKeys(old), pull.ErrSignature},
		"another id": {"another id", func(j *pull.Job) { j.ID = "b" }, "east", pull.PublicKeys(old), pull.ErrSignature},
		"another object": {"another version", func(j *pull.Job) { j.Object = "u.2" }, "east",
			pull.PublicKeys(old), pull.ErrSignature},
		"another key id": {"another idempotency key", func(j *pull.Job) { j.IdempotencyKey = "l" }, "east",
			pull.PublicKeys(old), pull.ErrSignature},
		"younger": {"another time", func(j *pull.Job) { j.CreatedAt = now.Add(time.Second) }, "east",
			pull.PublicKeys(old), pull.ErrSignature},
		"longer": {"a longer life", func(j *pull.Job) { j.ExpiresAt = now.Add(2 * time.Hour) }, "east",
			pull.PublicKeys(old), pull.ErrSignature},
		"elsewhere": {"a job of another cluster", func(*pull.Job) {}, "west", pull.PublicKeys(old), pull.ErrSignature},
	} {
		job := good
		job.Signature = signature
		test.change(&job)
		if err := pull.Verify(job, test.cluster, test.keys); !errors.Is(err, test.want) {
			t.Errorf("%s: %s: got %v, want %v", name, test.reason, err, test.want)
		}
	}
}
