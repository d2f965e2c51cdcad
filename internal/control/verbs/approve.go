package verbs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verb"
	"tend.dev/tend/internal/core/access"
	"tend.dev/tend/internal/core/approval"
	"tend.dev/tend/internal/core/clusterjob"
	"tend.dev/tend/internal/store/records"
)

// The bounds of an approval.
const (
	// ApprovalLife is the default validity of an approval, MaxApprovalLife the longest. An operation that has started
	// by then is not affected.
	ApprovalLife    = 24 * time.Hour
	MaxApprovalLife = 31 * 24 * time.Hour
	maxWhy          = 256
)

// annotationCancel on an operation ends it.
const annotationCancel = "ops.vworkspace.io/cancel"

// Approval is a person's decision about an operation.
type Approval struct {
	// Why is for the record; it is in the claim.
	Why string `query:"reason" doc:"why, for the audit and the claim"`
	// Life is the time until the approval expires. Default ApprovalLife.
	Life time.Duration `query:"valid" doc:"how long the approval is valid, 24h by default"`
	// Deny ends the operation instead.
	Deny bool `query:"deny"`
	// UID and Generation are those of the operation that the person saw. An approval needs both. Default of a denial:
	// whatever it is.
	UID        string `query:"uid" doc:"the operation's metadata.uid, which an approval needs: another operation of the name is not approved"`
	Generation int64  `query:"generation" doc:"the generation that was seen, which an approval needs: another one is not approved"`
}

var _ = Declare(verb.Verb{
	Name: "approve", Summary: "Approve an operation that waits for it; with deny end it instead",
	Rule: access.Rule{Least: api.Admin, Bound: access.Named, Does: "approve"},
}, func(ctx context.Context, s *Service, r Request[Approval]) (api.VerbResult, error) {
	return s.Approve(ctx, r.Target, r.In, r.Actor)
})

// sees returns an error unless an operation is the one that the person saw. What nobody says to have seen is not
// approved.
func (a Approval) sees(object api.Object) error {
	refused := &Error{Reason: Changed, Next: "see what it is now, and decide again: tend approve " + object.Scope + "/" + object.Name}
	is := object.Metadata
	switch {
	case !a.Deny && (a.UID == "" || a.Generation == 0):
		return invalid("name what was seen: uid and generation of its metadata, as tend approve does",
			"an approval of %s needs the uid and the generation that were seen", object.Ref())
	case a.UID != "" && a.UID != is.UID:
		refused.Detail = object.Ref().String() + " was deleted, and declared again, since it was shown"
	case a.Generation != 0 && a.Generation != is.Generation:
		refused.Detail = fmt.Sprintf("%s has generation %d, and was shown as of generation %d", object.Ref(),
			is.Generation, a.Generation)
	default:
		return nil
	}
	return refused
}

// Approve approves an operation that has not started, or ends it. The claim that the cluster's operator checks is bound
// to the one resource in the cluster, to its parameters and to its policy.
func (s *Service) Approve(ctx context.Context, target Target, a Approval, actor string) (api.VerbResult, error) {
	a.Life = cmp.Or(a.Life, ApprovalLife)
	if a.Life < time.Second || a.Life > MaxApprovalLife {
		return api.VerbResult{}, invalid("say how long, such as 24h", "%s is outside %s to %s",
			api.ShortDuration(a.Life), api.ShortDuration(time.Second), api.ShortDuration(MaxApprovalLife))
	}
	if len(a.Why) > maxWhy {
		return api.VerbResult{}, invalid("say it in fewer words",
			"the reason has %d characters, and may have %d", len(a.Why), maxWhy)
	}
	by := FieldManager{Manager: api.ManagerApproval, Actor: actor, ForceConflicts: true}
	return s.verb(ctx, "approve", by, func(snap records.Snapshot) (*verbDecision, error) {
		return s.prepareApproval(snap, target, a, by)
	})
}

