package env

import "strings"

// EmptyError means that no entry of the declared env_from has a key.
type EmptyError struct{ Entries []string }

func (e *EmptyError) Error() string {
	return "no bucket of env_from has a key: " + strings.Join(e.Entries, ", ")
}

// MissingKeysError means that secret_files names keys that no bucket has.
type MissingKeysError struct{ Keys []string }

func (e *MissingKeysError) Error() string {
	return "no value for " + strings.Join(e.Keys, ", ") + " (secret_files)"
}
