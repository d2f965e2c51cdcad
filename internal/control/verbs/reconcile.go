package verbs

import (
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verb"
	"tend.dev/tend/internal/core/access"
)

var _ = Declare(verb.Verb{
	Name: "reconcile", Rule: access.Deployers("reconcile"),
	Summary: "Send an application of a Kubernetes cluster there again, and reconcile it there at once",
	Commands: []verb.Command{{
		Path: "reconcile", Use: "[KIND] SCOPE/NAME", Short: "reconcile an application of a Kubernetes cluster now",
		Long: "Send an application to its Kubernetes cluster again, unchanged, and have Flux reconcile it at once: the chart is fetched,\n" +
			"values are read again, and a release that has no retries left is tried again.",
		Example: "  tend reconcile appinst prod/web",
		Waits:   true,
		Says: verb.Says(func(ref api.Ref, _ struct{}, _ api.VerbResult) string {
			return fmt.Sprintf("%s is sent to its cluster again", ref)
		}),
	}},
}, Decided(Fits{
	Kind: api.KindApplicationInstance, Not: "is not an application of a Kubernetes cluster",
	Next: "for the pods of a workload: tend restart; for a sync: tend sync now", Any: true,
}, "reconcile", func(a Asked[struct{}]) (*Decision[api.VerbResult], error) {
	return a.Stamped("reconcile", func(stamps map[string]string) { stamps[api.StampPull] = api.NewNonce(a.Now) }), nil
}))
