package link

import (
	"context"
	"fmt"
	"time"

	"tend.dev/tend/api/pull"
)

// asked answers the queries that are the control plane's.
type asked struct {
	// Cluster is the identity that queries are signed for, Keys the public keys that they are signed with.
	Cluster, Keys string
	Now           func() time.Time
	// Read answers a query. Default: this operator answers none.
	Read func(ctx context.Context, query pull.Query) pull.Answer
}

// Answer answers a query that is signed and has not expired. It refuses any other one, and reads nothing for it.
func (a *asked) Answer(ctx context.Context, query pull.Query) pull.Answer {
	refuse := func(why string) pull.Answer {
		return pull.Answer{Refusal: &pull.Refusal{Reason: pull.RefusedQuery, Message: why}}
	}
	if err := pull.VerifyQuery(query, a.Cluster, a.Keys); err != nil {
		return refuse(err.Error())
	}
	now := a.Now()
	switch {
	case !now.Before(query.ExpiresAt):
		return refuse(fmt.Sprintf("the query came too late: it was of use until %s, and the clock of the cluster's operator is at %s",
			query.ExpiresAt.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339)))
	case query.ExpiresAt.Sub(query.CreatedAt) > pull.QueryLife || query.Tail < 0 || query.Tail > pull.MaxTail:
		return refuse("the query asks for more than a query may")
	case a.Read == nil:
		return refuse("this operator answers no queries")
	}
	return a.Read(ctx, query)
}
