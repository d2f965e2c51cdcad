package verbs

import (
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/core/suggest"
	"tend.dev/tend/internal/store/records"
)

const (
	maxConfigKeys  = 1000
	maxConfigValue = 64 << 10
)

func checkConfig(bucket Bucket, set map[string]string, unset []string) error {
	if err := bucket.Check(); err != nil {
		return err
	}
	if len(set)+len(unset) == 0 {
		return invalid("give KEY=VALUE pairs, or keys to remove", "nothing to set")
	}
	if len(set)+len(unset) > maxConfigKeys {
		return &Error{Reason: TooLarge, Detail: "more than 1000 keys at once", Next: "set them in parts"}
	}
	for key, v := range set {
		if err := api.CheckConfigKey(key); err != nil {
			return invalid("choose another name", "%v", err)
		}
		if err := api.CheckEnv(key, v); err != nil { // runtimes quote a variable they can't set, with its value
			return invalid("mount a file for binary data", "%s: %v", key, err)
		}
		if len(v) > maxConfigValue {
			return &Error{Reason: TooLarge, Detail: "the value of " + key + " is larger than 64 KiB",
				Next: "mount a file instead"}
		}
	}
	for i, key := range unset {
		if _, both := set[key]; both {
			return invalid("choose one", "%s is to be set and removed", key)
		}
		if slices.Contains(unset[:i], key) {
			return invalid("name it once", "%s is to be removed twice", key)
		}
	}
	return nil
}

// absentNotes says that nothing reads a bucket yet, with the one that was probably meant, of what the person may know
// of. Setting values before the first apply is fine; a slip of the pen is not.
func absentNotes(snap records.Snapshot, bucket Bucket, rights source.Rights) []string {
	var known []string
	for ref := range snap.Refs("") {
		if ref.Scope == bucket.Scope && (bucket.Name == "" || ref.Name == bucket.Name) {
			return nil
		}
		switch {
		case bucket.Name != "" && ref.Scope == bucket.Scope:
			known = append(known, ref.Name)
		case bucket.Name == "" && rights.Sees(ref.Scope):
			known = append(known, ref.Scope)
		}
	}
	text, near := "there is no scope "+bucket.Scope+" yet", nameMeant(snap, bucket.Scope, rights)
	if near == "" {
		near = suggest.Nearest(bucket.Scope, known)
	}
	if bucket.Name != "" {
		text = "there is no " + bucket.String() + " yet"
		if near = suggest.Nearest(bucket.Name, known); near != "" {
			near = bucket.Scope + "/" + near
		}
	}
	if near != "" {
		text += " (" + suggest.Ask(near) + ")"
	}
	return []string{text + "; stored all the same"}
}

// undo returns the command that takes new values of a bucket back; empty if it would be too long.
func undo(bucket Bucket, keys []string) string {
	const few = 5
	if len(keys) > few {
		return ""
	}
	return "; to take it back: tend config unset " + strings.TrimPrefix(bucket.String(), "scope ") + " " +
		strings.Join(keys, " ")
}

// nameMeant returns the address of the one object with containers that has the very name that was given as a scope;
// empty if none, or several have it: who writes a name alone left the scope out, and no scope with a similar name is
// meant.
func nameMeant(snap records.Snapshot, name string, rights source.Rights) (address string) {
	for ref := range seen(snap, rights) {
		switch {
		case ref.Name != name || !ref.Kind.HasContainers():
		case address != "":
			return ""
		default:
			address = ref.Scope + "/" + ref.Name
		}
	}
	return address
}

// noKey returns an error that says that a bucket lacks a key, and which other bucket has it.
func noKey(snap records.Snapshot, bucket Bucket, key string) error {
	if bucket.Name != "" {
		if _, there := snap.Get(records.ConfigScopePrefix(bucket.Scope) + key); there {
			return notFound("name the scope alone to reach it",
				"%s has no key %s of its own; it is in the bucket of the scope", bucket, key)
		}
	}
	return notFound("`tend config list "+bucket.String()+"` shows the keys there are", "there is no key %s%s", key,
		meant(key, ConfigKeys(snap, bucket)))
}
