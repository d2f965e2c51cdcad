package agent

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/reconciler"
)

// A report that failed is retried after reportRetry, one that was refused after refusedRetry: most refusals last.
const (
	reportRetry  = time.Second
	refusedRetry = 30 * time.Second
)

// reportIngress reports the state of the proxy at the start and when changed says so, until ctx ends. Each life of an
// agent reports once at least, whatever an earlier one said.
func reportIngress(ctx context.Context, log *slog.Logger, control nodeapi.Ingresses, changed <-chan struct{},
	status func() api.IngressNodeStatus,
) error {
	var reported api.IngressNodeStatus
	logged := "" // each error is logged once
	retry := time.NewTimer(0)
	retry.Stop()
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-retry.C:
		}
		next := status()
		if same(reported, next) {
			continue
		}
		if err := control.ReportIngress(ctx, next); err != nil && !errors.Is(err, context.Canceled) {
			level, wait := slog.LevelWarn, reportRetry
			if errors.Is(err, node.ErrForbidden) {
				level, wait = slog.LevelInfo, refusedRetry
			}
			if text := err.Error(); text != logged {
				log.Log(ctx, level, "the ingress's state could not be reported", "error", err)
				logged = text
			}
			retry.Reset(wait)
			continue
		}
		reported, logged = next, ""
	}
}

// ingressReports returns the members that report the node's proxy. A node without one says so: an earlier life of its
// agent may have had one, and the store still has what that said of its listeners.
func (a *Agent) ingressReports() []reconciler.Member {
	if a.serving != nil {
		return a.serving.members()
	}
	return []reconciler.Member{reconciler.NewMember(a.reportNoProxy)}
}

func (a *Agent) reportNoProxy(ctx context.Context) error {
	once := make(chan struct{}, 1)
	select {
	case <-ctx.Done():
		return nil
	case <-a.control.Synced():
		once <- struct{}{}
	}
	return reportIngress(ctx, a.log, a.control, once, func() api.IngressNodeStatus {
		return api.IngressNodeStatus{Node: a.opts.Node}
	})
}
