package verbs

import (
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/input/build/buildlog"
	"tend.dev/tend/internal/store/records"
)

const oneImage = `{"image":"a:1"}`

func named(kind api.Kind, scope, name, spec string) api.Object {
	return api.Object{Kind: kind, Scope: scope, Name: name, Spec: []byte(spec)}
}

func task(of api.Object, slot string) api.Task {
	return api.Task{Kind: of.Kind, Scope: of.Scope, Name: of.Name, Slot: slot}
}

func podOf(o api.Object) string { return task(o, "0").ContainerName() }

// TestJoinedNames lists each name that Tend joins of an object's scope, its name and more, with two objects whose
// joined names are, or could be, the same. Of two that share one, that which is applied second is refused; others both
// stand.
func TestJoinedNames(t *testing.T) {
	set, deployment := api.KindStatefulSet, api.KindDeployment
	init := func(name string) string { return `{"image":"a:1","inits":[{"name":"` + name + `","command":["a"]}]}` }
	for name, tc := range map[string]struct {
		one, two api.Object
		// joined returns the name; it may be another one of the second object.
		joined, other func(api.Object) string
		apart         bool
	}{
		"a pod": {named(deployment, "a", "b-c", oneImage), named(deployment, "a-b", "c", oneImage), podOf, podOf, false},
		"a pod of another kind": {named(set, "a", "b", oneImage),
			named(api.KindJob, "a", "b", `{"image":"a:1","command":["a"]}`), podOf, podOf, false},
		"an image that is built": {named(deployment, "a", "b-c", oneImage), named(set, "a-b", "c", oneImage),
			func(o api.Object) string { return api.ImageBuild{ID: "1"}.Image(o.Ref()) }, nil, false},
		"the log of a build": {named(deployment, "a", "b-c", oneImage), named(set, "a-b", "c", oneImage),
			func(o api.Object) string { return buildlog.Name(o.Ref().AppID(), "1") }, nil, false},
		"a volume of a claim": {claiming("shop", "api-q", "data-x"), claiming("shop-api", "q-data", "x"),
			func(api.Object) string { return api.ClaimVolume(api.Ref{Scope: "shop", Name: "api-q"}, "data-x", 0) },
			func(api.Object) string { return api.ClaimVolume(api.Ref{Scope: "shop-api", Name: "q-data"}, "x", 0) }, false},
		"a volume, beside a name that ends in a number": {claiming("shop", "db", "2-data"), claiming("shop-db", "2", "data"),
			func(api.Object) string { return api.ClaimVolume(api.Ref{Scope: "shop", Name: "db"}, "2-data", 0) },
			func(api.Object) string { return api.ClaimVolume(api.Ref{Scope: "shop-db", Name: "2"}, "data", 0) }, false},
		"an init container": {named(set, "shop", "db", init("x-init-y")), named(set, "shop-db", "init-x", init("y")),
			func(o api.Object) string { return task(o, "0").InitName("x-init-y") },
			func(o api.Object) string { return task(o, "0").InitName("y") }, false},
		"an init container of a slot that is drawn by lot": {named(deployment, "shop", "db", init("x-init-y")),
			named(deployment, "shop-db", "init-x", init("y")),
			func(o api.Object) string { return task(o, "0a1b2c3d").InitName("x-init-y") },
			func(o api.Object) string { return task(o, "1a2b3c4d").InitName("y") }, true},
		"the DNS name of an ordinal": {named(set, "shop", "db", oneImage), named(deployment, "shop", "db-2", oneImage),
			func(o api.Object) string { return api.ServiceNames(o.Name+"-2", o.Scope)[0] },
			func(o api.Object) string { return api.ServiceNames(o.Name, o.Scope)[0] }, false},
		"the DNS name of an alias": {named(deployment, "shop", "web", `{"image":"a:1","aliases":["db"]}`),
			named(deployment, "shop", "db", oneImage), func(o api.Object) string { return api.ServiceNames("db", o.Scope)[0] },
			func(o api.Object) string { return api.ServiceNames(o.Name, o.Scope)[0] }, false},
		"the DNS name of a hostname": {named(deployment, "shop", "web", `{"image":"a:1","hostname":"db.shop"}`),
			named(set, "shop", "db", oneImage), func(api.Object) string { return "db.shop" },
			func(o api.Object) string { return api.ServiceNames(o.Name, o.Scope)[0] }, false},
		"a pod's name, as the engine's DNS has it": {named(set, "shop", "db", oneImage), named(deployment, "0", "shop-db", oneImage),
			podOf, func(o api.Object) string { return api.ServiceNames(o.Name, o.Scope)[0] }, true},
		"the home of a volume": {claiming("shop", "api-q", "data-x"), claiming("shop-api", "q-data", "x"),
			func(api.Object) string {
				return records.HomeKey(api.ClaimVolume(api.Ref{Scope: "shop", Name: "api-q"}, "data-x", 0))
			},
			func(api.Object) string {
				return records.HomeKey(api.ClaimVolume(api.Ref{Scope: "shop-api", Name: "q-data"}, "x", 0))
			}, false},
	} {
		if tc.other == nil {
			tc.other = tc.joined
		}
		if one, two := tc.joined(tc.one), tc.other(tc.two); (one == two) == tc.apart {
			t.Errorf("%s: %s and %s, want them apart: %t", name, one, two, tc.apart)
		}
		for _, order := range [][]api.Object{{tc.one, tc.two}, {tc.two, tc.one}} {
			w := newWorld(t)
			w.mustApply(order[0])
			if _, err := w.apply(ApplyOptions{}, order[1]); tc.apart && err != nil {
				t.Errorf("%s: %s after %s: %v", name, order[1].Ref(), order[0].Ref(), err)
			} else if !tc.apart {
				wantReason(t, err, NameTaken)
			}
			w = newWorld(t)
			if _, err := w.apply(ApplyOptions{}, order...); (err != nil) == tc.apart {
				t.Errorf("%s: %s and %s in one apply: %v", name, order[0].Ref(), order[1].Ref(), err)
			}
		}
	}
}
