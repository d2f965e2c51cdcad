package verbs

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pattern"
)

// Diffs are kept in terminals and in the logs of CI. So a diff shows only the digest and size of an asset's file, no
// value whose name says that it is secret, and no password within a URL. It does show that a value changed.

const hidden = "(hidden)"

var (
	// secretName matches names of secret values, such as DB_PASSWORD, X-Api-Key or aws_secret_access_key.
	secretName = pattern.Lazy(`(?i)(passw|passphrase|secret|token|credential|authorization|cookie|(api|access|private|encryption|signing|master)[_-]?key|(^|[_-])(pass|pwd|auth)$)`)
	// inURL matches the password in a URL.
	inURL = pattern.Lazy(`(://[^/\s:@"]*:)[^/\s@"]+@`)
)

// shownChanges returns changes in the form that users may see.
func shownChanges(kind api.Kind, changes []api.FieldChange) []api.FieldChange {
	out := slices.Clone(changes)
	for i, change := range out {
		out[i].Old, out[i].New = shownValue(kind, change.Path, change.Old), shownValue(kind, change.Path, change.New)
		if change.Old != nil && change.New != nil && string(out[i].Old) == string(out[i].New) &&
			secretFields[kind] == nil {
			out[i].New = quoted(strings.Trim(string(out[i].New), `"`) + ", changed")
		}
	}
	return out
}

// shownValue returns a field's value as people may see it.
func shownValue(kind api.Kind, path string, value json.RawMessage) json.RawMessage {
	var text string
	switch {
	case value == nil:
		return nil
	case slices.Contains(secretFields[kind], path):
		return quoted("(sealed)")
	case json.Unmarshal(value, &text) != nil:
		return value
	case kind == api.KindAsset && strings.HasPrefix(path, "files"):
		return shownFile(path, text, value)
	case strings.HasPrefix(path, "secret_files"):
		return value // names of keys
	case secretName().MatchString(lastKey(path)) && text != "" && !strings.HasPrefix(text, "${"):
		return quoted(hidden)
	case inURL().MatchString(text):
		return quoted(inURL().ReplaceAllString(text, "${1}***@"))
	}
	return value
}

// shownFile returns a leaf of an asset's file: what it says of itself as it is, its bytes by digest and size.
func shownFile(path, text string, value json.RawMessage) json.RawMessage {
	content := []byte(text)
	switch leaf := lastKey(path); {
	case strings.Count(path, ".") == 1 || strings.HasSuffix(path, `"]`): // the file itself, inline
	case leaf == "content":
		if raw, err := base64.StdEncoding.DecodeString(text); err == nil {
			content = raw
		}
	case inURL().MatchString(text):
		return quoted(inURL().ReplaceAllString(text, "${1}***@"))
	default:
		return value
	}
	sum := sha256.Sum256(content)
	return quoted(fmt.Sprintf("sha256:%x, %d bytes", sum[:6], len(content)))
}

// lastKey returns the last name of a path: KEY of env.KEY, and of env["KEY"].
func lastKey(path string) string {
	if cut := strings.LastIndex(path, `["`); cut >= 0 && strings.HasSuffix(path, `"]`) {
		return path[cut+2 : len(path)-2]
	}
	return path[strings.LastIndex(path, ".")+1:]
}

func quoted(s string) json.RawMessage { return text(s) }
