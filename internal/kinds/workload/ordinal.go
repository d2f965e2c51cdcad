package workload

import (
	"slices"
	"strconv"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/rollout"
	"tend.dev/tend/internal/core/volumes"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/records"
)

// ordered reports whether the slots are ordinals.
func (o observed) ordered() bool { return o.ref.Kind == api.KindStatefulSet }

// bootstrap returns the nonce of the last request to recreate a slot.
func (o observed) bootstrap(slot string) string { return o.stamp(api.StampRebootstrap + slot) }

// rebootstraps reports whether a task must still be replaced so that its ordinal is recreated with empty volumes. Only
// a nonce above the task's own requests that, so that a nonce that got lost empties nothing. A task without a node has
// nothing to empty yet.
func (o observed) rebootstraps(task api.Task) bool {
	return o.ordered() && task.Node != "" && nonce(o.bootstrap(task.Slot)) > nonce(task.Bootstrap)
}

func nonce(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// noting records on an ordinal's task, when it is stopped, which attempt follows it and after which failure.
func (s *writes) noting(action rollout.Action) records.Read[api.Task] {
	read := s.tasks[action.Task].Desired
	if action.NextAttempt == 0 {
		return read
	}
	task := *read.Value
	task.NextAttempt, task.Failed = action.NextAttempt, s.failed(action)
	read.Value = &task
	return read
}

// failed returns the failure to record, with the last lines of the container that failed.
func (s *writes) failed(action rollout.Action) *api.TaskFailure {
	if action.Failed == nil {
		return nil
	}
	failed := *action.Failed
	if t := s.tasks[action.Task]; t.Status != nil && len(t.Status.LastLog) > 0 {
		failed.LastLog = t.Status.LastLog
	} else if before := t.Desired.Value.Failed; before != nil {
		failed.LastLog = before.LastLog
	}
	return &failed
}

// keepsVolumes reports whether the newest request to recreate the ordinal keeps its volumes.
func (o observed) keepsVolumes(slot string) bool {
	return nonce(o.bootstrap(slot)) > 0 && o.stamp(api.StampKeepVolumes+slot) == o.bootstrap(slot)
}

// wiping has the agent remove the ordinal's volumes after the container, if a person requested that: by a rebootstrap,
// or by a deletion that includes the volumes. Every other deletion keeps them.
func (s *writes) wiping(read records.Read[api.Task]) records.Read[api.Task] {
	asked := s.o.rebootstraps(*read.Value) && !s.o.keepsVolumes(read.Value.Slot)
	if s.o.deleting() {
		asked = s.o.ordered() && read.Value.Node != "" && s.o.stamp(api.StampWipe) != ""
	}
	if !asked {
		return read
	}
	task := *read.Value
	task.Wipe = true
	if s.o.deleting() {
		task.WipeSlots = s.leftOn(task.Node)
	}
	read.Value = &task
	return read
}

// leftOn returns the ordinals that the object no longer has, and whose volumes lie on a node, joined by commas.
func (s *writes) leftOn(node string) string {
	spec, err := api.DecodeSpec[api.StatefulSetSpec](*s.o.object.Value)
	if err != nil {
		return ""
	}
	from := spec.ReplicaCount()
	for _, task := range s.tasks {
		if n, ok := task.Desired.Value.Ordinal(); ok {
			from = max(from, n+1)
		}
	}
	var slots []string
	for _, left := range volumes.Left(s.at.Homes(), s.o.ref, spec.VolumeClaims, from) {
		if slot := strconv.Itoa(left.Ordinal); left.Node == node && !slices.Contains(slots, slot) {
			slots = append(slots, slot)
		}
	}
	return strings.Join(slots, ",")
}

// forgetVolumes deletes the records of where the volumes are that a deletion removed with a task: the agent has removed
// them once nothing is left of the task. A recreated ordinal gets new ones in the same place, and keeps the records.
func (s *writes) forgetVolumes(task owner.Task) {
	gone := task.Desired.Value
	release := s.at.ReleaseOf(*gone)
	if !s.o.deleting() || !gone.Wipe || task.Away || !release.Exists() {
		return
	}
	spec, err := api.DecodeWorkload(gone.Kind, release.Value.Spec)
	if err != nil {
		return
	}
	for slot := range strings.SplitSeq(strings.TrimSuffix(gone.Slot+","+gone.WipeSlots, ","), ",") {
		ordinal, _ := strconv.Atoi(slot)
		for _, claim := range spec.Claims {
			key := records.HomeKey(api.ClaimVolume(s.o.ref, claim.Name, ordinal))
			home, _ := s.at.Get(key)
			if home.Value == gone.Node && !s.txn.Writes(key) { // all tasks of a node name what is left there
				s.txn.If(key, home.Modified).Delete(key)
			}
		}
	}
}

// createOrdinal fills an ordinal. If it already had a task, the old and the new one change hands in one step. A task
// whose node is off stays as a leftover, without the volumes' removal: a request for that is carried out on the new
// one.
func (s *writes) createOrdinal(action rollout.Action) {
	ref := s.o.ref
	task := api.Task{
		ID: s.at.NewTask(), Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, OwnerUID: s.o.uid(), Slot: action.Slot,
		Release: action.Version.Release, Restart: action.Version.Restart, Pull: s.o.stamp(api.StampPull),
		Class: api.ClassKeep, Monitor: monitor(action), Attempt: action.Attempt, Bootstrap: s.o.bootstrap(action.Slot),
		Desired: api.DesiredRunning, CreatedAt: s.at.Now,
	}
	if action.Task == "" {
		s.txn.CreateTask(task)
		return
	}
	task.Failed = s.failed(action)
	old, away := s.tasks[action.Task].Desired, s.tasks[action.Task].Away
	if (away || !old.Value.Wipe) && !s.o.keepsVolumes(action.Slot) {
		task.Bootstrap = old.Value.Bootstrap // the request is still to be carried out
	}
	if away {
		s.txn.SupersedeTask(old, s.o.slot(action.Slot), task, s.at.Now)
		return
	}
	s.txn.ReplaceTask(old, s.o.slot(action.Slot), task)
}
