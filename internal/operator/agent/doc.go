// Package agent is the operator's half of the pull protocol: it registers, asks a control plane for jobs, does them in order, and
// reports what becomes of them.
//
// A job is acknowledged, done, and remembered by its key before its result is sent; one that comes again is a no-op. What was applied
// is observed until it is ready or has failed, an instance for at most ReadyTime, and then its result is sent; until then the status
// is. Afterwards the cluster is compared with it, and a difference is reported. Events are sent in batches. All that is kept lies behind
// interfaces (Applier, Credentials, KeyStore): the package knows no Kubernetes, and forces a field only where a job says so.
//
//	a := agent.New(agent.Options{Endpoint: url, Cluster: id, HTTP: client, Applier: applier, Credentials: secret, Keys: agent.NewKeys(configMap, now)})
//	err := a.Run(ctx)
package agent
