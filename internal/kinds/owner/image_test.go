package owner

import (
	"fmt"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/store/records"
)

// Of two nodes that have the image, the one that is asked about it says which image its name stands for now: the
// other's answer may be old. Which one that is doesn't change with what runs where.
func TestTheAnswerOfTheNodeThatIsAskedCounts(t *testing.T) {
	asked := api.ImageRequest{Owner: api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}, OwnerUID: "u",
		Image: "web:1"}
	answer := func(node string, state api.ImageState) records.Read[api.ImageStatus] {
		return records.Read[api.ImageStatus]{Value: &api.ImageStatus{Owner: asked.Owner, OwnerUID: "u", Image: "web:1",
			Node: node, State: state, ImageID: "of " + node}}
	}
	first := false
	for i := range 20 {
		a, b := fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i)
		got := Image([]records.Read[api.ImageStatus]{answer("failed", api.ImageFailed), answer(a, api.ImagePresent),
			answer(b, api.ImagePresent)}, asked, nil)
		for _, runs := range []bool{false, true} {
			resolvers := placement.Resolvers(asked.Owner.String(), []placement.Resolver{
				{Node: a, Alive: true, Progress: placement.Present, Runs: runs},
				{Node: b, Alive: true, Progress: placement.Present, Runs: !runs},
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

// A failure counts once every node that may have the image has failed; what one node can't get may have been loaded on
// another.
func TestAFailureCountsOnceAllHaveFailed(t *testing.T) {
	request := api.ImageRequest{Owner: api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}, Image: "web:1"}
	answer := func(node string, state api.ImageState, attempts int) records.Read[api.ImageStatus] {
		return records.Read[api.ImageStatus]{Value: &api.ImageStatus{Owner: request.Owner, Image: "web:1", Node: node,
			State: state, Attempts: attempts}}
	}
	failed, both := answer("a", api.ImageFailed, 1), []string{"a", "b"}
	arrives := answer("a", api.ImagePulling, 1)
	arrives.Value.Progress = 12
	built := request
	built.Build = &api.ImageBuild{ID: "abc"}
	for name, test := range map[string]struct {
		answers    []records.Read[api.ImageStatus]
		asked      api.ImageRequest
		candidates []string
		want       api.ImageState
	}{
		"the only node": {[]records.Read[api.ImageStatus]{failed}, request, []string{"a"},
			api.ImageFailed},
		"another has not answered": {[]records.Read[api.ImageStatus]{failed}, request, both, ""},
		"another pulls": {[]records.Read[api.ImageStatus]{failed, answer("b", api.ImagePulling, 0)},
			request, both, api.ImagePulling},
		"another has it": {[]records.Read[api.ImageStatus]{failed, answer("b", api.ImagePresent, 0)},
			request, both, api.ImagePresent},
		"both failed": {[]records.Read[api.ImageStatus]{failed, answer("b", api.ImageFailed, 1)},
			request, both, api.ImageFailed},
		"both failed, and one tries again": {[]records.Read[api.ImageStatus]{failed, answer("b", api.ImagePulling, 1)},
			request, both, api.ImageFailed},
		"it tries again": {[]records.Read[api.ImageStatus]{answer("a", api.ImagePulling, 1)}, request, []string{"a"},
			api.ImageFailed},
		"it tries again, and gets some of it": {[]records.Read[api.ImageStatus]{arrives}, request, []string{"a"},
			api.ImagePulling},
		"the other has gone away": {[]records.Read[api.ImageStatus]{failed}, request, []string{"a"},
			api.ImageFailed},
		"a build fails alike on every node": {[]records.Read[api.ImageStatus]{failed}, built, both, api.ImageFailed},
	} {
		if got := Image(test.answers, test.asked, test.candidates); got.State != test.want {
			t.Errorf("%s: %q, want %q", name, got.State, test.want)
		}
	}
}
