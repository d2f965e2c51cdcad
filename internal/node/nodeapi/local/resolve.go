package local

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/store/records"
)

// Resolve implements nodeapi.Control.
func (c *Control) Resolve(_ context.Context, name string) (node.Names, error) {
	snap := c.snapshot()
	bare, zoned := withoutZone(name)
	name, scope, ok := strings.Cut(bare, ".")
	if !ok || strings.Contains(scope, ".") || !zoned && api.ZonedAlone(scope) {
		return node.Names{}, nil
	}
	if pods, found := c.podsCalled(snap, scope, name); found {
		return c.addresses(snap, pods), nil
	}
	var pods []node.Pod
	others := withAlias(snap, scope, name)
	for _, other := range others {
		pods = append(pods, c.podsOf(snap, other)...)
	}
	if len(others) == 0 {
		return node.Names{}, nil
	}
	return c.addresses(snap, pods), nil
}

// podsCalled returns the pods that have a name by themselves: those of the workload that is called so, or an ordinal.
// Nobody's alias adds to them.
func (c *Control) podsCalled(snap records.Snapshot, scope, name string) (pods []node.Pod, found bool) {
	if ref, _, is := workload(snap, scope+"/"+name); is {
		return c.podsOf(snap, ref), true
	}
	cut := strings.LastIndexByte(name, '-')
	if cut < 0 {
		return nil, false
	}
	if _, err := strconv.ParseUint(name[cut+1:], 10, 32); err != nil {
		return nil, false
	}
	ref := api.Ref{Kind: api.KindStatefulSet, Scope: scope, Name: name[:cut]}
	if !snap.Object(ref).Exists() {
		return nil, false
	}
	container := scope + "-" + name[:cut] + "." + name[cut+1:]
	return slices.DeleteFunc(c.podsOf(snap, ref), func(p node.Pod) bool { return p.Name != container }), true
}

// withAlias returns the workloads of a scope that have a name among their aliases.
func withAlias(snap records.Snapshot, scope, name string) (out []api.Ref) {
	for _, kind := range api.KindsThat(api.Kind.Serves) {
		for object := range snap.ObjectsIn(kind, scope) {
			if !bytes.Contains(object.Value.Spec, []byte(`"aliases"`)) {
				continue // most have none, and a spec is long
			}
			spec, err := api.DecodeWorkload(kind, object.Value.Spec)
			if err == nil && slices.Contains(spec.Aliases, name) {
				out = append(out, object.Value.Ref())
			}
		}
	}
	return out
}

// withoutZone returns a DNS name in lower case, without a zone after the scope. zoned is set if it had one.
func withoutZone(name string) (bare string, zoned bool) {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	for _, zone := range api.Zones {
		if before, in := strings.CutSuffix(name, "."+zone); in && strings.Contains(before, ".") {
			return before, true
		}
	}
	return name, false
}

func (c *Control) addresses(snap records.Snapshot, pods []node.Pod) node.Names {
	out, sees := node.Names{Known: true}, c.sees(snap)
	for _, pod := range pods {
		if !sees(pod.Node) {
			continue
		}
		if address := outsideAddress(snap, pod); pod.Ready && address.IsValid() {
			out.Addresses = append(out.Addresses, address)
		}
	}
	return out
}
