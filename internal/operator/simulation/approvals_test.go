//go:build simulate

package simulation

import (
	"encoding/json"
	"math/rand/v2"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/core/approval"
	"tend.dev/tend/internal/core/approval/approvaltest"
	"tend.dev/tend/internal/operator/simulation/cluster"
)

// guarded is the part of the spec of an operation that needs an approval.
const guarded = `,"approvals":{"required":true}`

// runGuardedCommand runs a command that a person must approve.
func runGuardedCommand(w *World, random *rand.Rand) {
	w.operation(pick(random, applications), "RunCommand", "job",
		`{"image":"busybox:1","args":["work"],"backoffLimit":0}`+guarded)
}

// decideOnOperation approves an operation that needs it, or denies it.
func decideOnOperation(w *World, random *rand.Rand) {
	var waiting []api.Object
	for _, object := range w.plane.objects(api.KindOperation) {
		var spec api.OperationSpec
		if json.Unmarshal(object.Spec, &spec) == nil && spec.Approvals != nil && object.Metadata.DeletedAt == nil {
			waiting = append(waiting, object)
		}
	}
	if len(waiting) == 0 {
		return
	}
	object := pick(random, waiting)
	decision := verbs.Approval{
		Why: "simulated", Deny: random.IntN(4) == 0, UID: object.Metadata.UID, Generation: object.Metadata.Generation,
	}
	at := object.Scope + "/" + object.Name
	w.mu.Lock()
	before := w.approved[at]
	w.approved[at] = before || !decision.Deny // the operator may act before the verb returns
	w.mu.Unlock()
	_, err := w.plane.Verbs().Approve(w.ctx, verbs.TargetOf(object.Ref()), decision, "ada")
	w.storyf("%s is approved: %t (%v)", object.Ref(), !decision.Deny, err)
	if err != nil {
		w.mu.Lock()
		w.approved[at] = before
		w.mu.Unlock()
	}
}

// forgeApproval sets a claim, signed with another secret, in the cluster.
func forgeApproval(w *World, random *rand.Rand) {
	all := w.cluster.List(cluster.Operation)
	if len(all) == 0 {
		return
	}
	live := pick(random, all)
	claim, err := approvaltest.Sign(approval.Claim{
		Operation: live.GetName(), UID: string(live.GetUID()), Expires: time.Now().Add(time.Hour).Unix(),
	}, []byte("another secret"))
	if err != nil {
		w.fail("sign: %v", err)
	}
	w.storyf("an approval of %s/%s is forged", live.GetNamespace(), live.GetName())
	w.patch(cluster.Operation, live.GetNamespace(), live.GetName(), map[string]any{
		"spec": map[string]any{"approvals": map[string]any{"claim": claim}},
	})
}

// started: the object of an operation that needs an approval is not made before a person gave it.
func (o *oracle) started(at string) {
	o.w.mu.Lock()
	approved := o.w.approved[at]
	o.w.mu.Unlock()
	if !approved {
		o.w.fail("the object of the operation %s is made, and no person approved it", at)
	}
}
