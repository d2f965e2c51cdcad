package ingress

import (
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/hosts"
	"tend.dev/tend/internal/store/records"
)

// claims keeps the table of hosts until something that claims one changes: every ingress asks for it. The zero value is
// ready to use.
type claims struct {
	mu sync.Mutex
	// count and sum identify the objects that the table is of, by how many they are and by the sum of their revisions.
	count int
	sum   int64
	table hosts.Table
}

// of returns the table of a snapshot.
func (c *claims) of(s records.Snapshot) hosts.Table {
	count, sum := 0, int64(0)
	for object := range s.Routed() {
		count++
		sum += object.Metadata.Revision
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.table == nil || c.count != count || c.sum != sum {
		c.count, c.sum, c.table = count, sum, hosts.TableOf(s.Routed())
	}
	return c.table
}

// related returns the ingresses whose host is the claim of an object, or under the same wildcard.
func related(s records.Snapshot, changed ...*api.Object) (out []api.Ref) {
	for object := range s.Objects(api.KindIngress) {
		claim, asks := hosts.ClaimOf(*object.Value)
		for _, one := range changed {
			if other, claims := hosts.ClaimOf(*one); asks && claims && claim.Touches(other) {
				out = append(out, object.Value.Ref())
				break
			}
		}
	}
	return out
}
