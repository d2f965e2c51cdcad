package controlplane

import (
	"context"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/board"
	"tend.dev/tend/internal/control/scheduler"
	"tend.dev/tend/internal/core/webhook"
	"tend.dev/tend/internal/kinds/autoscaler"
	"tend.dev/tend/internal/kinds/clusterjob"
	"tend.dev/tend/internal/kinds/delivery"
	"tend.dev/tend/internal/kinds/flapping"
	"tend.dev/tend/internal/kinds/ingress"
	"tend.dev/tend/internal/kinds/job"
	"tend.dev/tend/internal/kinds/lab"
	"tend.dev/tend/internal/kinds/leftover"
	"tend.dev/tend/internal/kinds/network"
	"tend.dev/tend/internal/kinds/sink"
	"tend.dev/tend/internal/kinds/syncs"
	"tend.dev/tend/internal/kinds/unanswered"
	"tend.dev/tend/internal/kinds/workload"
	"tend.dev/tend/internal/platform/version"
	"tend.dev/tend/internal/store/records"
)

// Kinds are the kinds whose controllers need nothing but the store. A new kind is a folder and a line here.
var Kinds = slices.Concat([]func() control.Kind{
	ingress.Kind,
	network.Kind,
}, clusterjob.Kinds)

// controllers returns the controllers of a term, which commit through a store, in the order they are started.
func (p *Plane) controllers(commits records.Committer) []control.Controller {
	deps := control.Deps{
		Snapshot: p.snapshot, Store: commits, Sealer: p.Sealer, Board: board.NewOf(p.Alone), Changes: p.Changes, Now: p.Now,
		Logger: p.Logger,
	}
	out := []control.Controller{
		scheduler.New(deps),
		control.New(deps, flapping.Kind(p.liveness, p.Alone)),
		control.New(deps, unanswered.Kind()),
		control.New(deps, leftover.Kind()),
		control.New(deps, delivery.Kind(deps, delivery.Options{
			Call: p.Call, Blob: p.Blob, Agent: "tend-webhook/" + version.Version, Count: p.Delivered,
		})),
		control.New(deps, workload.Kind(deps, api.KindDeployment, p.liveness)),
		control.New(deps, workload.Kind(deps, api.KindStatefulSet, p.liveness)),
		control.New(deps, job.Kind(deps, job.Options{Kind: api.KindJob, Liveness: p.liveness})),
		control.New(deps, job.Kind(deps, job.Options{Kind: api.KindCronJob, Liveness: p.liveness})),
		control.New(deps, lab.Kind(deps, lab.Options{Liveness: p.liveness})),
		control.New(deps, sink.Kind(deps, p.Sinks)),
		control.New(deps, autoscaler.Kind(deps, autoscaler.Options{
			Interval: p.AutoscaleInterval, Load: p.Load, Holder: p.ReplicasHolder, Stepped: p.Scaled,
			Scale: func(ctx context.Context, of autoscaler.Deployment, replicas int) error {
				return p.Scale(ctx, commits, of, replicas)
			},
		})),
	}
	if p.Sources != nil {
		out = append(out, control.New(deps, syncs.Kind(deps, syncs.Options{Sources: p.Sources, Metrics: p.Watchers})))
	}
	for _, kind := range Kinds {
		out = append(out, control.New(deps, kind()))
	}
	return out
}

// Effects are the functions by which controllers act outside of the store.
type Effects struct {
	// Call makes one attempt to call a webhook and returns when its context ends; Blob reads the body with an asset's
	// digest.
	Call func(ctx context.Context, r webhook.Request) webhook.Answer
	Blob func(digest string) ([]byte, error)
	// Load returns the resource usage of pods since the last call; Scale sets the replicas of a deployment by the verbs,
	// and commits within the term.
	Load  func(ctx context.Context, tasks []string) []autoscaler.Sample
	Scale func(ctx context.Context, term records.Committer, of autoscaler.Deployment, replicas int) error
	// Sinks describes what sinks read and how they send.
	Sinks sink.Options
	// Sources fetches and applies the sources of syncs. Default: syncs are stored but ignored.
	Sources syncs.Sources
	// Delivered counts attempts to call a webhook by their outcome, Scaled changes of replicas by their direction.
	Delivered, Scaled func(what string)
}
