package placement

import (
	"testing"
	"time"

	"tend.dev/tend/internal/core/fit"
)

func TestAFlappingNodeGetsNothing(t *testing.T) {
	flapping := func(id string) Node {
		return Node{ID: id, Alive: true, Ready: true, Losses: 3, Until: time.Date(2030, 1, 1, 12, 34, 0, 0, time.UTC)}
	}
	cordoned := Node{ID: "c", Alive: true, Ready: true, Cordoned: true}
	for name, test := range map[string]struct {
		nodes []Node
		want  string
	}{
		"alone": {[]Node{flapping("a")}, "node a was lost 3 times within an hour, and gets pods again at 12:34:00 UTC"},
		"one": {[]Node{flapping("a"), cordoned}, "1 of 2 nodes is cordoned; " +
			"1 of 2 nodes was lost 3 times within an hour, and gets pods again at 12:34:00 UTC"},
		"many": {[]Node{flapping("a"), flapping("b")},
			"2 of 2 nodes were lost again and again within an hour, and get pods later"},
	} {
		t.Run(name, func(t *testing.T) {
			placed, refused := planOf([]Task{{ID: "t", Workload: "web"}}, test.nodes, nil)
			if len(placed) > 0 || len(refused) != 1 || refused[0].Message != test.want {
				t.Errorf("%v, %+v", placed, refused)
			}
			if n := Places(test.nodes, fit.Need{}, Rules{}, map[string]bool{}); n != 0 {
				t.Errorf("%d places for a pod on each node", n)
			}
			if n := Places(test.nodes, fit.Need{}, Rules{}, map[string]bool{"a": true}); n != 1 {
				t.Errorf("%d places where one has its pod, which stays", n)
			}
		})
	}
}
