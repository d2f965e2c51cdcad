package env

import "strings"

// EmptyError means that no entry of the declared env_from has a key.
type EmptyError struct{ Entries []string }

func (e *EmptyError) Error() string {
	if len(e.Entries) == 1 {
		return "env_from names " + e.Entries[0] + ", which has no config"
	}
	return "env_from names " + strings.Join(e.Entries, ", ") + ", and none of them has config"
}

// MissingKeysError means that secret_files names keys that no bucket has.
type MissingKeysError struct{ Keys []string }

func (e *MissingKeysError) Error() string {
	return "secret_files names " + strings.Join(e.Keys, ", ") + ", and no config has a value for it"
}
