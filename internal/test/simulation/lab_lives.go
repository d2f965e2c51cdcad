package simulation

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"tend.dev/tend/api"
)

// labPlot is a scenario for one lab without other faults, with its required end.
type labPlot struct {
	name string
	tag  string
	// happens acts once it runs.
	happens func(w *World, ref api.Ref)
	// runs is the run time of its container, within plotSlack; end is the phase after that.
	runs time.Duration
	end  api.LabPhase
	away bool // servers return only after the lab's end
}

const (
	plotTime = time.Minute
	// plotMore is an extension, plotSoon when people do something.
	plotMore, plotSoon = 30 * time.Second, 10 * time.Second
	// plotAway is the time for which the servers are down around the lab's end, half of it before; plotAgain bounds the
	// time that a node then takes to connect again.
	plotAway  = 12 * time.Second
	plotAgain = 8 * time.Second
	plotSlack = 5 * time.Second
)

var labPlots = []labPlot{
	{"ends by itself", tagEnds, nil, labEnds, api.LabCompleted, false},
	{"breaks", tagBreaks, nil, labBreaks, api.LabFailed, false},
	{"runs for its whole time", tagStays, nil, plotTime, api.LabTimeout, false},
	{"is extended", tagStays, func(w *World, ref api.Ref) {
		w.insistOn(ref, input{verb: "extend"}, func(ctx context.Context) error { return w.extending(ctx, ref, plotMore) })
	}, plotTime + plotMore, api.LabTimeout, false},
	{"is stopped", tagStays, func(w *World, ref api.Ref) { w.stopLab(ref) }, plotSoon, api.LabCompleted, false},
	{"is killed", tagStays, func(w *World, ref api.Ref) { _ = w.engine.Kill(w.labs.containerOf(ref), "KILL") }, plotSoon,
		api.LabFailed, false},
	{"is deleted", tagStays, func(w *World, ref api.Ref) { w.remove(ref) }, plotSoon, "", false},
	{"ends just before its time is over", tagStays, func(w *World, ref api.Ref) {
		sleepFor(plotTime - plotSoon - time.Second)
		_ = w.engine.Exit(w.labs.containerOf(ref), 0)
	}, plotTime - time.Second, api.LabCompleted, false},
	{"ends while the servers are down", tagStays, func(w *World, _ api.Ref) {
		w.pass(plotTime - plotSoon - plotAway/2)
		w.serversAway(plotAway)
	}, plotTime + plotAway/2, api.LabTimeout, true},
	{"breaks while the servers are down", tagBreaks, func(w *World, _ api.Ref) {
		w.pass(labBreaks - plotSoon - plotAway/2)
		w.serversAway(plotAway)
	}, labBreaks, api.LabFailed, false},
}

// labLives runs a lab through one of the scenarios. Servers may be down at its start.
func (w *World) labLives() {
	if !w.labWorld() || w.failed() {
		return
	}
	random := rand.New(rand.NewPCG(w.opts.Seed, 14<<32))
	ref, plot := labCast[0], anyOf(random, labPlots)
	w.storyf("-- %s %s", ref, plot.name)
	w.absent(ref)
	start := w.now().Add(20 * time.Second).Truncate(time.Second)
	w.insist(objectOf(ref, api.LabSpec{
		Container: api.Container{Image: ref.Name + ":" + plot.tag}, Owner: "ada@example.org",
		Start:    start.UTC().Format(time.RFC3339),
		Duration: api.Duration(plotTime.String()),
	}))
	if away := plotAway; chance(random, 3) {
		w.pass(start.Sub(w.now()) - away/2)
		w.serversAway(away)
	}
	began := w.labBegins(ref, start)
	if w.failed() {
		return
	}
	w.pass(time.Until(began.Add(plotSoon)))
	if plot.happens != nil {
		plot.happens(w, ref)
	}
	w.labEnds(ref, plot, began)
}

// absent deletes a lab, if it exists.
func (w *World) absent(ref api.Ref) {
	there := func() []string {
		if w.statusOf(ref).Name == "" {
			return nil
		}
		return []string{ref.Name}
	}
	if len(there()) > 0 {
		w.insistOn(ref, input{verb: "delete"}, w.deleting(ref))
	}
	w.await(labTime, there)
}

// labBegins waits until a lab runs: at its start, or as soon as a server is up.
func (w *World) labBegins(ref api.Ref, start time.Time) time.Time {
	for w.pass(0); w.labs.newest(ref).started.IsZero(); w.pass(time.Second) {
		if late := w.now().Sub(start); late > plotAway+plotSlack+10*time.Second {
			w.fail("%s begins at %s, and doesn't run %s later: it is %s", ref, start.UTC(), late, w.phaseOf(ref))
			return time.Time{}
		}
	}
	return w.labs.newest(ref).started
}

// labEnds requires that the container of a lab ran as long as the scenario demands, that it is removed, and that Tend
// reports the right phase.
func (w *World) labEnds(ref api.Ref, plot labPlot, began time.Time) {
	latest := plot.runs + plotSlack
	if plot.away {
		latest += plotAgain
	}
	w.pass(time.Until(began.Add(latest)))
	life := w.labs.newest(ref)
	if life.ended.IsZero() {
		w.fail("%s %s, and its container still runs after %s: it is %s", ref, plot.name, time.Since(began), w.phaseOf(ref))
		return
	}
	if ran := life.ended.Sub(began); ran < plot.runs || ran > latest {
		w.fail("%s %s, and its container ran for %s", ref, plot.name, ran)
	}
	w.await(labTime, w.labContainers)
	if left := w.labContainers(); len(left) > 0 {
		w.fail("%s %s, and is left: %s", ref, plot.name, strings.Join(left, ", "))
	}
	if phase := w.phaseOf(ref); phase != plot.end {
		w.fail("%s %s, and is said to be %s", ref, plot.name, phase)
	}
}

// newest returns a copy of the record of the newest lab with a name, also of a deleted one.
func (l *labs) newest(ref api.Ref) (out labLife) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, life := range l.lives {
		if since := life.since(); life.ref == ref && !since.Before(out.since()) {
			out = *life
		}
	}
	return out
}

// since is when a lab was declared first.
func (life *labLife) since() time.Time {
	if len(life.declared) == 0 {
		return time.Time{}
	}
	return life.declared[0].since
}

// serversAway keeps all servers down for a while.
func (w *World) serversAway(d time.Duration) {
	w.kill()
	for _, b := range w.standbys() {
		b.stop(true)
	}
	sleepFor(d)
	w.start()
	for _, b := range w.standbys() {
		b.start()
	}
}
