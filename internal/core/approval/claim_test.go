package approval_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/internal/core/approval"
	"tend.dev/tend/internal/core/approval/approvaltest"
)

var (
	secret = []byte("a secret of both sides")
	now    = time.Unix(1_800_000_000, 0)
	op     = approval.Operation{Namespace: "prod", Name: "restore", UID: "u-1",
		Parameters: []byte(`{"backupName": "b", "n": 1}`)}
)

// A claim that Python's json, base64 and hmac made.
const (
	foreignBody   = "eyJhdCI6IjIwMjYtMTEtMjVUMTI6MDA6MDBaIiwiYnkiOiJhZGEiLCJleHAiOjE4MDAwMDAwNjAsIm9wIjoicmVzdG9yZSIsInJpZCI6NywidiI6MX0"
	foreignDigest = "03603dd872c9f80bd766b38cc057d666a870f19d8fc97162522fb9ee0e33f2e5"
)

func TestVerify(t *testing.T) {
	good := approval.Claim{At: "2026-11-25T12:00:00Z", By: "ada", Expires: now.Unix() + 60,
		Operation: "restore", Request: 7}
	sign := func(change func(*approval.Claim), key []byte) string {
		claim := good
		change(&claim)
		text, err := approvaltest.Sign(claim, key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	same := func(*approval.Claim) {}
	tests := map[string]struct {
		reason string
		text   string
		secret []byte
		want   error
	}{
		"good": {"a claim for this operation", sign(same, secret), secret, nil},
		"another program's": {"the format is not this program's own", "vws1." + foreignBody + "." +
			foreignDigest, secret, nil},
		"last second": {"a claim is valid until its end, and in it",
			sign(func(c *approval.Claim) { c.Expires = now.Unix() }, secret), secret, nil},
		"bound": {"all that it is bound to is right",
			sign(func(c *approval.Claim) { c.Namespace, c.UID = "prod", "u-1" }, secret), secret, nil},
		"parameters": {"the parameters are those",
			sign(func(c *approval.Claim) { c.Parameters = digest(t, `{"n":1.0,"backupName":"b"}`) }, secret), secret, nil},
		"other parameters": {"the parameters were changed since",
			sign(func(c *approval.Claim) { c.Parameters = digest(t, `{"n":1,"backupName":"c"}`) }, secret), secret,
			approval.ErrParameters},
		"policy": {"the policy demands nothing, as it did",
			sign(func(c *approval.Claim) { c.Policy = digest(t, `{}`) }, secret), secret, nil},
		"other policy": {"a demand of the policy was removed since",
			sign(func(c *approval.Claim) { c.Policy = digest(t, `{"requireReady":true}`) }, secret), secret,
			approval.ErrPolicy},
		"none":         {"no claim", "", secret, approval.ErrMissing},
		"no secret":    {"nothing to check with", sign(same, secret), nil, approval.ErrNoSecret},
		"other secret": {"made with another secret", sign(same, []byte("x")), secret, approval.ErrForged},
		"changed body": {"one letter of the body is another", "vws1.f" + sign(same, secret)[6:],
			secret, approval.ErrForged},
		"upper case": {"the digest is in lower case", strings.ToUpper(sign(same, secret)[:4]) + sign(same, secret)[4:],
			secret, approval.ErrMalformed},
		"two parts":  {"a part is missing", "vws1.e30", secret, approval.ErrMalformed},
		"four parts": {"a part too many", sign(same, secret) + ".x", secret, approval.ErrMalformed},
		"other operation": {"the approval of another one", sign(func(c *approval.Claim) { c.Operation = "other" }, secret),
			secret, approval.ErrOther},
		"other namespace": {"bound to another namespace", sign(func(c *approval.Claim) { c.Namespace = "dev" }, secret),
			secret, approval.ErrOther},
		"other UID": {"an operation of the name that was deleted",
			sign(func(c *approval.Claim) { c.UID = "u-0" }, secret), secret, approval.ErrOther},
		"expired": {"a second too old", sign(func(c *approval.Claim) { c.Expires = now.Unix() - 1 }, secret),
			secret, approval.ErrExpired},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			claim, err := approval.Verify(test.text, test.secret, op, now)
			if !errors.Is(err, test.want) {
				t.Fatalf("%s: got %v, want %v", test.reason, err, test.want)
			}
			if err == nil && (claim.By != "ada" || claim.Request != 7) {
				t.Errorf("%s: got %+v", test.reason, claim)
			}
		})
	}
}

func digest(t *testing.T, parameters string) string {
	t.Helper()
	text, err := approval.Digest([]byte(parameters))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestDigestOfNone: an operation without parameters has those of the empty object, however that is written.
func TestDigestOfNone(t *testing.T) {
	for _, none := range []string{"", "null", " {} "} {
		if got, want := digest(t, none), digest(t, "{}"); got != want {
			t.Errorf("%q: %s, want %s", none, got, want)
		}
	}
}

// TestSignWritesWhatOthersRead compares with a body that was written by hand: sorted keys and no spaces.
func TestSignWritesWhatOthersRead(t *testing.T) {
	text, err := approval.Sign(approval.Claim{At: "2026-11-25T12:00:00Z", By: "ada", Expires: 1_800_000_060,
		Operation: "restore", Request: 7}, secret)
	if want := "vws1." + foreignBody + "." + foreignDigest; err != nil || text != want {
		t.Errorf("got %s (%v), want %s", text, err, want)
	}
}
