package verbs

import (
	"iter"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/hosts"
	"tend.dev/tend/internal/store/records"
)

// checkRoutes refuses written ingresses that claim a host of another scope, another TLS policy than the host has, or a
// host and path that another ingress has. Objects that are being deleted don't count.
func checkRoutes(snap records.Snapshot, written []api.Object, going []records.Read[api.Object], found *faults) {
	if !slices.ContainsFunc(written, claimsHost) {
		return
	}
	others := slices.Collect(routedBeside(snap, written, going))
	all := slices.Clone(others)
	for i := range written {
		all = append(all, &written[i])
	}
	table, taken := hosts.TableOf(slices.Values(all)), map[string]api.Ref{}
	for _, object := range others {
		for _, route := range hosts.Routes(*object) {
			taken[route] = object.Ref()
		}
	}
	for _, object := range written {
		if claim, asks := hosts.ClaimOf(object); asks {
			if refusal := table.Refuse(claim); refusal != nil {
				if !found.sees(refusal.By) {
					refusal = refusal.Hidden()
				}
				found.clash(RouteTaken, refusal.By, object.Ref(), refusal.Field, refusal.Next, "%s", refusal.Detail)
				if refusal.Field == "host" {
					continue // that says of each of its paths what there is to say
				}
			}
		}
		for _, route := range hosts.Routes(object) {
			if owner, has := taken[route]; has && owner != object.Ref() {
				found.clash(RouteTaken, owner, object.Ref(), "host",
					"choose another host or another path, or delete the other ingress first",
					"%s is served by %s already", route, found.named(owner))
			}
			taken[route] = object.Ref()
		}
	}
}

func claimsHost(object api.Object) bool {
	_, asks := hosts.ClaimOf(object)
	return asks
}

// routedBeside returns what is stored and claims hosts, without what is written and what goes.
func routedBeside(snap records.Snapshot, written []api.Object, going []records.Read[api.Object]) iter.Seq[*api.Object] {
	skip := map[api.Ref]bool{}
	for _, object := range written {
		skip[object.Ref()] = true
	}
	for _, object := range going {
		skip[object.Value.Ref()] = true
	}
	return func(yield func(*api.Object) bool) {
		for object := range snap.Routed() {
			if !skip[object.Ref()] && !yield(object) {
				return
			}
		}
	}
}

// stampHosts stamps on the objects of an apply which host each claims, and since when.
func (d *applyDecision) stampHosts(snap records.Snapshot, going []records.Read[api.Object], now time.Time) {
	if !slices.ContainsFunc(d.merged(), claimsHost) {
		return
	}
	table := hosts.TableOf(routedBeside(snap, nil, going))
	for i := range d.placed {
		next := &d.placed[i].next
		next.Metadata.Stamps = stamped(next.Metadata.Stamps, api.StampHost,
			table.Stamp(d.placed[i].stored.Value, *next, now))
	}
}
