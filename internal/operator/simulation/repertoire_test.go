//go:build simulate

package simulation

import "math/rand/v2"

// action is something that may happen in a step.
type action struct {
	name   string
	weight int
	do     func(w *World, random *rand.Rand)
}

// repertoire holds every action. A new one goes to the end of its group; the weights are of about a hundred.
var repertoire = []action{
	// people use Tend
	{"apply an application", 22, applyApplication},
	{"suspend or resume an application", 4, suspendApplication},
	{"delete an application", 4, deleteApplication},
	{"run a command", 8, runCommand},
	{"upgrade by an operation", 6, upgradeByOperation},
	{"delete an operation", 3, deleteOperation},
	{"run a command that needs an approval", 4, runGuardedCommand},
	{"approve or deny an operation", 5, decideOnOperation},
	{"take fields over", 3, takeFieldsOver},
	{"run a runbook", 5, runRunbook},
	{"back an application up", 8, backUp},
	{"restore an application", 5, restore},
	// hands use kubectl
	{"kubectl delete appinst", 3, deleteInstance},
	{"kubectl delete helmrelease", 2, deleteRelease},
	{"kubectl patch appinst", 3, patchInstance},
	{"kubectl annotate appinst reconcile=disabled", 3, pauseInstance},
	{"kubectl annotate operation cancel", 2, cancelOperation},
	{"kubectl delete job", 1, deleteJob},
	{"kubectl delete namespace", 1, deleteNamespace},
	{"kubectl create namespace", 3, createNamespaces},
	{"kubectl patch operation with a forged approval", 2, forgeApproval},
	{"kubectl patch helmrelease", 2, patchRelease},
	{"kubectl create helmrelease", 3, createRelease},
	{"kubectl delete workflow", 1, deleteWorkflow},
	{"kubectl delete backup, restore, replication or snapshot", 2, deleteCopy},
	// parts fail
	{"kill the operator", 5, func(w *World, _ *rand.Rand) { w.kill() }},
	{"kill the operator at a write", 10, killAtWrite},
	{"start the operator", 9, func(w *World, _ *rand.Rand) { w.start() }},
	{"cut Tend off", 3, func(w *World, _ *rand.Rand) { w.plane.setCut(true) }},
	{"mend the network to Tend", 4, func(w *World, _ *rand.Rand) { w.plane.mend() }},
	{"lose answers of Tend", 3, func(w *World, _ *rand.Rand) { w.plane.lossy.Store(true) }},
	{"lie between Tend and the operator", 2, func(w *World, _ *rand.Rand) { w.plane.lies.Store(true) }},
	{"stop the API server", 2, func(w *World, _ *rand.Rand) { w.weather.down.Store(true); w.weather.cutWatches() }},
	{"lose answers of the API server", 4, func(w *World, _ *rand.Rand) { w.weather.lossy.Store(true) }},
	{"delay watches", 4, delayWatches},
	{"cut watches", 3, func(w *World, _ *rand.Rand) { w.weather.cutWatches() }},
	{"forget history", 2, func(w *World, _ *rand.Rand) { w.cluster.Compact(); w.weather.cutWatches() }},
	{"stop Velero and VolSync", 2, stopStorage},
	{"start Velero and VolSync", 3, startStorage},
	{"mend the API server", 6, func(w *World, _ *rand.Rand) { w.weather.clear() }},
}

// draw returns an action.
func draw(random *rand.Rand) action {
	sum := 0
	for _, a := range repertoire {
		sum += a.weight
	}
	at := random.IntN(sum)
	for _, a := range repertoire {
		if at -= a.weight; at < 0 {
			return a
		}
	}
	return repertoire[0]
}

func killAtWrite(w *World, random *rand.Rand) { w.weather.killIn.Store(int64(1 + random.IntN(14))) }

func delayWatches(w *World, random *rand.Rand) { w.weather.late.Store(random.Int64N(int64(maxLate))) }

func (p *plane) setCut(is bool) {
	p.cut.Store(is)
	p.server.CloseClientConnections()
}

func (p *plane) mend() {
	p.cut.Store(false)
	p.lossy.Store(false)
	p.lies.Store(false)
}
