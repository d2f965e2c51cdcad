package redact

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSecrets(t *testing.T) {
	for name, tc := range map[string]struct{ text, secret, want string }{
		"as it is":       {"535 s3cret is wrong, s3cret!", "s3cret", "535 xxxxx is wrong, xxxxx!"},
		"in a URL":       {"https://host/?token=p%26w%2F", "p&w/", "https://host/?token=xxxxx"},
		"as a password":  {"https://me:p%40w@host/", "p@w", "https://me:xxxxx@host/"},
		"in JSON":        {`{"p":"a\"b"}`, `a"b`, `{"p":"xxxxx"}`},
		"in base64":      {"AUTH czNjcmV0", "s3cret", "AUTH xxxxx"},
		"part of base64": {"AUTH AHRlbmQAczNjcmV0", "s3cret", "AUTH AHRlbmQAxxxxx"},
		"none":           {"as it was", "", "as it was"},
	} {
		if got := Secrets(tc.text, tc.secret); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestNoFormOfASecretIsLeft: whatever stands before and behind it.
func TestNoFormOfASecretIsLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[A-Za-z0-9/+&@ "%]{6,40}`).Draw(t, "secret")
		whole := rapid.StringMatching(`[a-z:\x00]{0,5}`).Draw(t,
			"before") + secret + rapid.StringMatching(`[a-z:\x00]{0,5}`).Draw(t, "behind")
		for _, text := range []string{
			whole, url.QueryEscape(whole), url.PathEscape(whole), base64.StdEncoding.EncodeToString([]byte(whole)),
			base64.RawURLEncoding.EncodeToString([]byte(whole)),
		} {
			got := Secrets("it says "+text+".", secret)
			if !strings.Contains(got, Hidden) {
				t.Fatalf("%q is shown as %q", text, got)
			}
			if decoded, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(strings.TrimPrefix(got, "it says "),
				".")); err == nil && strings.Contains(string(decoded), secret) {
				t.Fatalf("%q holds the secret", got)
			}
		}
	})
}
