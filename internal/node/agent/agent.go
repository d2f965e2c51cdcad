package agent

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/agent/prober"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/reconciler"
)

// The kinds of keys of the two controllers.
const (
	kindTask  = "task"
	kindImage = "image"
)

// Agent runs the tasks of one node. Create it with New; it runs once.
type Agent struct {
	opts    Options
	log     *slog.Logger
	control nodeapi.Control
	runtime runtime.Runtime

	containers *containers
	doubts     doubts
	beside     beside
	reports    *reporter
	stops      *operations
	// looks are those at who writes beside the pods.
	looks      *operations
	pulls      *pulls
	builds     *builds
	lastLogs   *lastLogs
	keeper     *keeper
	watcher    *watcher
	machine    *machine
	former     *former
	prober     *prober.Prober
	serving    *serving // nil where the node has no proxy
	services   services
	releases   *releases
	secrets    *secrets
	successors *waiters
	tasks      *reconciler.Controller
	images     *reconciler.Controller
	imageEnds  *results[api.Ref]
	retries    sync.Map // owners of failed pulls to retry without waiting for their backoff
	foreign    sync.Map // when an ordinal was first found to have volumes of another, by its task
	taskEnds   *results[string]
	stats      *sampler // for the current use
	load       *sampler // for the mean since the last call
	group      *reconciler.Group
}

// backoff are the waits before a step of a task that failed is tried again: 1, 2, 4, 8, 16 s, then 30 s each for an
// hour. What it waits for, such as a node that has the image, may come back without a sign.
var backoff = append([]time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second},
	slices.Repeat([]time.Duration{30 * time.Second}, 120)...)

// New returns an Agent. It subscribes to its Control at once.
func New(o Options) *Agent {
	o = o.withDefaults()
	a := &Agent{
		opts: o, log: o.Logger.With("node", o.Node), control: o.Control, runtime: o.Runtime,
		containers: newContainers(o.Runtime, o.Now),
		stops:      newOperations(o.Stops),
		looks:      newOperations(1),
		releases:   newReleases(o.Control, o.Assets, o.Controller),
		secrets:    newSecrets(o.Memory),
		successors: newWaiters(),
		imageEnds:  newResults[api.Ref](),
		taskEnds:   newResults[string](),
	}
	if o.Moved != nil {
		a.containers.moved = o.Moved
	}
	a.stats = newSampler(o.Runtime, o.Now, samplerOptions{Fresh: statsFresh, Waits: true})
	a.load = newSampler(o.Runtime, o.Now, samplerOptions{Fresh: o.LoadWindow / 2})
	a.reports = newReporter(o.Control, a.log)
	a.pulls = newPulls(o.Runtime, o.Puller, newOperations(o.Pulls), o.Now)
	a.builds = newBuilds(o.Builder, newOperations(o.Builds))
	a.lastLogs = newLastLogs(a)
	a.keeper = newKeeper(a, o.KeptLogs)
	a.watcher = newWatcher(a)
	a.prober = newProber(a)
	a.machine = newMachine(a)
	a.former = newFormer(a)
	a.serving = newServing(a)
	a.reports.served = a.serving.changed
	a.tasks = reconciler.New(reconciler.Options{
		Name: kindTask, Reconciler: reconciler.Func(a.tracedTask), Workers: o.Workers, Replay: a.taskKeys,
		Synced: a.watcher.listed, Dirty: a.drifted, Resync: o.Resync, Backoff: backoff, DrainTime: o.DrainTime,
		Logger: a.log, Metrics: o.Metrics,
	})
	a.images = reconciler.New(reconciler.Options{
		Name: kindImage, Reconciler: reconciler.Func(a.tracedImage), Replay: a.imageKeys, Synced: a.watcher.listed,
		DrainTime: o.DrainTime, Logger: a.log, Metrics: o.Metrics,
	})
	members := []reconciler.Member{
		a.reports, a.stops, a.looks, a.pulls.operations, a.builds.operations, a.lastLogs.operations, a.keeper.operations,
		reconciler.NewMember(a.beat), a.machine, a.watcher, reconciler.NewMember(a.prober.Run),
	}
	sweeps := []reconciler.Member{reconciler.NewMember(a.sweepSecrets), reconciler.NewMember(a.keeper.sweep)}
	members = append(members, a.heldBack(append(sweeps, a.former, a.images, a.tasks)...)...)
	a.group = reconciler.NewGroup(reconciler.GroupOptions{}, append(members, a.ingressReports()...)...)
	a.control.Subscribe(a.changed)
	return a
}

// Run works until ctx ends. Containers keep running.
func (a *Agent) Run(ctx context.Context) error { return a.group.Run(ctx) }

// Ready returns a channel that is closed when every task was reconciled once.
func (a *Agent) Ready() <-chan struct{} { return a.tasks.Ready() }

// changed is the control plane's change callback.
func (a *Agent) changed(change node.Change) {
	if change.Task != "" {
		a.tasks.Enqueue(taskKey(change.Task))
		a.wakeSuccessors(change.Task)
	}
	if change.Image != (api.Ref{}) {
		a.images.Enqueue(imageKey(change.Image))
	}
	if change.Registry != "" {
		a.retryImages(change.Registry)
	}
	if change.Served {
		a.services.changed()
		a.serving.changed()
	}
}

func (a *Agent) wakeSuccessors(task string) {
	for _, waiting := range a.successors.pop(task) {
		a.tasks.Enqueue(taskKey(waiting))
	}
}

func (a *Agent) wakeAll() {
	a.tasks.Enqueue(a.taskKeys()...)
	a.images.Enqueue(a.imageKeys()...)
}

func (a *Agent) taskKeys() []reconciler.Key {
	ids := a.control.Tasks()
	keys := make([]reconciler.Key, len(ids))
	for i, id := range ids {
		keys[i] = taskKey(id)
	}
	return keys
}

func (a *Agent) imageKeys() []reconciler.Key {
	owners := a.control.Images()
	keys := make([]reconciler.Key, len(owners))
	for i, owner := range owners {
		keys[i] = imageKey(owner)
	}
	return keys
}

func (a *Agent) now() time.Time { return a.opts.Now().UTC() }

func taskKey(id string) reconciler.Key { return reconciler.Key{Kind: kindTask, Name: id} }

// imageKey encodes the owner's kind in the name: a key has room for only one kind.
func imageKey(owner api.Ref) reconciler.Key {
	return reconciler.Key{Kind: kindImage, Scope: owner.Scope, Name: string(owner.Kind) + "/" + owner.Name}
}
