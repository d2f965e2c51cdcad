// Package puller is the operator's half of the pull protocol: it registers, requests jobs from a control plane, does
// them in order and reports their progress and results.
//
// A job is acknowledged, done, and remembered by its key before its result is sent; the same job again is a no-op. The
// puller observes what a job applied and sends its status until it is ready or has failed, for at most ReadyTime if it
// is an instance; then it sends the result. Afterwards it compares the cluster with what was applied, and reports
// differences. Events are sent in batches. Interfaces (Applier, Credentials, KeyStore) hide all storage: the package
// doesn't know Kubernetes. It forces a field only if a job says so.
//
//	p := puller.New(puller.Options{
//		Endpoint: url, HTTP: client, Applier: applier, Credentials: secret, Keys: puller.NewKeys(configMap, now),
//	})
//	err := p.Run(ctx)
package puller
