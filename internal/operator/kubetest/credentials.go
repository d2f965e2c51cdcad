package kubetest

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"k8s.io/client-go/util/cert"
)

// The files of a server.
const (
	certificateFile = "server.crt"
	keyFile         = "server.key"
	tokenFile       = "tokens.csv"
	policyFile      = "audit-policy.yaml"
	auditFile       = "audit.log"
)

// credentials are what an administrator needs.
type credentials struct {
	token     string
	authority []byte
}

// policy logs what every request was, once it is answered.
const policy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: None
  verbs: [get, list, watch]
- level: Metadata
`

// writeCredentials writes the server's certificate and key, the administrator's token, and the policy of the audit.
func writeCredentials(dir string, host net.IP) (credentials, error) {
	certificate, key, err := cert.GenerateSelfSignedCertKey(host.String(), []net.IP{host}, nil)
	if err != nil {
		return credentials{}, fmt.Errorf("make a certificate: %w", err)
	}
	c := credentials{token: rand.Text(), authority: certificate}
	for name, text := range map[string]string{
		certificateFile: string(certificate), keyFile: string(key), policyFile: policy,
		tokenFile: c.token + `,admin,admin,"system:masters"` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return credentials{}, err
		}
	}
	return c, nil
}
