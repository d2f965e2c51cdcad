package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/healing"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/reconciler"
)

// wipeAgain is the delay before the removal of a volume is retried.
const wipeAgain = 5 * time.Second

// claimed is the volume of one claim of an ordinal.
type claimed struct {
	volume, claim, path string
}

// claimsOf returns the volumes of a task's ordinal.
func claimsOf(task api.Task, release node.Release) []claimed {
	ordinal, ok := task.Ordinal()
	if !ok {
		return nil
	}
	out := make([]claimed, len(release.Claims))
	for i, claim := range release.Claims {
		out[i] = claimed{api.ClaimVolume(task.Owner(), claim.Name, ordinal), claim.Name, claim.MountPath}
	}
	return out
}

// withClaims returns the release's spec with the ordinal's volumes among its mounts.
func withClaims(task api.Task, release node.Release) api.DeploymentSpec {
	spec := release.Spec
	spec.Volumes = slices.Clone(spec.Volumes)
	for _, c := range claimsOf(task, release) {
		spec.Volumes = append(spec.Volumes, c.volume+":"+c.path)
	}
	return spec
}

// olderVolumes is a runtime that knows the volumes of the predecessor.
type olderVolumes interface {
	// OlderVolume returns the predecessor's volume for one of Tend's, if Tend's has yet to be created; else "".
	OlderVolume(ctx context.Context, name string) (string, error)
}

// checkOlder refuses to start with an empty volume if the predecessor's holds the data. An ordinal that is recreated on
// request starts empty all the same.
func (a *Agent) checkOlder(ctx context.Context, task api.Task, volume string) error {
	older, ok := runtime.As[olderVolumes](a.runtime)
	if !ok || task.Bootstrap != "" {
		return nil
	}
	found, err := older.OlderVolume(ctx, volume)
	if err != nil || found == "" {
		return err
	}
	return &runtime.RejectedError{Reason: api.ReasonOlderVolume,
		Detail: fmt.Sprintf("the volume %s holds data of the predecessor, and %s would begin empty", found, volume),
		Next: fmt.Sprintf("copy it: docker volume create %[2]s && docker run --rm -v %[1]s:/from:ro -v %[2]s:/to alpine cp -a /from/. /to; "+
			"or, to begin empty, the first command alone", found, volume)}
}

// checkWriters refuses to create or start a container while another program's container writes to one of its volumes.
// It asks before each start: the other one may have been started since the last one.
//
// A container that exists may start though its release can't be had, and is asked about itself then. What is to be
// created without its release fails for that.
func (a *Agent) checkWriters(ctx context.Context, task api.Task, container *healing.Container) error {
	release, err := a.releases.of(ctx, task)
	switch {
	case err == nil:
		return runtime.CheckWriters(ctx, a.runtime, withClaims(task, release))
	case container != nil:
		return runtime.CheckWritersOf(ctx, a.runtime, container.ID)
	}
	return nil
}

// SecondWriter returns why the containers of spec can't start on this node now: another program's container writes to
// one of their volumes. It is nil if they can.
func (a *Agent) SecondWriter(ctx context.Context, spec api.DeploymentSpec) error {
	return runtime.CheckWriters(ctx, a.runtime, spec)
}

// ensureClaims creates the missing volumes, with labels that people find them by.
func (a *Agent) ensureClaims(ctx context.Context, task api.Task, release node.Release) error {
	for _, c := range claimsOf(task, release) {
		if err := a.checkOlder(ctx, task, c.volume); err != nil {
			return err
		}
		if err := a.runtime.EnsureVolume(ctx, c.volume, c.labels(task)); err != nil {
			return err
		}
	}
	return nil
}

// labels returns the labels of the claim's volume, which say whose it is.
func (c claimed) labels(task api.Task) map[string]string {
	return map[string]string{
		api.LabelKind: string(task.Kind), api.LabelScope: task.Scope, api.LabelName: task.Name,
		api.LabelClaim: c.claim, api.LabelOrdinal: task.Slot,
	}
}

// wipe removes the volumes of an ordinal that a person asked to recreate, or to delete with its volumes, and those of
// the ordinals in WipeSlots. Nothing else in Tend removes a volume. It runs after the container is removed and before
// the task is forgotten, so that after a crash in between it runs again. It leaves a volume of another claim, and names
// it in the error, once all of the ordinal's own are gone.
func (a *Agent) wipe(ctx context.Context, task api.Task) error {
	release, err := a.releases.of(ctx, task)
	if err != nil {
		return fmt.Errorf("find the volumes of ordinal %s: %w", strconv.Quote(task.Slot), err)
	}
	var left error
	for slot := range strings.SplitSeq(strings.TrimSuffix(task.Slot+","+task.WipeSlots, ","), ",") {
		ordinal := task
		ordinal.Slot = slot
		for _, c := range claimsOf(ordinal, release) {
			err := a.runtime.RemoveVolume(ctx, c.volume, c.labels(ordinal))
			switch {
			case isAnothers(err):
				left = errors.Join(left, err)
			case err != nil:
				return err
			default:
				a.log.Info("volume removed", "pod", ordinal.ContainerName(), "volume", c.volume)
			}
		}
	}
	return left
}

// isAnothers reports whether a volume wasn't removed because it belongs to another claim: a later try has no more right
// to it.
func isAnothers(err error) bool {
	var rejected *runtime.RejectedError
	return errors.As(err, &rejected) && rejected.Reason == api.ReasonVolumeTaken
}

// notWiped keeps the task until its volumes are gone, and reports why they aren't: another container may use one. Where
// they are another's, it keeps the task for one period, so that people can read that; done is set once it may be
// forgotten.
func (a *Agent) notWiped(
	assigned node.Assignment, status api.TaskStatus, cause error,
) (again reconciler.Result, done bool) {
	id, reason := assigned.Task.ID, api.ReasonVolumeNotRemoved
	if isAnothers(cause) {
		reason = api.ReasonVolumeTaken
		since, _ := a.foreign.LoadOrStore(id, a.now())
		if status.State == "" || a.now().Sub(since.(time.Time)) >= wipeAgain {
			a.foreign.Delete(id)
			return reconciler.Result{}, true
		}
	}
	if last := a.reports.task(assigned); last.Reason != reason || last.Message != cause.Error() {
		a.log.Warn("volume not removed", "pod", assigned.Task.ContainerName(), "error", cause)
	}
	if status.State != "" {
		status.Reason, status.Message = reason, cause.Error()
		a.reports.reportTask(assigned, status)
	}
	return reconciler.Result{After: wipeAgain}, false
}
