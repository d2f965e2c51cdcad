package env

import (
	"encoding/pem"
	"strings"
)

// isCertificate reports whether a value fits the tls of an ingress: a certificate or a private key, in PEM, after other
// blocks too, such as EC PARAMETERS.
func isCertificate(value string) bool {
	for block, rest := pem.Decode([]byte(value)); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" || strings.HasSuffix(block.Type, "PRIVATE KEY") {
			return true
		}
	}
	return false
}
