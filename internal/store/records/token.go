package records

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"tend.dev/tend/api"
)

// SealedToken returns the stored form of a registry's token: sealed:<keyed hash>:<encrypted, in base64>. The keyed hash
// shows whether another token is the same, without decrypting either.
func SealedToken(mac string, encrypted []byte) string {
	return api.SealedPrefix + mac + ":" + base64.StdEncoding.EncodeToString(encrypted)
}

// TokenMAC returns the keyed hash of a sealed token; empty for any other text.
func TokenMAC(sealed string) string {
	rest, found := strings.CutPrefix(sealed, api.SealedPrefix)
	mac, _, whole := strings.Cut(rest, ":")
	if !found || !whole {
		return ""
	}
	return mac
}

// OpenToken decrypts a sealed token. Its errors quote nothing of it.
func OpenToken(sealed string, decrypt func([]byte) ([]byte, error)) (string, error) {
	mac := TokenMAC(sealed)
	if mac == "" {
		return "", errors.New("the stored token is not sealed: apply the registry again")
	}
	encrypted, err := base64.StdEncoding.DecodeString(sealed[len(api.SealedPrefix)+len(mac)+1:])
	if err != nil {
		return "", errors.New("the stored token is damaged: apply the registry again")
	}
	plain, err := decrypt(encrypted)
	if err != nil {
		return "", fmt.Errorf("open the stored token: %w", err)
	}
	return string(plain), nil
}
