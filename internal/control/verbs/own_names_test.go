package verbs

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store/records"
)

func claiming(scope, name, claim string) api.Object {
	return api.Object{Kind: api.KindStatefulSet, Scope: scope, Name: name,
		Spec: []byte(`{"image":"db:1","volume_claims":[{"name":"` + claim + `","mount_path":"/data"}]}`)}
}

// shop/api-q with a claim data-x, and shop-api/q-data with a claim x, would both have tend-shop-api-q-data-x-0.
func TestNamesOfVolumesAreOwned(t *testing.T) {
	w := newWorld(t)
	w.mustApply(claiming("shop", "api-q", "data-x"))
	thief := claiming("shop-api", "q-data", "x")
	_, err := w.apply(ApplyOptions{}, thief)
	if refused := wantReason(t, err, NameTaken); !strings.Contains(refused.Error(), "statefulset/shop/api-q") ||
		!strings.Contains(refused.Error(), "statefulset/shop-api/q-data") || refused.Next == "" {
		t.Errorf("it doesn't name both: %v", err)
	}
	carol := WithRights(t.Context(), source.Rights{Person: "carol is deployer of shop-api", Scopes: []string{"shop-api"}})
	_, err = w.service.Apply(carol, []api.Object{thief}, ApplyOptions{})
	if refused := wantReason(t, err, NameTaken); strings.Contains(refused.Error(), "shop/api-q") {
		t.Errorf("a person without that scope learns of the owner: %v", err)
	}
	w.mustApply(claiming("shop-api", "q-data", "y"))
	_, err = w.apply(ApplyOptions{}, thief)
	wantReason(t, err, NameTaken) // the change of an object is refused as a new one is
	w.mustApply(claiming("shop", "api-q", "data-x"))

	_, err = w.apply(ApplyOptions{}, claiming("a", "b-c", "d"), claiming("a-b", "c-e", "d"), claiming("a-b", "e", "c-e-d"),
		claiming("a", "b-c-e", "d"))
	if wantReason(t, err, NameTaken); !strings.Contains(err.Error(), "statefulset/a-b/c-e") {
		t.Errorf("two of one apply: %v", err)
	}

	w.mustApply(claiming("a-b", "e", "c-d"))
	owner := claiming("a-b", "e", "c-d")
	owner.Spec = []byte(strings.Replace(string(owner.Spec), "db:1", "db:2", 1))
	_, err = w.apply(ApplyOptions{}, claiming("a", "b-e-c", "d"), owner)
	if wantReason(t, err, NameTaken); !strings.Contains(err.Error(), "statefulset/a-b/e") {
		t.Errorf("before its owner, in one apply: %v", err)
	}
}

// What was stored before the rule can be changed: its claims are no new ones.
func TestAnOlderClaimCanBeChanged(t *testing.T) {
	w := newWorld(t)
	w.mustApply(claiming("shop", "api-q", "data-x"))
	mine, stored := claiming("shop", "api-q", "data-x"), claiming("shop-api", "q-data", "x")
	w.mustApply(claiming("shop-api", "q-data", "z"))
	next := *w.object(stored.Ref())
	next.Spec = stored.Spec
	w.put(records.ObjectKey(next.Ref()), next)
	mine.Spec = []byte(strings.Replace(string(mine.Spec), "db:1", "db:2", 1))
	w.mustApply(mine)
}
