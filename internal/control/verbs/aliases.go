package verbs

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// dnsNames are the names by which containers of one scope reach each other.
type dnsNames struct {
	own     map[string]api.Ref      // by the name of a workload
	further map[string][]furtherRef // by an alias, or a hostname, those that declare it
}

// furtherName is a name besides its own by which a workload, or a job, is reached: <label>.<scope>.
type furtherName struct{ field, word, label string }

const (
	wordAlias    = "alias"
	wordHostname = "hostname"
)

var withArticle = map[string]string{wordAlias: "an alias", wordHostname: "the hostname"}

// furtherRef is an object with a furtherName; word is the name's.
type furtherRef struct {
	api.Ref
	word string
}

// checkAliases refuses written objects with an alias or a hostname that is another's name, alias or hostname in the
// scope, or the name of an ordinal: it would receive the other's connections. So it does a new workload whose name is
// an alias or a hostname already. Objects that are being deleted don't count.
func checkAliases(snap records.Snapshot, written []api.Object, going []records.Read[api.Object], found *faults) {
	scopes := map[string]*dnsNames{}
	for _, object := range written {
		isNew := !snap.Object(object.Ref()).Exists()
		if (object.Kind.Serves() && isNew || len(furtherNames(object)) > 0) && scopes[object.Scope] == nil {
			scopes[object.Scope] = namesIn(snap, object.Scope, written, going)
		}
	}
	if len(scopes) == 0 {
		return
	}
	ours := map[api.Ref]bool{}
	for _, object := range written {
		ours[object.Ref()] = true
	}
	for _, object := range written {
		names, ref := scopes[object.Scope], object.Ref()
		if names == nil {
			continue
		}
		for _, name := range furtherNames(object) {
			if owner, whose := names.refuse(ref, name.label); whose != "" {
				found.clash(NameTaken, owner, ref, name.field,
					"choose another "+name.word+", or take it from the other object first",
					"the name %s.%s is that of %s", name.label, object.Scope, whose)
			}
		}
		if !object.Kind.Serves() || snap.Object(ref).Exists() {
			continue // it has no name of its own, or keeps the one that it has
		}
		names.checkOrdinals(ref, ours, found)
		if label, owner := names.taken(ref); label != "" && !ours[owner.Ref] { // one of ours is refused by its own name
			found.clash(NameTaken, owner.Ref, ref, "name",
				"choose another name, or take the "+owner.word+" from the other object first",
				"the name %s.%s is %s of %s", label, object.Scope, withArticle[owner.word], owner.Ref)
		}
	}
}

// namesIn returns the names of a scope once the written objects are stored and those that go are gone.
func namesIn(snap records.Snapshot, scope string, written []api.Object, going []records.Read[api.Object]) *dnsNames {
	out, skip := &dnsNames{own: map[string]api.Ref{}, further: map[string][]furtherRef{}}, map[api.Ref]bool{}
	for _, object := range going {
		skip[object.Value.Ref()] = true
	}
	for _, object := range written {
		skip[object.Ref()] = true
		if object.Scope == scope && object.Kind.HasContainers() {
			out.add(object)
		}
	}
	for _, kind := range api.KindsThat(api.Kind.HasContainers) {
		for object := range snap.ObjectsIn(kind, scope) {
			if !skip[object.Value.Ref()] && !object.Value.Metadata.Deleting() {
				out.add(*object.Value)
			}
		}
	}
	return out
}

func (n *dnsNames) add(object api.Object) {
	ref := object.Ref()
	if object.Kind.Serves() {
		n.own[ref.Name] = ref
	}
	for _, name := range furtherNames(object) {
		n.further[name.label] = append(n.further[name.label], furtherRef{ref, name.word})
	}
}

// refuse returns whose name a further name of an object is, and that in words; empty if it is free.
func (n *dnsNames) refuse(ref api.Ref, alias string) (owner api.Ref, whose string) {
	if owner, has := n.own[alias]; has && owner != ref {
		return owner, owner.String()
	}
	if set, ordinal, is := ordinalName(alias); is && n.own[set].Kind == api.KindStatefulSet {
		return n.own[set], fmt.Sprintf("ordinal %s of %s", ordinal, n.own[set])
	}
	for _, other := range n.further[alias] {
		if other.Ref != ref {
			return other.Ref, other.String() + " (its " + other.word + ")"
		}
	}
	return api.Ref{}, ""
}

// taken returns another object's alias or hostname that a workload, or an ordinal of it, is called; the first in their
// order.
func (n *dnsNames) taken(ref api.Ref) (alias string, owner furtherRef) {
	for name, refs := range n.further {
		set, _, isOrdinal := ordinalName(name)
		if name != ref.Name && !(isOrdinal && ref.Kind == api.KindStatefulSet && set == ref.Name) ||
			alias != "" && alias < name {
			continue
		}
		if i := slices.IndexFunc(refs, func(other furtherRef) bool { return other.Ref != ref }); i >= 0 {
			alias, owner = name, refs[i]
		}
	}
	return alias, owner
}

const nextOrdinal = "choose another name, as one that ends in a letter: a scale of the statefulset may make that ordinal"

// checkOrdinals refuses a new workload that is called like an ordinal of a statefulset, and a new statefulset with an
// ordinal that is called like a workload, unless that is one of ours, which is refused itself.
func (n *dnsNames) checkOrdinals(ref api.Ref, ours map[api.Ref]bool, found *faults) {
	if set, ordinal, is := ordinalName(ref.Name); is && n.own[set].Kind == api.KindStatefulSet {
		found.clash(NameTaken, n.own[set], ref, "name", nextOrdinal,
			"the name %s.%s is that of ordinal %s of %s", ref.Name, ref.Scope, ordinal, n.own[set])
	}
	if ref.Kind != api.KindStatefulSet {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(n.own)) {
		if set, ordinal, is := ordinalName(name); is && set == ref.Name && !ours[n.own[name]] {
			found.clash(NameTaken, n.own[name], ref, "name", "choose another name, or delete the other object first",
				"the name %s.%s of its ordinal %s is that of %s", name, ref.Scope, ordinal, n.own[name])
			return
		}
	}
}

// ordinalName divides a name as an ordinal's into that of its statefulset and its number: any that a scale may make, so
// that no scale changes where a name leads.
func ordinalName(name string) (set, ordinal string, is bool) {
	cut := strings.LastIndexByte(name, '-')
	if cut < 0 {
		return "", "", false
	}
	set, ordinal = name[:cut], name[cut+1:]
	number, err := strconv.Atoi(ordinal)
	return set, ordinal, err == nil && number < api.MaxReplicas && strconv.Itoa(number) == ordinal
}

// furtherNames returns the aliases of a workload, and the hostname of any object with containers, which the engine
// answers for as for an alias. A hostname outside of the scope is decided about in internal/core/source.
func furtherNames(object api.Object) (out []furtherName) {
	if !bytes.Contains(object.Spec, []byte(`"aliases"`)) && !bytes.Contains(object.Spec, []byte(`"hostname"`)) {
		return nil // most have none, and a spec is long
	}
	if !object.Kind.HasContainers() {
		return nil
	}
	spec, err := api.DecodeWorkload(object.Kind, object.Spec)
	if err != nil {
		return nil
	}
	for i, alias := range spec.Aliases {
		if object.Kind.Serves() {
			out = append(out, furtherName{"aliases[" + strconv.Itoa(i) + "]", wordAlias, alias})
		}
	}
	if label, own := api.ScopeLabel(spec.Hostname, object.Scope); own {
		out = append(out, furtherName{wordHostname, wordHostname, label})
	}
	return out
}
