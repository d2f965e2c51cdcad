package api

import (
	"encoding/json"
	"slices"
	"testing"
)

// TestInlineSecrets: what counts as a secret in free-form values, and what only looks like one.
func TestInlineSecrets(t *testing.T) {
	for name, tc := range map[string]struct {
		values string
		want   []string
	}{
		"by the key": {`{"auth":{"password":"p","adminPassword":"p","clientSecret":"s"},"s3":{"accessKey":"a","secretKey":"b"},"apiKey":"k","token":"t"}`,
			[]string{"apiKey", "auth.adminPassword", "auth.clientSecret", "auth.password", "s3.accessKey",
				"s3.secretKey", "token"}},
		"names of secrets": {`{"auth":{"existingSecret":"nextcloud-postgresql","existingSecretPasswordKey":"password"},"imagePullSecret":"regcred","ingress":{"tlsSecret":"cloud-tls"}}`, nil},
		"long names of secrets": {`{"secretName":"nextcloud-production-postgresql-credentials","tls":{"secretName":"nextcloud-production-example-org-certificate"},` +
			`"existingSecret":"nextcloud-production-postgresql-credentials","secretRef":"nextcloud-production-postgresql-credentials",` +
			`"passwordSecretName":"nextcloud-production-postgresql-credentials"}`, nil},
		"no texts":           {`{"usePassword":true,"password":null,"passwordLength":12,"secret":{},"token":[]}`, nil},
		"stand-ins":          {`{"password":"","token":"<Set via External-Secret>","secretKey":"{{ .Values.key }}","apiKey":"$(API_KEY)","clientSecret":"${CLIENT_SECRET}"}`, nil},
		"in lists":           {`{"env":[{"name":"A","value":"b"},{"password":"p"}],"tokens":["x"],"passwords":["-----BEGIN EC PRIVATE KEY-----\nAA"],"extra":["-----BEGIN PRIVATE KEY-----"]}`, []string{"env[1].password", "extra[0]", "passwords[0]"}},
		"under odd keys":     {`{"a.b":{"password":"p"}}`, []string{`["a.b"].password`}},
		"long random values": {`{"tokenValue":"c29tZSBsb25nIHNlY3JldCB0aGF0IGlzIGJhc2U2NA==","checksum":"c29tZSBsb25nIHNlY3JldCB0aGF0IGlzIGJhc2U2NA=="}`, []string{"tokenValue"}},
		"certificates":       {`{"ca":"-----BEGIN CERTIFICATE-----"}`, nil},
	} {
		var values map[string]any
		if err := json.Unmarshal([]byte(tc.values), &values); err != nil {
			t.Fatal(err)
		}
		if got := InlineSecrets(values); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
