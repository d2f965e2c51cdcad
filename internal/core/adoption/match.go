package adoption

import (
	"cmp"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// Vacant is a task that should run and has no container that does.
type Vacant struct {
	Task api.Task
	// Fingerprint is the fingerprint of the task's release.
	Fingerprint string
	// Succeeded is set if another task is to replace it, or has done so. Tasks without it are matched first.
	Succeeded bool
	// Ended is set if it has a container that has ended. Of the others those without one are matched first.
	Ended bool
}

func (v Vacant) turn() int {
	turn := 0
	if v.Succeeded {
		turn = 2
	}
	if v.Ended {
		turn++
	}
	return turn
}

// Orphan is a container of this cluster whose task the store doesn't know.
type Orphan struct {
	ID, Name string
	// Task, Owner, Slot, Release and its Fingerprint are read from the container's labels.
	Task                 string
	Owner                api.Ref
	Slot                 string
	Release, Fingerprint string
	// Running is false for a container that ended: it takes no place.
	Running bool
	// Auxiliary is set for a container that serves another one, such as an init container.
	Auxiliary bool
}

// Adoption gives a container the place of a task.
type Adoption struct {
	Old api.Task
	// New is the task of the container: a copy of the old one, in the container's slot. It takes over the old task's
	// Replaces.
	New api.Task
}

// Match pairs orphans with vacant tasks and returns the orphans that are left. A pair has the same owner, release
// and fingerprint; an ordinal also the same slot. Each is in at most one pair, and the order of the input doesn't
// matter.
func Match(vacant []Vacant, orphans []Orphan) (adopted []Adoption, left []Orphan) {
	vacant, orphans = slices.Clone(vacant), slices.Clone(orphans)
	slices.SortFunc(vacant, func(a, b Vacant) int {
		return cmp.Or(cmp.Compare(a.turn(), b.turn()), strings.Compare(a.Task.ID, b.Task.ID))
	})
	slices.SortFunc(orphans, func(a, b Orphan) int { return strings.Compare(a.Name+"/"+a.ID, b.Name+"/"+b.ID) })
	for _, o := range orphans {
		at := slices.IndexFunc(vacant, func(v Vacant) bool { return fits(v, o) })
		if at < 0 {
			left = append(left, o)
			continue
		}
		old := vacant[at].Task
		vacant = slices.Delete(vacant, at, at+1)
		next := old
		next.ID, next.Slot, next.After = o.Task, o.Slot, ""
		adopted = append(adopted, Adoption{Old: old, New: next})
	}
	for i := range adopted {
		Rename(&adopted[i].New, adopted)
	}
	return adopted, left
}

// Rename updates task.Replaces if the task replaces one whose place was taken by a container in another slot. It
// reports whether it did.
func Rename(task *api.Task, adopted []Adoption) bool {
	for _, a := range adopted {
		if task.Replaces == a.Old.Slot && task.Owner() == a.Old.Owner() && task.Replaces != "" && a.Old.Slot != a.New.Slot {
			task.Replaces = a.New.Slot
			return true
		}
	}
	return false
}

func fits(v Vacant, o Orphan) bool {
	if !o.Running || o.Auxiliary || o.Task == "" || o.Slot == "" {
		return false
	}
	_, ordinal := v.Task.Ordinal()
	return v.Task.Desired == api.DesiredRunning && v.Task.Run == "" && v.Task.Role == "" &&
		v.Task.Owner() == o.Owner && v.Task.Release == o.Release && v.Fingerprint == o.Fingerprint &&
		(!ordinal || v.Task.Slot == o.Slot)
}
