package verbs

import (
	"strconv"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// Target names an object as users do: kind and scope may be left out if the rest is unambiguous.
type Target struct {
	Kind  api.Kind
	Scope string
	Name  string
	// UID refuses an object of the name that is another one. Default: whichever has the name.
	UID string
}

// TargetOf returns the target that names exactly one object.
func TargetOf(ref api.Ref) Target { return Target{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name} }

// Ref returns what the target names of an object, its uid aside.
func (t Target) Ref() api.Ref { return api.Ref{Kind: t.Kind, Scope: t.Scope, Name: t.Name} }

func (t Target) String() string {
	var parts []string
	for _, part := range []string{string(t.Kind), t.Scope, t.Name} {
		if part != "" && part != api.Unscoped {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "/")
}

// Resolve returns the one object a target names, or else NotFound or Ambiguous.
//
// Without a kind, objects that run containers win over those that only share their name, such as the ingress to them.
// An app is stored as a deployment and an ingress; it resolves to the deployment.
func (t Target) Resolve(snap records.Snapshot) (api.Ref, error) {
	read, err := t.find(snap)
	if err != nil {
		return api.Ref{}, err
	}
	return read.Value.Ref(), nil
}

func (t Target) find(snap records.Snapshot) (records.Read[api.Object], error) {
	if parts := t.Kind.Info().StandsFor; len(parts) > 0 {
		t.Kind = parts[0]
	}
	return t.choose(snap, workloadsFirst)
}

// findExactly is find for irreversible actions: it prefers no kind, so a name that several kinds have is Ambiguous.
func (t Target) findExactly(snap records.Snapshot) (records.Read[api.Object], error) {
	return t.choose(snap, func(found []records.Read[api.Object]) []records.Read[api.Object] { return found })
}

// workloadsFirst returns the objects that run containers, or all if none does.
func workloadsFirst(found []records.Read[api.Object]) []records.Read[api.Object] {
	var workloads []records.Read[api.Object]
	for _, read := range found {
		if read.Value.Kind.HasContainers() {
			workloads = append(workloads, read)
		}
	}
	if len(workloads) > 0 {
		return workloads
	}
	return found
}

func (t Target) choose(
	snap records.Snapshot, prefer func([]records.Read[api.Object]) []records.Read[api.Object],
) (records.Read[api.Object], error) {
	if t.Name == "" {
		return records.Read[api.Object]{}, invalid("say which object: kind, scope and name", "no name given")
	}
	if t.Kind != "" && t.Scope != "" {
		read := snap.Object(t.Ref())
		if read.Exists() && (t.UID == "" || t.UID == read.Value.Metadata.UID) {
			return read, nil
		}
		return records.Read[api.Object]{}, t.missing()
	}
	matches := prefer(t.matches(snap))
	switch len(matches) {
	case 0:
		return records.Read[api.Object]{}, t.missing()
	case 1:
		return matches[0], nil
	}
	names := make([]string, len(matches))
	for i, match := range matches {
		names[i] = match.Value.Ref().String()
	}
	return records.Read[api.Object]{}, &Error{Reason: Ambiguous, Next: "name one of them by kind and scope",
		Detail: "several objects are called " + t.String() + ": " + strings.Join(names, ", ")}
}

func (t Target) matches(snap records.Snapshot) []records.Read[api.Object] {
	var out []records.Read[api.Object]
	for _, kind := range api.Kinds {
		if t.Kind != "" && t.Kind != kind {
			continue
		}
		for read := range snap.Objects(kind) {
			if read.Value.Name == t.Name && (t.Scope == "" || t.Scope == read.Value.Scope) {
				out = append(out, read)
			}
		}
	}
	return out
}

// findLive finds an object that is not being deleted.
func (t Target) findLive(snap records.Snapshot) (records.Read[api.Object], error) {
	read, err := t.find(snap)
	if err == nil && read.Value.Metadata.Deleting() {
		return read, terminating(read.Value.Ref())
	}
	return read, err
}

func (t Target) missing() error {
	return &Error{Reason: NotFound, Detail: "there is no " + t.String(),
		Next: "`tend get` lists what there is", Wanted: t}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
