package owner

import (
	"fmt"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/records"
)

// Of two nodes that have the image, the one that is asked about it says which image its name stands for now: the other's
// answer may be old. Which one that is doesn't change with what runs where.
func TestTheAnswerOfTheNodeThatIsAskedCounts(t *testing.T) {
	asked := api.ImageRequest{Owner: api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}, OwnerUID: "u", Image: "web:1"}
	answer := func(node string, state api.ImageState) records.Read[api.ImageStatus] {
		return records.Read[api.ImageStatus]{Value: &api.ImageStatus{Owner: asked.Owner, OwnerUID: "u", Image: "web:1", Node: node, State: state, ImageID: "of " + node}}
	}
	first := false
	for i := range 20 {
		a, b := fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i)
		got := Image([]records.Read[api.ImageStatus]{answer("failed", api.ImageFailed), answer(a, api.ImagePresent), answer(b, api.ImagePresent)}, asked)
		for _, runs := range []bool{false, true} {
			resolvers := placement.Resolvers(asked.Owner.String(), []placement.Resolver{
				{Node: a, Alive: true, Progress: placement.Present, Runs: runs}, {Node: b, Alive: true, Progress: placement.Present, Runs: !runs},
			})
			if len(resolvers) != 1 || got.Node != resolvers[0] || got.ImageID != "of "+got.Node {
				t.Errorf("%+v counts, %v is asked", got, resolvers)
			}
		}
		first = first || got.Node == b
	}
	if !first {
		t.Error("always the first one: this shows nothing")
	}
}
