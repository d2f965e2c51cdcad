package env

import (
	"maps"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// Buckets are the buckets as they are stored.
type Buckets struct {
	// Values returns those of a bucket, in plain text.
	Values func(Bucket) (map[string]string, error)
	// Withheld returns the keys that ingresses name as their certificate and its private key. Such a value becomes no
	// variable; it can still be a secret file. Default: none.
	Withheld func(Bucket) []string
}

func (b Buckets) withheld(bucket Bucket) []string {
	if b.Withheld == nil {
		return nil
	}
	return b.Withheld(bucket)
}

// Merge builds the environment of an object from its spec, with references resolved, and from the values of buckets.
// The result also holds the contents of the secret files, under names that no variable can have; Split separates them.
// So code that stores, hashes or encrypts an environment handles the files with it. It lacks what Tend sets in
// containers itself, so that a value of such a name rolls no pod.
func Merge(ref api.Ref, declared api.Container, buckets Buckets) (map[string]string, error) {
	configured, withheld, err := stack(ref, declared.EnvFrom, buckets)
	if err != nil {
		return nil, err
	}
	out := maps.Clone(configured)
	maps.DeleteFunc(out, func(key, value string) bool {
		return withheld[key] && isCertificate(value) || api.IsIdentity(ref.Kind, key)
	})
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

// stack overlays the buckets. withheld are the keys whose value comes from a bucket that withholds it.
func stack(
	ref api.Ref, envFrom []string, buckets Buckets,
) (out map[string]string, withheld map[string]bool, err error) {
	out, withheld = map[string]string{}, map[string]bool{}
	resolved := len(envFrom) == 0
	for _, source := range Sources(ref, envFrom) {
		for _, bucket := range source.Buckets {
			bucketed, err := buckets.Values(bucket)
			if err != nil {
				return nil, nil, err
			}
			maps.Copy(out, bucketed)
			for key := range bucketed {
				delete(withheld, key)
			}
			for _, key := range buckets.withheld(bucket) {
				_, found := bucketed[key]
				withheld[key] = withheld[key] || found
			}
			resolved = resolved || source.Entry != "" && len(bucketed) > 0
		}
	}
	if !resolved {
		return nil, nil, &EmptyError{Entries: envFrom}
	}
	return out, withheld, nil
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
