package verbs

import (
	"context"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// Freeze marks slots as stopped on purpose: only Thaw or Restart starts them again. Without slots, it marks all that
// are wanted running.
func (s *Service) Freeze(ctx context.Context, target Target, slots []string, actor string) (api.StopResult, error) {
	return s.mark(ctx, "freeze", actor, func(snap records.Snapshot) (*Decision[api.StopResult], error) {
		return prepareFreeze(snap, target, slots, actor, s.opts.Now())
	})
}

// Thaw removes the marks, so that the slots run again. Without slots, it removes all marks of the object.
func (s *Service) Thaw(ctx context.Context, target Target, slots []string, actor string) (api.StopResult, error) {
	return s.mark(ctx, "thaw", actor, func(snap records.Snapshot) (*Decision[api.StopResult], error) {
		return prepareThaw(snap, target, slots)
	})
}

func (s *Service) mark(
	ctx context.Context, verb, actor string, prepare func(records.Snapshot) (*Decision[api.StopResult], error),
) (api.StopResult, error) {
	decided, revision, err := decide(FieldManager{Actor: actor}.asks(ctx, verb), s, prepare)
	if err != nil {
		return api.StopResult{}, err
	}
	decided.result.Revision, decided.result.Changed = revision, revision != 0
	s.note(ctx, verb, actor, revision, decided.result.Object)
	return decided.result, nil
}

func prepareFreeze(snap records.Snapshot, target Target, slots []string, actor string, now time.Time,
) (*Decision[api.StopResult], error) {
	object, err := target.findSlotted(snap, "stopped", "tend stop %s", api.Kind.HasContainers)
	if err != nil {
		return nil, err
	}
	ref := object.Value.Ref()
	decided := &Decision[api.StopResult]{txn: records.NewTxn("freeze"),
		result: api.StopResult{Object: ref, Frozen: true}}
	marked := marks(snap, ref)
	if ref.Kind == api.KindStatefulSet {
		return decided, freezeOrdinals(decided, object, marked, slots, actor, now)
	}
	live := liveSlots(snap, ref)
	if len(slots) == 0 {
		slots = live.order
	}
	for _, slot := range slots {
		decided.result.Pods = append(decided.result.Pods, podName(ref, slot))
		if marked[slot].Exists() {
			continue
		}
		task, ok := live.tasks[slot]
		if !ok {
			return nil, notFound("`tend get pods` lists what runs", "%s is not wanted running", podName(ref, slot))
		}
		key := records.FrozenKey(ref, slot)
		decided.txn.If(key, 0).Put(key, api.Frozen{Slot: slot, By: actor, At: now})
		// A slot that is replaced meanwhile must not leave its mark behind.
		decided.txn.If(records.TaskKey(task.Value.ID), task.Modified)
	}
	return decided, nil
}

func prepareThaw(snap records.Snapshot, target Target, slots []string) (*Decision[api.StopResult], error) {
	object, err := target.findSlotted(snap, "started", startCommand, api.Kind.HasSlots)
	if err != nil {
		return nil, err
	}
	ref := object.Value.Ref()
	decided := &Decision[api.StopResult]{txn: records.NewTxn("thaw"), result: api.StopResult{Object: ref}}
	wanted := make(map[string]bool, len(slots))
	for _, slot := range slots {
		wanted[slot] = true
	}
	for _, mark := range snap.Frozen(ref) {
		if slot := mark.Value.Slot; len(slots) == 0 || wanted[slot] {
			key := records.FrozenKey(ref, slot)
			decided.txn.If(key, mark.Modified).Delete(key)
			decided.result.Pods = append(decided.result.Pods, podName(ref, slot))
		}
	}
	return decided, nil
}

func marks(snap records.Snapshot, ref api.Ref) map[string]records.Read[api.Frozen] {
	out := map[string]records.Read[api.Frozen]{}
	for _, mark := range snap.Frozen(ref) {
		out[mark.Value.Slot] = mark
	}
	return out
}

type slotTasks struct {
	order []string
	tasks map[string]records.Read[api.Task]
}

// liveSlots returns the slots whose task is wanted running, oldest first.
func liveSlots(snap records.Snapshot, ref api.Ref) slotTasks {
	out := slotTasks{tasks: map[string]records.Read[api.Task]{}}
	for _, task := range snap.TasksOf(ref) {
		if task.Value.Desired == api.DesiredRunning && task.Value.Role == api.RoleMain {
			// a command of a release fills no slot
			out.order = append(out.order, task.Value.Slot)
			out.tasks[task.Value.Slot] = task
		}
	}
	return out
}
