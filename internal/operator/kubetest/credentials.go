package kubetest

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

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

// administrators are the users with their own token. The first one impersonates all others.
var administrators = []string{"admin", sourceController, helmController}

// credentials are the secrets of administrators.
type credentials struct {
	// tokens maps users' names to their tokens.
	tokens    map[string]string
	authority []byte
}

// policy logs every request once it is answered.
const policy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: None
  verbs: [get, list, watch]
- level: Metadata
`

// writeCredentials writes the server's certificate and key, the tokens of administrators, and the policy of the audit.
func writeCredentials(dir string, host net.IP) (credentials, error) {
	certificate, key, err := cert.GenerateSelfSignedCertKey(host.String(), []net.IP{host}, nil)
	if err != nil {
		return credentials{}, fmt.Errorf("make a certificate: %w", err)
	}
	c := credentials{tokens: map[string]string{}, authority: certificate}
	var lines strings.Builder
	for _, user := range administrators {
		c.tokens[user] = rand.Text()
		fmt.Fprintf(&lines, "%s,%s,%s,\"system:masters\"\n", c.tokens[user], user, user)
	}
	for name, text := range map[string]string{
		certificateFile: string(certificate), keyFile: string(key), policyFile: policy, tokenFile: lines.String(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return credentials{}, err
		}
	}
	return c, nil
}
