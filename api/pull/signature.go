package pull

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The ways in which a job is not the control plane's.
var (
	// ErrUnsigned means that a job has no signature, and the cluster knows a key.
	ErrUnsigned = errors.New("the job has no signature, and this cluster's control plane signs: nothing was changed")
	// ErrSignature means that none of a job's signatures is by a key that the cluster knows.
	ErrSignature = errors.New("the job is not signed with a key that this cluster knows: nothing was changed. " +
		"If the control plane has other keys now, apply what tend clusters add prints")
)

// signedAs begins the text that is signed, and says for what.
const signedAs = "tend job 1"

// Signed returns the bytes that a job's signatures are of: all that says what is to be done, for which cluster, and
// until when. The payload counts without the spaces that JSON may have.
func (j Job) Signed(cluster string) ([]byte, error) {
	payload, err := json.Marshal(j.Payload)
	if err != nil {
		return nil, fmt.Errorf("read the payload: %w", err)
	}
	sum := sha256.Sum256(payload)
	return []byte(strings.Join([]string{
		signedAs, cluster, j.ID, j.Kind, j.IdempotencyKey, j.Object, strconv.FormatBool(j.Force),
		j.CreatedAt.UTC().Format(time.RFC3339Nano),
		j.ExpiresAt.UTC().Format(time.RFC3339Nano), hex.EncodeToString(sum[:]),
	}, "\n")), nil
}

// Sign returns a job's Signature: one by each key, in base64, with spaces between them. While keys change, there are
// two.
func Sign(j Job, cluster string, keys ...ed25519.PrivateKey) (string, error) {
	text, err := j.Signed(cluster)
	if err != nil {
		return "", err
	}
	return sign(text, keys), nil
}

// sign returns the signatures of a text, one by each key.
func sign(text []byte, keys []ed25519.PrivateKey) string {
	all := make([]string, len(keys))
	for i, key := range keys {
		all[i] = base64.StdEncoding.EncodeToString(ed25519.Sign(key, text))
	}
	return strings.Join(all, " ")
}

// PublicKeys returns the public halves of keys as clusters know them: in base64, with spaces between them.
func PublicKeys(keys ...ed25519.PrivateKey) string {
	all := make([]string, len(keys))
	for i, key := range keys {
		public, _ := key.Public().(ed25519.PublicKey)
		all[i] = base64.StdEncoding.EncodeToString(public)
	}
	return strings.Join(all, " ")
}

// Verify returns nil if one of a job's signatures is by one of the public keys, or if there are none to check with.
func Verify(j Job, cluster, publicKeys string) error {
	switch {
	case len(strings.Fields(publicKeys)) == 0:
		return nil
	case j.Signature == "":
		return ErrUnsigned
	}
	text, err := j.Signed(cluster)
	if err != nil {
		return err
	}
	if !verify(text, j.Signature, publicKeys) {
		return ErrSignature
	}
	return nil
}

// verify reports whether one of the signatures of a text is by one of the public keys.
func verify(text []byte, signatures, publicKeys string) bool {
	for encoded := range strings.FieldsSeq(publicKeys) {
		key, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || len(key) != ed25519.PublicKeySize {
			continue
		}
		for given := range strings.FieldsSeq(signatures) {
			signature, err := base64.StdEncoding.DecodeString(given)
			if err == nil && ed25519.Verify(key, text, signature) {
				return true
			}
		}
	}
	return false
}
