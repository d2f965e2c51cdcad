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
	configured, err := stack(ref, declared.EnvFrom, buckets)
	if err != nil {
		return nil, err
	}
	out := configured.readable(declared)
	maps.DeleteFunc(out, func(key, _ string) bool { return api.IsIdentity(ref.Kind, key) })
	var missing []string
	for _, path := range slices.Sorted(maps.Keys(declared.SecretFiles)) {
		key := declared.SecretFiles[path]
		value, found := configured.values[key]
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
	maps.Copy(out, declared.Env)
	return out, nil
}

// Readable returns the values of some buckets, lowest first, that the containers of an object may read by a call: none
// that Merge keeps from them because an ingress or a build alone may have it.
func Readable(declared api.Container, from []Bucket, buckets Buckets) (map[string]string, error) {
	over := newOverlay()
	for _, bucket := range from {
		if _, err := over.add(bucket, buckets); err != nil {
			return nil, err
		}
	}
	return over.readable(declared), nil
}

// stack overlays the buckets that an object reads.
func stack(ref api.Ref, envFrom []string, buckets Buckets) (overlay, error) {
	over, resolved := newOverlay(), len(envFrom) == 0
	for _, source := range Sources(ref, envFrom) {
		for _, bucket := range source.Buckets {
			found, err := over.add(bucket, buckets)
			if err != nil {
				return over, err
			}
			resolved = resolved || source.Entry != "" && found
		}
	}
	if !resolved {
		return over, &EmptyError{Entries: envFrom}
	}
	return over, nil
}

// overlay has the values of buckets, each over those of the buckets before it.
type overlay struct {
	values map[string]string
	// withheld are the keys whose value comes from a bucket that withholds it.
	withheld map[string]bool
}

func newOverlay() overlay { return overlay{map[string]string{}, map[string]bool{}} }

// add lays a bucket over the others. It reports whether the bucket has any value.
func (o overlay) add(bucket Bucket, buckets Buckets) (found bool, err error) {
	bucketed, err := buckets.Values(bucket)
	if err != nil {
		return false, err
	}
	maps.Copy(o.values, bucketed)
	for key := range bucketed {
		delete(o.withheld, key)
	}
	for _, key := range buckets.withheld(bucket) {
		_, found := bucketed[key]
		o.withheld[key] = o.withheld[key] || found
	}
	return len(bucketed) > 0, nil
}

// readable returns the values without those that no container of the object reads: certificates that a bucket
// withholds, and secrets of its build.
func (o overlay) readable(declared api.Container) map[string]string {
	out := maps.Clone(o.values)
	maps.DeleteFunc(out, func(key, value string) bool {
		ofBuild := declared.Build != nil && slices.Contains(declared.Build.Secrets, key)
		return ofBuild || o.withheld[key] && isCertificate(value)
	})
	return out
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
