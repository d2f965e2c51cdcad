package verbs

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verb"
	"tend.dev/tend/internal/core/access"
	"tend.dev/tend/internal/store/records"
)

type rebootstrapInput struct {
	Ordinal int `query:"ordinal" required:"true"`
}

var _ = Declare(verb.Verb{
	Name: "rebootstrap", Summary: "Recreate one ordinal of a statefulset with empty volumes",
	Rule: access.Deployers("rebootstrap"),
	Commands: []verb.Command{{
		Path: "rebootstrap", Use: "[KIND] SCOPE/NAME ORDINAL",
		Short: "recreate one ordinal of a statefulset with empty volumes",
		Long: "Stop one ordinal of a statefulset, remove its container and the volumes of its volume_claims, and recreate it.\n" +
			"WHAT THE VOLUMES HOLD IS LOST. No other ordinal is touched, and no other command removes a volume. On a terminal it\n" +
			"asks first; elsewhere it wants --yes.",
		Example: "  tend rebootstrap prod/db 2\n  tend rebootstrap statefulset prod/db 2 --yes",
		Rest:    1, Waits: true, Read: verb.Reads(readOrdinal),
		Asks: func(ref api.Ref, input any) string {
			return "This removes what the volumes of " + podName(ref,
				strconv.Itoa(input.(*rebootstrapInput).Ordinal)) + " hold, for good."
		},
		Says: verb.Says(func(ref api.Ref, in rebootstrapInput, result api.VerbResult) string {
			pod := podName(ref, strconv.Itoa(in.Ordinal))
			if len(result.Volumes) == 0 {
				return pod + " is recreated; it has no volumes"
			}
			return fmt.Sprintf("%s is recreated, without what was in %s", pod, strings.Join(result.Volumes, ", "))
		}),
	}},
}, func(ctx context.Context, s *Service, r Request[rebootstrapInput]) (api.VerbResult, error) {
	return s.Rebootstrap(ctx, r.Target, r.In.Ordinal, r.Actor)
})

func readOrdinal(at string, rest []string, in *rebootstrapInput) (err error) {
	if len(rest) != 1 {
		return fmt.Errorf("say which ordinal: tend rebootstrap %s 0", at)
	}
	if in.Ordinal, err = strconv.Atoi(rest[0]); err != nil || in.Ordinal < 0 {
		return fmt.Errorf("%q is not an ordinal: want 0 or more", rest[0])
	}
	return nil
}

// Rebootstrap recreates one ordinal of a statefulset with empty volumes. It is the only verb that removes an ordinal's
// volumes. It only writes a nonce, which the controller compares with the one that the ordinal's task carries; so the
// controller finds out what to remove as often as it reconciles. Rebootstrap also thaws the ordinal: a user who
// rebootstraps wants it to run.
func (s *Service) Rebootstrap(ctx context.Context, target Target, ordinal int, actor string) (api.VerbResult, error) {
	return s.renew(ctx, "rebootstrap", target, ordinal, actor)
}

// Recreate recreates one ordinal of a statefulset as Rebootstrap does, but keeps its volumes. Volumes whose removal is
// already requested are still removed.
func (s *Service) Recreate(ctx context.Context, target Target, ordinal int, actor string) (api.VerbResult, error) {
	return s.renew(ctx, verbRecreate, target, ordinal, actor)
}

const verbRecreate = "recreate"

func (s *Service) renew(
	ctx context.Context, verb string, target Target, ordinal int, actor string,
) (api.VerbResult, error) {
	return s.verb(ctx, verb, FieldManager{Actor: actor}, func(snap records.Snapshot) (*verbDecision, error) {
		object, err := target.findSlotted(snap, "made again", "tend "+verb+" %s ORDINAL", api.Kind.HasSlots)
		if err != nil {
			return nil, err
		}
		ref, slot := object.Value.Ref(), strconv.Itoa(ordinal)
		if ref.Kind != api.KindStatefulSet {
			return nil, invalid("use `tend restart`", "%s has no ordinals and no volumes of their own", ref)
		}
		spec, err := api.DecodeSpec[api.StatefulSetSpec](*object.Value)
		if err != nil {
			return nil, err
		}
		if err := checkOrdinal(ref, slot, spec.ReplicaCount()); err != nil {
			return nil, err
		}
		task, err := bootstrapped(snap, ref, slot)
		if err != nil {
			return nil, err
		}
		next := *object.Value
		next.Metadata.Stamps = next.Metadata.CopyStamps()
		wipes := stampRenewal(next.Metadata.Stamps, *task.Value, verb == verbRecreate)
		next.Metadata.Change = &api.Change{Verb: verb, Actor: actor}
		decided := unchanged(verb, object)
		write(decided, object, next, s.opts.Now())
		decided.txn.If(records.TaskKey(task.Value.ID), task.Modified)
		if wipes {
			decided.result.Volumes = volumesOfTask(snap, *task.Value, spec, ordinal)
		}
		if mark := marks(snap, ref)[slot]; mark.Exists() {
			key := records.FrozenKey(ref, slot)
			decided.txn.If(key, mark.Modified).Delete(key)
			decided.result.Unfrozen = []string{podName(ref, slot)}
		}
		return decided, nil
	})
}

// stampRenewal raises the nonce of a task's ordinal, and reports whether its volumes are removed. A request to keep
// them doesn't cancel a removal that was requested before and is still to be done.
func stampRenewal(stamps map[string]string, task api.Task, keep bool) (wipes bool) {
	stamp, kept := api.StampRebootstrap+task.Slot, api.StampKeepVolumes+task.Slot
	before := stamps[stamp]
	pending := asNonce(before) > asNonce(task.Bootstrap) && stamps[kept] != before
	stamps[stamp] = nextNonce(before)
	if keep && !pending {
		stamps[kept] = stamps[stamp]
		return false
	}
	delete(stamps, kept)
	return true
}

func asNonce(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// bootstrapped returns the task whose end empties the volumes: one that is on a node, and not on its way out already,
// so that what was asked for can't be lost.
func bootstrapped(snap records.Snapshot, ref api.Ref, slot string) (records.Read[api.Task], error) {
	var task records.Read[api.Task]
	if id := snap.Slot(ref, slot); id.Exists() {
		task = snap.Task(*id.Value)
	}
	if !task.Exists() || task.Value.Node == "" || task.Value.Desired == api.DesiredRemoved {
		return task, &Error{Reason: Busy, Detail: podName(ref,
			slot) + " is just being made or removed; nothing was stored",
			Next: "try again when `tend get pods` lists it"}
	}
	return task, nil
}

// volumesOfTask returns the volumes that are removed: those the task's own release claims.
func volumesOfTask(snap records.Snapshot, task api.Task, spec api.StatefulSetSpec, ordinal int) []string {
	claims := spec.VolumeClaims
	if release := snap.ReleaseOf(task); release.Exists() {
		if was, err := api.DecodeWorkload(task.Kind, release.Value.Spec); err == nil {
			claims = was.Claims
		}
	}
	return claimVolumes(task.Owner(), claims, ordinal)
}
