package simulation

import (
	"errors"
	"os"
	"slices"
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
)

// watched judges every event of the engine at the instant it happens.
type watched struct {
	w       *World
	mu      sync.Mutex
	alive   map[string]string // by task: the container's id
	places  map[string]string // by ordinal of a statefulset: the container's id
	homes   map[string]string // by a container's id: its node
	starts  map[string]int    // of runs and commands, by task
	guarded map[string]string // containers that may not end, by id
	spare   int               // so many of them may
	steps   map[string]int    // of the commands of a release, by owner and container
}

func newWatched(w *World) *watched {
	return &watched{w: w, alive: map[string]string{}, places: map[string]string{}, homes: map[string]string{},
		starts: map[string]int{}, steps: map[string]int{}}
}

// happened is called with the engine locked.
func (o *watched) happened(record hollow.Record) {
	o.w.count.events.Add(1)
	if record.Labels[api.LabelTask] == "" || record.Labels[api.LabelRole] == api.RoleInit {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch record.Event {
	case runtime.EventCreate:
		o.made(record)
	case runtime.EventStart:
		o.w.storyf("%s starts", record.Container)
		o.started(record)
	case runtime.EventDie:
		o.w.storyf("%s ends with %d", record.Container, record.ExitCode)
		o.died(record)
	}
}

// made: a container agrees with the store's release for its task.
func (o *watched) made(record hollow.Record) {
	task, known := o.w.archive.of(record.Labels[api.LabelTask])
	if !known {
		o.w.fail("%s was made for task %s, which the store never knew", record.Container, record.Labels[api.LabelTask])
		return
	}
	o.w.storyf("%s is made (%s of %s, image %s)", record.Container, task.task.Release,
		task.task.Owner(), record.Spec.Image)
	if record.ImageID != task.release.ImageID {
		o.w.fail("%s runs image %s (%s), but release %s of its task says %s (%s)", record.Container,
			o.w.imageName(record.ImageID),
			record.ImageID, task.task.Release, task.release.Image, task.release.ImageID)
	}
	o.samePinned(record.Container, task.release.Image, record.ImageID)
	o.sameCommand(record, task)
	o.sameEnv(record, task)
	o.sameFiles(record)
	o.sameSecrets(record, task)
}

// sameSecrets: the secret files hold the release's values.
func (o *watched) sameSecrets(record hollow.Record, task taskRecord) {
	merged, err := o.w.openEnv(task.release.Env)
	_, want := env.Split(merged)
	for path, content := range want {
		source := mounted(*record.Spec, path)
		got, readErr := os.ReadFile(source)
		if err := errors.Join(err, readErr); err != nil || string(got) != content {
			o.w.fail("%s has %q in %s (%v), but release %s of its task says %q", record.Container, got, path, err,
				task.task.Release, content)
		}
	}
}

func (o *watched) sameCommand(record hollow.Record, task taskRecord) {
	var spec api.DeploymentSpec
	decode(task.release.Spec, &spec)
	want := spec.Command
	switch role := task.task.Role; {
	case role == api.RoleCommand && spec.Release != nil:
		want = spec.Release.Command
	case role != api.RoleMain:
		return
	}
	if !slices.Equal(want, record.Spec.Spec.Command) {
		o.w.fail("%s runs %q, but release %s of its task says %q", record.Container, record.Spec.Spec.Command,
			task.task.Release, want)
	}
}

// sameEnv: the container has the release's environment, overridden by its own identity.
func (o *watched) sameEnv(record hollow.Record, task taskRecord) {
	want, err := o.w.openEnv(task.release.Env)
	if err != nil {
		o.w.fail("the environment of release %s of %s can't be opened: %v", task.task.Release, task.task.Owner(), err)
		return
	}
	plain, _ := env.Split(want)
	for name, value := range plain {
		if got := record.Spec.Env[name]; got != value {
			o.w.fail("%s has %s=%q, but release %s of its task says %q", record.Container, name, got, task.task.Release, value)
		}
	}
	for name := range record.Spec.Env {
		if _, wanted := plain[name]; !wanted && !addedByTend(name) {
			o.w.fail("%s has %s, which release %s of its task doesn't name", record.Container, name, task.task.Release)
		}
	}
}

// addedByTend reports whether a variable is one that Tend itself adds.
func addedByTend(name string) bool {
	return api.IsIdentity(api.KindStatefulSet, name) || name == api.EnvController || name == "VOODU_CONTROLLER_URL"
}

// sameFiles: every file that is mounted exists.
func (o *watched) sameFiles(record hollow.Record) {
	source := mounted(*record.Spec, mountedAt)
	if _, err := os.Stat(source); source != "" && err != nil {
		o.w.fail("%s mounts %s, which doesn't exist: %v", record.Container, mountedAt, err)
	}
}

func (o *watched) started(record hollow.Record) {
	task := record.Labels[api.LabelTask]
	if other := o.alive[task]; other != "" && other != record.ID {
		o.w.fail("task %s has two live containers: %s started beside another", task, record.Container)
	}
	o.alive[task] = record.ID
	if api.Kind(record.Labels[api.LabelKind]) == api.KindStatefulSet && record.Spec.Restart != "no" || o.isOrdinal(task) {
		place := record.Labels[api.LabelScope] + "/" + record.Labels[api.LabelName] + "/" + record.Labels[api.LabelSlot]
		if other := o.places[place]; other != "" && other != record.ID &&
			!o.doubles(o.homes[other], record.Labels[api.LabelNode]) {
			o.w.fail("ordinal %s has two live containers: %s started beside another", place, record.Container)
		}
		o.places[place], o.homes[record.ID] = record.ID, record.Labels[api.LabelNode]
	}
	o.sameFiles(record)
	known, ok := o.w.archive.of(task)
	if ok && known.exclusive {
		o.alone(record, known)
	}
	if isLab(*record.Spec) {
		o.w.labs.began(known.owner, record)
	}
	if ok && known.task.Class == api.ClassOnce {
		if o.starts[task]++; o.starts[task] > 1 {
			o.w.fail("%s ran its command %d times", record.Container, o.starts[task])
		}
		if step := known.owner + " " + known.task.ContainerName(); known.task.Role == api.RoleCommand {
			if o.steps[step]++; o.steps[step] > 1 {
				o.w.fail("the release command %s ran %d times", record.Container, o.steps[step])
			}
		}
	}
}

// doubles reports whether two containers of an ordinal may run on two nodes.
func (o *watched) doubles(one, other string) bool {
	return o.w.archive.mayDouble(one) || o.w.archive.mayDouble(other)
}

// alone: where runs may not overlap, no other runs, but on a node that is cut off.
func (o *watched) alone(record hollow.Record, mine taskRecord) {
	for task := range o.alive {
		other, ok := o.w.archive.of(task)
		if ok && task != mine.task.ID && other.exclusive && other.owner == mine.owner &&
			!o.w.archive.mayOverlap(task, mine.task.ID) {
			o.w.fail("%s starts beside %s, although no two runs may overlap", record.Container, other.task.ContainerName())
		}
	}
}

// guard names the containers that may not end from now on, but for a number of them.
func (o *watched) guard(containers map[string]string, spare int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.guarded, o.spare = containers, spare
}

// restored: containers that ran since the copy was made may run again.
func (o *watched) restored() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.starts)
	clear(o.steps)
}

func (o *watched) isOrdinal(task string) bool {
	known, ok := o.w.archive.of(task)
	if !ok {
		return false
	}
	_, is := known.task.Ordinal()
	return is
}

func (o *watched) died(record hollow.Record) {
	if known, _ := o.w.archive.of(record.Labels[api.LabelTask]); isLab(*record.Spec) {
		o.w.labs.died(known.owner, record)
	}
	if o.guarded[record.ID] != "" {
		delete(o.guarded, record.ID)
		if o.spare--; o.spare < 0 {
			o.w.fail("%s was taken down by a release that never got good, beyond a step", record.Container)
		}
	}
	for _, where := range []map[string]string{o.alive, o.places} {
		for key, id := range where {
			if id == record.ID {
				delete(where, key)
			}
		}
	}
}

func (w *World) imageName(id string) string {
	w.images.mu.Lock()
	defer w.images.mu.Unlock()
	return w.images.by[id]
}
