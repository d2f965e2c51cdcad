package api

import (
	"maps"
	"slices"
	"strings"

	"tend.dev/tend/api/pattern"
)

// InlineSecrets returns the paths of those texts in free-form values that are secrets: by their key, or because they
// are a private key in PEM. A key that names a Secret of the cluster (existingSecret), a placeholder and an empty text
// are none.
func InlineSecrets(values map[string]any) []string {
	var found []string
	findSecrets(values, "", "", func(path string) { found = append(found, path) })
	return found
}

// findSecrets walks maps and lists; name is the last key on the way.
func findSecrets(value any, path, name string, found func(path string)) {
	switch v := value.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			here := k
			if path != "" || !plainKey().MatchString(k) {
				here = key(path, k)
			}
			findSecrets(v[k], here, k, found)
		}
	case []any:
		for i, item := range v {
			findSecrets(item, index(path, i), name, found)
		}
	case string:
		if isInlineSecret(name, v) {
			found(path)
		}
	}
}

var (
	privateKey = pattern.Lazy(`^\s*-----BEGIN [A-Z ]*PRIVATE KEY-----`)
	// standIn matches a text that something replaces before it is used: a template, or a variable.
	standIn = pattern.Lazy(`^(\{\{.*\}\}|\$\([A-Za-z_][A-Za-z0-9_]*\)|\$\{[A-Za-z_][A-Za-z0-9_]*\})$`)
	longKey = pattern.Lazy(`^[A-Za-z0-9+/_-]{40,}={0,2}$`)
)

// placeholders are the texts that stand where an external secret will be.
var placeholders = []string{"<set via externalsecret>", "<set via external-secret>"}

// namesSecret are the endings of keys whose value is the name of a Secret, not a secret.
var namesSecret = []string{"existingsecret", "pullsecret", "tlssecret", "certsecret", "certificatesecret",
	"passwordsecret", "credentialssecret", "configsecret", "casecret", "authsecret",
	"secretname", "secretref", "secretkeyref", "secretsname"}

func isInlineSecret(name, text string) bool {
	text, lower := strings.TrimSpace(text), strings.ToLower(name)
	if text == "" || slices.Contains(placeholders, strings.ToLower(text)) || standIn().MatchString(text) {
		return false
	}
	if privateKey().MatchString(text) {
		return true
	}
	ends := func(ending string) bool { return strings.HasSuffix(lower, ending) }
	switch {
	case strings.HasPrefix(lower, "existing") || slices.ContainsFunc(namesSecret, ends):
		return false
	case ends("password") || ends("secret"):
		return true
	case slices.Contains([]string{"accesskey", "secretkey", "apikey", "token"}, lower):
		return true
	}
	suspicious := slices.ContainsFunc([]string{"password", "secret", "token", "apikey", "privatekey", "accesskey"},
		func(word string) bool { return strings.Contains(lower, word) })
	return suspicious && longKey().MatchString(text)
}
