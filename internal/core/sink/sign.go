package sink

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"
)

// The headers of Standard Webhooks.
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

const secretPrefix = "whsec_"

// The sizes of a secret's bytes, as Standard Webhooks says.
const minSecret, maxSecret = 24, 64

var errSecret = errors.New("is not a secret of Standard Webhooks: whsec_ and 24 to 64 bytes in base64. " +
	"Make one: printf 'whsec_%s' $(openssl rand -base64 32)")

// MessageID returns the id of an event for its receivers, the same for each attempt. It has no full stop, since these
// part what is signed.
func MessageID(source, id string) string {
	sum := sha256.Sum256([]byte(source + "\n" + id))
	return "evt_" + hex.EncodeToString(sum[:16])
}

// sign returns the signature of a body by each secret, the first one first.
func sign(secrets []string, id string, at time.Time, body []byte) (string, error) {
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
		if err != nil || !strings.HasPrefix(secret, secretPrefix) || len(key) < minSecret || len(key) > maxSecret {
			return "", errSecret
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		mac.Write(body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(signatures, " "), nil
}
