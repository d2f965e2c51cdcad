package env

import (
	"maps"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// Taken is a merged environment with the declaration that it was merged for.
type Taken struct {
	Declared api.Container
	Values   map[string]string
}

// Differences names the config values that differ between an environment and a later one. It leaves out what differs
// because the declarations do: a variable with another text, a file of another key, a key held back by one of them.
func Differences(then, now Taken) api.ConfigDifferences {
	since := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(union(then.Values, now.Values))) {
		before, was := then.Values[name]
		after, is := now.Values[name]
		if was && is && before == after || declaredOtherwise(name, then.Declared, now.Declared) {
			continue
		}
		key := name
		if path, isFile := strings.CutPrefix(name, filePrefix); isFile {
			key = now.Declared.SecretFiles[path]
		}
		switch {
		case !was:
			since[key] = api.ConfigAdded
		case !is:
			since[key] = api.ConfigRemoved
		default:
			since[key] = api.ConfigChanged
		}
	}
	out := make(api.ConfigDifferences, 0, len(since))
	for _, key := range slices.Sorted(maps.Keys(since)) {
		out = append(out, api.ConfigDifference{Key: key, Since: since[key]})
	}
	return out
}

// declaredOtherwise reports whether two declarations say something else about a name of a merged environment.
func declaredOtherwise(name string, then, now api.Container) bool {
	if path, isFile := strings.CutPrefix(name, filePrefix); isFile {
		return then.SecretFiles[path] != now.SecretFiles[path]
	}
	before, was := then.Env[name]
	after, is := now.Env[name]
	return was != is || before != after || heldBack(then, name) != heldBack(now, name)
}

// heldBack reports whether a declaration keeps a key out of the variables.
func heldBack(declared api.Container, key string) bool {
	return slices.Contains(slices.Collect(maps.Values(declared.SecretFiles)), key) ||
		declared.Build != nil && slices.Contains(declared.Build.Secrets, key)
}

func union(a, b map[string]string) map[string]string {
	out := make(map[string]string, len(a)+len(b))
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}
