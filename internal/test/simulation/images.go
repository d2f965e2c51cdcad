package simulation

import (
	"context"
	"strings"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
)

// images are the engine's images with the behaviour of their programs, which the tag names.
type images struct {
	mu sync.Mutex
	by map[string]string // id → reference
}

// The tags: a number is a good version.
const (
	tagCrash   = "crash"   // ends at once with 1
	tagUnready = "unready" // runs, and is never ready
	tagDies    = "dies"    // exits with 1 before the monitor time is over, ready by its probe or not
	tagFail    = "fail"    // a job's: ends with 1
	tagBad     = "bad"     // no container can be created from it
	tagMissing = "missing" // is nowhere
)

var (
	versions    = []string{"1", "2", "3"}
	badVersions = []string{tagCrash, tagUnready, tagDies, tagBad, tagMissing}
)

// stock puts all images on the machine.
func (w *World) stock() {
	w.images.by = map[string]string{}
	for _, name := range []string{"web", "api", "db", "swap", "task", "tick"} {
		for _, tag := range append([]string{tagCrash, tagUnready, tagDies, tagFail, tagBad}, versions...) {
			w.addImage(name + ":" + tag)
		}
	}
}

// restock restores missing images.
func (w *World) restock() {
	engine := w.engine.Client("the oracle", "n1")
	for _, name := range []string{"web", "api", "db", "task"} {
		for _, tag := range versions {
			if _, err := engine.Resolve(context.Background(), name+":"+tag); err != nil {
				w.addImage(name + ":" + tag)
			}
		}
	}
}

func (w *World) addImage(reference string) { w.knowImage(w.engine.AddImage(reference), reference) }

func (w *World) knowImage(id, reference string) {
	w.images.mu.Lock()
	defer w.images.mu.Unlock()
	w.images.by[id] = reference
}

// diesAfter is the life of a version that dies.
const diesAfter = 3 * time.Second

// runTime is the run time of a good version of a job.
var runTime = map[string]time.Duration{"1": time.Second, "2": 5 * time.Second, "3": 80 * time.Second}

type behaviour struct{ neverReady bool }

func (w *World) behaviourOf(imageID string) behaviour {
	w.images.mu.Lock()
	defer w.images.mu.Unlock()
	_, tag, _ := strings.Cut(w.images.by[imageID], ":")
	return behaviour{neverReady: tag == tagUnready || tag == tagCrash}
}

// behave returns the behaviour of a container of a spec.
func (w *World) behave(spec runtime.ContainerSpec) hollow.Behaviour {
	_, tag, _ := strings.Cut(spec.Image, ":")
	once := spec.Restart == "no" && (spec.Spec.Command != nil || isJob(spec))
	switch {
	case tag == tagBad:
		return hollow.Behaviour{CreateError: &runtime.RejectedError{Reason: "InvalidMount", Detail: "no such folder",
			Next: "change volumes"}}
	case spec.Labels[api.LabelRole] == api.RoleInit:
		return hollow.Behaviour{Exits: true, ExitAfter: 200 * time.Millisecond}
	case isLab(spec):
		return behaveAsLab(tag)
	case once && tag == tagFail:
		return hollow.Behaviour{Exits: true, ExitAfter: 3 * time.Second, ExitCode: 1, Output: []string{"failing"}}
	case once:
		return hollow.Behaviour{Exits: true, ExitAfter: runTime[tag]}
	case tag == tagCrash:
		return hollow.Behaviour{Exits: true, ExitAfter: 100 * time.Millisecond, ExitCode: 1, Output: []string{"crashing"}}
	case tag == tagDies:
		return hollow.Behaviour{Exits: true, ExitAfter: diesAfter, ExitCode: 1, Output: []string{"dying"}}
	}
	return hollow.Behaviour{}
}

func isJob(spec runtime.ContainerSpec) bool {
	return api.Kind(spec.Labels[api.LabelKind]).HasRuns()
}
