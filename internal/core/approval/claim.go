package approval

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// The ways in which a claim is not valid.
var (
	// ErrMissing means that the operation needs a claim and has none.
	ErrMissing = errors.New("an approval is required: tend approve, or set spec.approvals.claim")
	// ErrNoSecret means that the operator has no secret to check claims with.
	ErrNoSecret = errors.New("the operator has no secret to check claims with: register the cluster again with tend clusters add, or set --approval-claim-secret")
	// ErrMalformed means that the text isn't a claim.
	ErrMalformed = errors.New("spec.approvals.claim is not a vws1 claim: ask for another one")
	// ErrForged means that the claim was not made with the operator's secret.
	ErrForged = errors.New("the digest of spec.approvals.claim is wrong: ask for another one")
	// ErrOther means that the claim approves another operation.
	ErrOther = errors.New("spec.approvals.claim approves another operation")
	// ErrParameters means that the parameters are not those that were approved.
	ErrParameters = errors.New("spec.parameters are not those that spec.approvals.claim approves: ask for another claim")
	// ErrPolicy means that the policy is not the one that was approved.
	ErrPolicy = errors.New("spec.policy is not the one that spec.approvals.claim approves: ask for another claim")
	// ErrExpired means that the claim is too old.
	ErrExpired = errors.New("spec.approvals.claim has expired: ask for another one")
)

const (
	prefix  = "vws1"
	version = 1
)

// Claim describes what a person approved. The fields are in the order of their keys, which the digest depends on.
type Claim struct {
	// At is the time of the approval, in RFC 3339.
	At string `json:"at"`
	// By is the approver.
	By string `json:"by"`
	// Expires is the end of the claim, in seconds since 1970. It doesn't affect an operation that has started.
	Expires int64 `json:"exp"`
	// Namespace is the operation's namespace. An empty one means any: older control planes leave it out.
	Namespace string `json:"ns,omitempty"`
	// Operation is the operation's name.
	Operation string `json:"op"`
	// Parameters is the Digest of the operation's parameters. An empty one means any.
	Parameters string `json:"par,omitempty"`
	// Policy is the Digest of the operation's policy. An empty one means any.
	Policy string `json:"pol,omitempty"`
	// Request identifies the approval in the control plane.
	Request int64 `json:"rid"`
	// UID identifies the one operation of that name. An empty one means any.
	UID string `json:"uid,omitempty"`
	// Version is 1.
	Version int `json:"v"`
	// Why is the person's reason.
	Why string `json:"why,omitempty"`
}

// Sign returns the claim as text.
func Sign(claim Claim, secret []byte) (string, error) {
	claim.Version = version
	plain, err := json.Marshal(claim)
	if err != nil {
		return "", fmt.Errorf("write the claim: %w", err)
	}
	body := base64.RawURLEncoding.EncodeToString(plain)
	return prefix + "." + body + "." + hex.EncodeToString(digest(body, secret)), nil
}

// Secret returns the secret of a cluster's claims, as text. mac is the control plane's keyed hash, uid the cluster's
// object, and number counts the keys that it had.
func Secret(mac func([]byte) string, uid string, number int) string {
	return mac(fmt.Appendf(nil, "approvals of operations\n%s\n%d", uid, number))
}

// Digest identifies an object, such as an operation's parameters: the SHA-256 of its JSON with sorted keys and no
// spaces, in hexadecimal digits. None are the empty object.
func Digest(parameters []byte) (string, error) {
	var values any = map[string]any{}
	if len(parameters) > 0 {
		if err := json.Unmarshal(parameters, &values); err != nil {
			return "", fmt.Errorf("read the parameters: %w", err)
		}
	}
	if values == nil { // null
		values = map[string]any{}
	}
	plain, err := json.Marshal(values)
	if err != nil {
		return "", fmt.Errorf("write the parameters: %w", err)
	}
	sum := sha256.Sum256(plain)
	return hex.EncodeToString(sum[:]), nil
}

func digest(body string, secret []byte) []byte {
	hash := hmac.New(sha256.New, secret)
	hash.Write([]byte(body))
	return hash.Sum(nil)
}

// Operation identifies the operation that a claim must approve.
type Operation struct {
	Namespace, Name, UID string
	// Parameters are its parameters in JSON.
	Parameters []byte
	Policy     Policy
}

// Policy is an operation's demand on its target.
type Policy struct {
	RequireReady bool `json:"requireReady,omitempty"`
}

// Digest identifies a policy: the Digest of its JSON, in which a demand that is not made is left out.
func (p Policy) Digest() (string, error) {
	plain, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("write the policy: %w", err)
	}
	return Digest(plain)
}

// Verify returns the claim if it approves the operation at the time, and else one of this package's errors. What the
// body says is read only after the digest has been compared, which takes the same time wherever they differ.
func Verify(text string, secret []byte, op Operation, now time.Time) (Claim, error) {
	switch {
	case text == "":
		return Claim{}, ErrMissing
	case len(secret) == 0:
		return Claim{}, ErrNoSecret
	}
	parts := strings.Split(text, ".")
	if len(parts) != 3 || parts[0] != prefix {
		return Claim{}, ErrMalformed
	}
	want := hex.EncodeToString(digest(parts[1], secret))
	if !hmac.Equal([]byte(want), []byte(parts[2])) {
		return Claim{}, ErrForged
	}
	plain, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return Claim{}, ErrMalformed
	}
	var claim Claim
	if err := json.Unmarshal(plain, &claim); err != nil || claim.Version != version {
		return Claim{}, ErrMalformed
	}
	switch {
	case claim.Operation != op.Name, claim.Namespace != "" && claim.Namespace != op.Namespace,
		claim.UID != "" && claim.UID != op.UID:
		return Claim{}, ErrOther
	case now.Unix() > claim.Expires:
		return Claim{}, ErrExpired
	}
	if given, err := Digest(op.Parameters); claim.Parameters != "" && (err != nil || given != claim.Parameters) {
		return Claim{}, ErrParameters
	}
	if given, err := op.Policy.Digest(); claim.Policy != "" && (err != nil || given != claim.Policy) {
		return Claim{}, ErrPolicy
	}
	return claim, nil
}
