package env

import (
	"encoding/pem"
	"strings"
)

// isCertificate reports whether a value is what an ingress names in tls: a certificate or a private key, in PEM.
func isCertificate(value string) bool {
	block, _ := pem.Decode([]byte(value))
	return block != nil && (block.Type == "CERTIFICATE" || strings.HasSuffix(block.Type, "PRIVATE KEY"))
}
