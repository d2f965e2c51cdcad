package remote

import (
	"net/http"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/platform/limit"
)

// calls bound what the containers of each node do at once, and how often they write. Those that share a token have a
// part of what their node has, so that others have the rest.
type calls struct{ token, node callBounds }

// callBounds are the bounds of one key. What writes may wait for its rate, and takes no place from what reads.
type callBounds struct {
	reads, writes *limit.Places
	written       *limit.Rates
}

func newCalls() calls {
	of := func(sharing int) callBounds {
		return callBounds{reads: places(boundary.Callbacks / sharing), writes: places(boundary.Callbacks / sharing),
			written: writeRates(float64(sharing))}
	}
	return calls{token: of(boundary.TokensOfNode), node: of(1)}
}

// enter lets a container of an object call from a node. It is not asked about a token that is not known.
func (c calls) enter(w http.ResponseWriter, r *http.Request, node string, object api.Ref) (leave func(), err error) {
	part, err := c.token.enter(w, r, node+" (containers of "+object.String()+")")
	if err != nil {
		return nil, err
	}
	whole, err := c.node.enter(w, r, node)
	if err != nil {
		part()
		return nil, err
	}
	return func() { whole(); part() }, nil
}

func (b callBounds) enter(w http.ResponseWriter, r *http.Request, key string) (leave func(), err error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return enter(w, r, b.reads, nil, key)
	}
	return enter(w, r, b.writes, b.written, key)
}