func (s *Service) prepareApproval(
	snap records.Snapshot, target Target, a Approval, by FieldManager,
) (*verbDecision, error) {
	object, err := target.findLive(snap)
	if err != nil {
		return nil, err
	}
	if object.Value.Kind != api.KindOperation {
		return nil, invalid("name an operation", "%s can't be approved", object.Value.Ref())
	}
	if err := a.sees(*object.Value); err != nil {
		return nil, err
	}
	status, err := waitingFor(snap, *object.Value, a.Deny)
	if err != nil {
		return nil, err
	}
	next, decided := *object.Value, unchanged("approve", object)
	if a.Deny {
		next.Metadata.Annotations = maps.Clone(next.Metadata.Annotations)
		if next.Metadata.Annotations == nil {
			next.Metadata.Annotations = map[string]string{}
		}
		next.Metadata.Annotations[annotationCancel] = strings.TrimSuffix("denied by "+
			api.ActorName(by.Actor)+": "+a.Why, ": ")
		write(decided, object, next, s.opts.Now())
		return decided, nil
	}
	if next.Spec, err = s.approve(snap, *object.Value, status, a, by.Actor); err != nil {
		return nil, err
	}
	return decided, s.amend(snap, decided, object, next, by, func(field string) bool { return field == approvalsField })
}

// waitingFor returns the status of an operation that can be approved or denied: its cluster has it, and it has not
// started.
func waitingFor(snap records.Snapshot, object api.Object, deny bool) (*api.DeliveredStatus, error) {
	stored, _ := snap.Get(records.StatusKey(object.Ref()))
	status, _ := stored.Value.(*api.DeliveredStatus)
	if status == nil {
		status = &api.DeliveredStatus{}
	}
	running := api.FindCondition(status.Conditions, api.OperationRunning)
	switch ended := clusterjob.Ended(status.Conditions); { // the phase is also that of a delivery that failed
	case ended != "":
		return nil, invalid("to do it again, apply an operation of another name", "%s has ended: %s", object.Ref(), ended)
	case !deny && running != nil && running.Status == api.ConditionTrue:
		return nil, invalid("tend describe op "+object.Scope+"/"+object.Name, "%s runs already", object.Ref())
	}
	if !deny && (status.Delivery == nil || status.Delivery.Resource == nil || status.Delivery.Resource.UID == "") {
		return nil, invalid("wait until its cluster has it (tend get op), then approve it",
			"%s is not in its cluster yet", object.Ref())
	}
	return status, nil
}

const approvalsField = "approvals"

// approve returns the spec with the approval. What else there is of it stays.
func (s *Service) approve(
	snap records.Snapshot, object api.Object, status *api.DeliveredStatus, a Approval, actor string,
) (json.RawMessage, error) {
	spec, err := api.DecodeSpec[api.OperationSpec](object)
	if err != nil {
		return nil, err
	}
	secret, err := s.approvalSecret(snap, spec.Cluster)
	if err != nil {
		return nil, err
	}
	parameters, err := json.Marshal(spec.Parameters)
	if err != nil {
		return nil, fmt.Errorf("write the parameters: %w", err)
	}
	digest, err := approval.Digest(parameters)
	if err != nil {
		return nil, err
	}
	var demands approval.Policy
	if policy := spec.Policy; policy != nil && policy.RequireReady != nil {
		demands.RequireReady = *policy.RequireReady
	}
	policy, err := demands.Digest()
	if err != nil {
		return nil, err
	}
	now, by := s.opts.Now().UTC(), api.ActorName(actor)
	claim, err := approval.Sign(approval.Claim{
		At: now.Format(time.RFC3339), By: by, Expires: now.Add(a.Life).Unix(), Namespace: object.Scope,
		Operation:  object.Name,
		Parameters: digest, Policy: policy, Request: now.UnixMicro(), UID: status.Delivery.Resource.UID, Why: a.Why,
	}, secret)
	if err != nil {
		return nil, err
	}
	given := api.Approvals{}
	if spec.Approvals != nil {
		given = *spec.Approvals
	}
	given.Claim, given.ApprovedBy, given.ApprovedAt = claim, by, now.Format(time.RFC3339)
	text, err := json.Marshal(given)
	if err != nil {
		return nil, fmt.Errorf("write the approval: %w", err)
	}
	return withField(object.Spec, approvalsField, text)
}

// approvalSecret returns what the claims of a cluster are signed with.
func (s *Service) approvalSecret(snap records.Snapshot, name string) ([]byte, error) {
	declared, access := snap.Cluster(name), snap.ClusterAccess(name)
	if s.opts.MAC == nil || !declared.Exists() || !access.Exists() || access.Value.UID != declared.Value.Metadata.UID {
		return nil, invalid("tend clusters add "+name, "cluster %s is not registered", name)
	}
	return []byte(clusterjob.ApprovalSecret(s.opts.MAC, *access.Value)), nil
}
