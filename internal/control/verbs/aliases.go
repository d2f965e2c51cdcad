package verbs

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// dnsNames are the names by which containers of one scope reach each other.
type dnsNames struct {
	own     map[string]api.Ref   // by the name of a workload
	aliases map[string][]api.Ref // those that declare an alias
}

// checkAliases refuses written workloads with an alias that is another's name or alias in the scope, or the name of an
// ordinal: it would receive the other's connections. So it does a new workload whose name is an alias already. Objects
// that are being deleted don't count.
func checkAliases(snap records.Snapshot, written []api.Object, going []records.Read[api.Object], found *faults) {
	scopes := map[string]*dnsNames{}
	for _, object := range written {
		isNew := !snap.Object(object.Ref()).Exists()
		if object.Kind.Serves() && (isNew || len(aliasesOf(object)) > 0) && scopes[object.Scope] == nil {
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
		if names == nil || !object.Kind.Serves() {
			continue
		}
		for i, alias := range aliasesOf(object) {
			if owner, whose := names.refuse(ref, alias); whose != "" {
				found.clash(NameTaken, owner, ref, "aliases["+strconv.Itoa(i)+"]",
					"choose another alias, or take it from the other object first",
					"the name %s.%s is that of %s", alias, object.Scope, whose)
			}
		}
		if snap.Object(ref).Exists() {
			continue // what has its name keeps it
		}
		if alias, owner := names.taken(ref); alias != "" && !ours[owner] { // one of ours is refused by its alias
			found.clash(NameTaken, owner, ref, "name", "choose another name, or take the alias from the other object first",
				"the name %s.%s is an alias of %s", alias, object.Scope, owner)
		}
	}
}

// namesIn returns the names of a scope once the written objects are stored and those that go are gone.
func namesIn(snap records.Snapshot, scope string, written []api.Object, going []records.Read[api.Object]) *dnsNames {
	out, skip := &dnsNames{own: map[string]api.Ref{}, aliases: map[string][]api.Ref{}}, map[api.Ref]bool{}
	for _, object := range going {
		skip[object.Value.Ref()] = true
	}
	for _, object := range written {
		skip[object.Ref()] = true
		if object.Scope == scope && object.Kind.Serves() {
			out.add(object)
		}
	}
	for _, kind := range api.KindsThat(api.Kind.Serves) {
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
	n.own[ref.Name] = ref
	for _, alias := range aliasesOf(object) {
		n.aliases[alias] = append(n.aliases[alias], ref)
	}
}

// refuse returns whose name an alias of a workload is, and that in words; empty if it is free.
func (n *dnsNames) refuse(ref api.Ref, alias string) (owner api.Ref, whose string) {
	if owner, has := n.own[alias]; has && owner != ref {
		return owner, owner.String()
	}
	if set, ordinal, is := ordinalName(alias); is && n.own[set].Kind == api.KindStatefulSet {
		return n.own[set], fmt.Sprintf("ordinal %s of %s", ordinal, n.own[set])
	}
	for _, other := range n.aliases[alias] {
		if other != ref {
			return other, other.String() + " (its alias)"
		}
	}
	return api.Ref{}, ""
}

// taken returns another workload's alias that a workload, or an ordinal of it, is called; the first in their order.
func (n *dnsNames) taken(ref api.Ref) (alias string, owner api.Ref) {
	for name, refs := range n.aliases {
		set, _, isOrdinal := ordinalName(name)
		if name != ref.Name && !(isOrdinal && ref.Kind == api.KindStatefulSet && set == ref.Name) ||
			alias != "" && alias < name {
			continue
		}
		if i := slices.IndexFunc(refs, func(other api.Ref) bool { return other != ref }); i >= 0 {
			alias, owner = name, refs[i]
		}
	}
	return alias, owner
}

// ordinalName divides a name as an ordinal's into that of its statefulset and its number.
func ordinalName(name string) (set, ordinal string, is bool) {
	cut := strings.LastIndexByte(name, '-')
	if cut < 0 {
		return "", "", false
	}
	_, err := strconv.ParseUint(name[cut+1:], 10, 32)
	return name[:cut], name[cut+1:], err == nil
}

// aliasesOf returns the further names of a workload.
func aliasesOf(object api.Object) []string {
	if !bytes.Contains(object.Spec, []byte(`"aliases"`)) {
		return nil // most have none, and a spec is long
	}
	spec, err := api.DecodeWorkload(object.Kind, object.Spec)
	if err != nil {
		return nil
	}
	return spec.Aliases
}
