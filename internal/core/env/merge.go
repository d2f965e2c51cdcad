package env

import (
	"maps"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// Merge builds the environment of an object from its spec, with references resolved, and from the values of buckets.
// The result also holds the contents of the secret files, under names that no variable can have; Split separates them.
// So code that stores, hashes or encrypts an environment handles the files with it.
func Merge(ref api.Ref, declared api.Container, values func(Bucket) (map[string]string, error)) (map[string]string, error) {
	configured, err := stack(ref, declared.EnvFrom, values)
	if err != nil {
		return nil, err
	}
	out := maps.Clone(configured)
	var missing []string
	for _, path := range slices.Sorted(maps.Keys(declared.SecretFiles)) {
		key := declared.SecretFiles[path]
		value, found := configured[key]
		if !found {
			missing = append(missing, key)
			continue
		}
		delete(out, key)
		out[filePrefix+path] = value
	}
	if len(missing) > 0 {
		return nil, &MissingKeysError{Keys: slices.Compact(slices.Sorted(slices.Values(missing)))}
	}
	if declared.Build != nil {
		for _, key := range declared.Build.Secrets {
			delete(out, key) // a build sees it, containers don't
		}
	}
	maps.Copy(out, declared.Env)
	return out, nil
}

// stack overlays the buckets.
func stack(ref api.Ref, envFrom []string, values func(Bucket) (map[string]string, error)) (map[string]string, error) {
	out := map[string]string{}
	resolved := len(envFrom) == 0
	for _, source := range Sources(ref, envFrom) {
		for _, bucket := range source.Buckets {
			bucketed, err := values(bucket)
			if err != nil {
				return nil, err
			}
			maps.Copy(out, bucketed)
			resolved = resolved || source.Entry != "" && len(bucketed) > 0
		}
	}
	if !resolved {
		return nil, &EmptyError{Entries: envFrom}
	}
	return out, nil
}

// filePrefix marks the content of a secret file: no variable's name contains =.
const filePrefix = "="

// Split separates a merged environment into variables, and contents of secret files by path.
func Split(merged map[string]string) (variables, files map[string]string) {
	variables, files = make(map[string]string, len(merged)), map[string]string{}
	for name, value := range merged {
		if path, isFile := strings.CutPrefix(name, filePrefix); isFile {
			files[path] = value
			continue
		}
		variables[name] = value
	}
	return variables, files
}
