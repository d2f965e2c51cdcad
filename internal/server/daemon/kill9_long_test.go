//go:build integration && long

package daemon

func init() {
	killedAt = append(killedAt,
		"store.cluster.found.after", "store.apply.before", "store.deployment.release.before",
		"store.agent.report.before:4", "runtime.start.before", "runtime.start.after:2", "runtime.stop.before",
		"store.deployment.forget.before", "store.delete.after", "runtime.remove.before",
	)
}
