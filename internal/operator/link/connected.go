package link

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
)

// registered handles a cluster that has credentials.
func (p *planner) registered() {
	c, status := p.Credentials, &p.plan.Status
	fresh := c.RegisteredWith != "" && c.RegisteredWith != status.ObservedToken
	status.ClusterID = c.ClusterID
	status.ObservedToken = cmp.Or(c.RegisteredWith, status.ObservedToken, p.Token.fingerprint())
	status.CredentialsSecretRef = &opsv1alpha1.SecretRef{Name: p.Secret, Namespace: p.Namespace}
	status.CredentialStatus = &opsv1alpha1.CredentialStatus{
		SecretName: p.Secret, SecretNamespace: p.Namespace, RegistrationTokenConsumed: c.RegisteredWith != "",
	}
	if !c.RegisteredAt.IsZero() {
		status.CredentialStatus.RegisteredAt = at(c.RegisteredAt)
	}
	p.plan.Wanted.Run, p.plan.Wanted.Token = true, c.Token
	p.connection(fresh)
	p.rotate()
	p.disconnection()
	p.buffer()
	p.phase()
	p.again(heartbeatEvery)
}

// connection sets Connected and Authenticated from the puller's report, and leaves them alone if there is none. A
// network failure says nothing about the credential.
func (p *planner) connection(fresh bool) {
	switch health := p.Connection.Health; {
	case health == nil:
		if fresh || p.beforeRegistration() {
			p.set(opsv1alpha1.ConditionAuthenticated, metav1.ConditionTrue, opsv1alpha1.AuthenticatedRegistered, "")
			p.set(opsv1alpha1.ConditionConnected, metav1.ConditionTrue, opsv1alpha1.ConnectedReachable, "")
		}
	case health.Connected && health.Authenticated:
		p.set(opsv1alpha1.ConditionAuthenticated, metav1.ConditionTrue, opsv1alpha1.AuthenticatedAccepted, p.note())
		p.set(opsv1alpha1.ConditionConnected, metav1.ConditionTrue, opsv1alpha1.ConnectedRoundTripOK, "")
	case health.Connected:
		p.set(opsv1alpha1.ConditionAuthenticated, metav1.ConditionFalse, opsv1alpha1.AuthenticatedRejected,
			health.Reason+": register again, with another token in the Secret")
		p.set(opsv1alpha1.ConditionConnected, metav1.ConditionTrue, opsv1alpha1.ConnectedReachable, "the control plane answers, but refuses")
	default:
		if p.beforeRegistration() {
			p.set(opsv1alpha1.ConditionAuthenticated, metav1.ConditionTrue, opsv1alpha1.AuthenticatedRegistered, "")
		}
		p.set(opsv1alpha1.ConditionConnected, metav1.ConditionFalse, opsv1alpha1.ConnectedUnreachable, health.Reason)
	}
}

// beforeRegistration reports whether Authenticated still describes a cluster without credentials.
func (p *planner) beforeRegistration() bool {
	c := meta.FindStatusCondition(p.plan.Status.Conditions, opsv1alpha1.ConditionAuthenticated)
	if c == nil {
		return true
	}
	switch c.Reason {
	case opsv1alpha1.AuthenticatedCredentialMissing, opsv1alpha1.AuthenticatedTokenMissing,
		opsv1alpha1.AuthenticatedRegistrationFailed:
		return true
	}
	return false
}

// disconnection sets Disconnected if no request has succeeded for five minutes, and clears it once the connection has
// worked for one.
func (p *planner) disconnection() {
	conditions := p.plan.Status.Conditions
	was := meta.IsStatusConditionTrue(conditions, opsv1alpha1.ConditionDisconnected)
	connected := meta.FindStatusCondition(conditions, opsv1alpha1.ConditionConnected)
	if connected == nil {
		return
	}
	since := p.Now.Sub(connected.LastTransitionTime.Time)
	isConnected := connected.Status == metav1.ConditionTrue
	silent := since
	if last := timeOf(p.plan.Status.LastHeartbeat); !last.IsZero() {
		silent = p.Now.Sub(last)
	}
	if trip := p.Connection.RoundTrip; !trip.IsZero() {
		silent = min(silent, p.Now.Sub(trip))
	}
	is := was
	switch {
	case was && isConnected && since >= connectedAfter:
		is = false
	case was && isConnected:
		p.again(connectedAfter - since)
	case !was && !isConnected && silent >= disconnectedAfter:
		is = true
	case !was && !isConnected:
		p.again(disconnectedAfter - silent)
	}
	if is {
		p.set(opsv1alpha1.ConditionDisconnected, metav1.ConditionTrue, opsv1alpha1.DisconnectedNoRoundTrip, "no request to the control plane has succeeded for some time")
	} else {
		p.set(opsv1alpha1.ConditionDisconnected, metav1.ConditionFalse, opsv1alpha1.DisconnectedConnected, "")
	}
}

func (p *planner) buffer() {
	if p.Connection.Dropped > 0 {
		p.set(opsv1alpha1.ConditionBufferOverflow, metav1.ConditionTrue, opsv1alpha1.BufferFull,
			"events were dropped; all conditions are sent again once the control plane answers")
		return
	}
	p.set(opsv1alpha1.ConditionBufferOverflow, metav1.ConditionFalse, opsv1alpha1.BufferDrained, "")
}

// phase summarizes the conditions.
func (p *planner) phase() {
	conditions, status := p.plan.Status.Conditions, &p.plan.Status
	authenticated := meta.FindStatusCondition(conditions, opsv1alpha1.ConditionAuthenticated)
	switch {
	case authenticated != nil && authenticated.Status == metav1.ConditionFalse:
		status.Phase = opsv1alpha1.ClusterError
	case meta.IsStatusConditionFalse(conditions, opsv1alpha1.ConditionConnected): // as kubectl's column Connected shows
		status.Phase = opsv1alpha1.ClusterDisconnected
	case authenticated == nil || authenticated.Reason == opsv1alpha1.AuthenticatedRegistered:
		status.Phase = opsv1alpha1.ClusterRegistering
	default:
		status.Phase = opsv1alpha1.ClusterConnected
	}
}
