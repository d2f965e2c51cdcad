// Package approvaltest makes claims as a control plane does, for tests. It shares no code with what checks them.
package approvaltest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"tend.dev/tend/internal/core/approval"
)

// Sign returns the claim as text, in version 1.
func Sign(claim approval.Claim, secret []byte) (string, error) {
	claim.Version = 1
	plain, err := json.Marshal(claim)
	if err != nil {
		return "", fmt.Errorf("write the claim: %w", err)
	}
	body := base64.RawURLEncoding.EncodeToString(plain)
	hash := hmac.New(sha256.New, secret)
	hash.Write([]byte(body))
	return fmt.Sprintf("vws1.%s.%x", body, hash.Sum(nil)), nil
}
