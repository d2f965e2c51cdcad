package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"tend.dev/tend/api"
)

// sealer seals by a prefix, so that tests can read what was sealed. Without its key it decrypts nothing.
type sealer struct {
	lost   bool
	hashed int // how many environments
}

var errWrongKey = errors.New("no key fits")

func (*sealer) Encrypt(plain []byte) ([]byte, error) { return []byte("sealed:" + string(plain)), nil }

func (s *sealer) Decrypt(sealed []byte) ([]byte, error) {
	plain, ok := strings.CutPrefix(string(sealed), "sealed:")
	if s.lost || !ok {
		return nil, errWrongKey
	}
	return []byte(plain), nil
}

func (s *sealer) HMAC(data []byte) string {
	s.hashed++
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

func (l *harness) pass(ms int) { l.now = l.now.Add(time.Duration(ms) * time.Millisecond) }

// workloadOf returns a deployment's spec as the controller holds it.
func workloadOf(spec api.DeploymentSpec) api.WorkloadSpec {
	return api.WorkloadSpec{DeploymentSpec: spec}
}
