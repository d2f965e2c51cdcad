package simulation

import (
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// labMoves are the only moves of a lab.
var labMoves = map[api.LabPhase][]api.LabPhase{
	"":                  {api.LabPending},
	api.LabPending:      {api.LabProvisioning},
	api.LabProvisioning: {api.LabRunning, api.LabFailed},
	api.LabRunning:      {api.LabCompleted, api.LabFailed, api.LabTimeout},
}

// said: a lab only moves forward, and its status agrees with its container's life.
func (l *labs) said(op store.Op) {
	var status api.LabStatus
	decode(op.Value, &status)
	life := l.lives[l.uids[records.DesiredPrefix+strings.TrimPrefix(op.Key, records.StatusPrefix)]]
	if life == nil {
		return
	}
	was := life.phase
	life.phase = status.Phase
	switch moved := was != status.Phase; {
	case !moved, was == restoredPhase:
		return
	case !slices.Contains(labMoves[was], status.Phase):
		l.w.fail("%s moves from %q to %s", life.ref, was, status.Phase)
		return
	}
	l.w.storyf("%s is %s (%s)", life.ref, status.Phase, status.Reason)
	switch status.Phase {
	case api.LabRunning:
		if life.started.IsZero() && !life.before {
			l.w.fail("%s is said to run, and no container of it was started", life.ref)
		}
		if status.Reason != api.ReasonRunning {
			l.w.fail("%s is said to run, for the reason %s: %s", life.ref, status.Reason, status.Message)
		}
	case api.LabTimeout:
		l.timedOut(life)
	case api.LabCompleted:
		if ended := !life.ended.IsZero() && life.code == 0; !ended && life.orders.StoppedBy == "" && !life.before {
			l.w.fail("%s is said to be done, but its container ended with %d (%s) and no one stopped it", life.ref,
				life.code, life.ended)
		}
	case api.LabFailed:
		l.failed(life, status)
	}
}

// timedOut: a lab times out only once its container has run for its whole time.
func (l *labs) timedOut(life *labLife) {
	if ran := time.Since(life.started); !life.started.IsZero() && l.w.rightSince(life.made) && ran < life.whole() {
		l.w.fail("the time of %s is said to be over after %s, it is %s", life.ref, ran, life.whole())
	}
}

// failed: a lab whose container exited with 0 has not failed by that, and a lab is lost only with a silent node.
func (l *labs) failed(life *labLife, status api.LabStatus) {
	if status.ExitCode != nil && !life.ended.IsZero() && *status.ExitCode != life.code {
		l.w.fail("%s is said to have failed with %d, its container ended with %d", life.ref, *status.ExitCode, life.code)
	}
	if status.Reason == api.ReasonExited && !life.ended.IsZero() && life.code == 0 {
		l.w.fail("%s is said to have failed, although its container ended with 0", life.ref)
	}
	if status.Reason == api.ReasonNodeLost && status.Task != "" {
		l.w.archive.lost(life.ref.String(), status.Task)
	}
}

// whole returns the time for which a lab may run, from the store.
func (life *labLife) whole() time.Duration {
	if len(life.declared) == 0 {
		return 0
	}
	return life.declared[len(life.declared)-1].spec.Duration.Or(0) + life.orders.Extended
}
