package link

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
)

// register decides whether to exchange the registration token. A token is exchanged once: its fingerprint is stored
// together with the credentials, so that a crash can't separate the two. Credentials that a person stored are adopted.
func (p *planner) register() {
	fingerprint, forced := p.Token.fingerprint(), force(p.Cluster)
	if fingerprint == "" {
		return
	}
	if c := p.Credentials; c != nil && p.isRegistered() && (forced == "" || forced == c.Forced) {
		return
	}
	wanted := Exchange{
		Kind: Register, For: fingerprint + " " + forced, Token: p.Token.Value, Trust: p.Token.Trust, Forced: forced,
	}
	retry := retryUnreachable
	if p.failed(Register, wanted.For).Failure == Refused {
		retry = retryRefused
	}
	if p.failed(Register, wanted.For).Failure != NoFailure {
		if wait := p.failed(Register, wanted.For).At.Add(retry).Sub(p.Now); wait > 0 {
			p.again(wait)
			return
		}
	}
	p.plan.Wanted.Exchange = wanted
}

// isRegistered reports whether the credentials were issued for this registration token. Credentials stored by a person
// don't name a token; then the first token seen counts.
func (p *planner) isRegistered() bool {
	is := p.Token.fingerprint()
	return is != "" && is == cmp.Or(p.Credentials.RegisteredWith, p.Cluster.Status.ObservedToken, is)
}

// failed returns the last outcome of a kind of exchange if it was for this request, and otherwise the zero Outcome.
func (p *planner) failed(kind ExchangeKind, request string) Outcome {
	if o := p.Connection.Exchanges[kind]; o.For == request {
		return o
	}
	return Outcome{}
}

// attempt returns the outcome of the last attempt with the current token.
func (p *planner) attempt() Outcome {
	return p.failed(Register, p.Token.fingerprint()+" "+force(p.Cluster))
}

// force returns the annotation that requests another exchange of the registration token, or an empty text.
func force(c *opsv1alpha1.Cluster) string {
	value := strings.TrimSpace(c.Annotations[identity.AnnotationRotate])
	if value == "false" {
		return ""
	}
	return value
}

// unregistered handles a cluster without credentials.
func (p *planner) unregistered() {
	authenticated := func(reason, message string) {
		p.set(opsv1alpha1.ConditionAuthenticated, metav1.ConditionFalse, reason, message)
	}
	connected := func(reason, message string) {
		p.set(opsv1alpha1.ConditionConnected, metav1.ConditionFalse, reason, message)
	}
	p.plan.Status.CredentialStatus, p.plan.Status.CredentialsSecretRef = nil, nil
	attempt := p.attempt()
	switch {
	case p.Token.Value == "" && p.Cluster.Spec.RegistrationTokenSecretRef == nil:
		p.plan.Status.Phase = opsv1alpha1.ClusterPending
		authenticated(opsv1alpha1.AuthenticatedCredentialMissing, p.Token.Problem)
		connected(opsv1alpha1.ConnectedCredentialMissing, p.Token.Problem)
	case p.Token.Value == "":
		p.plan.Status.Phase = opsv1alpha1.ClusterPending
		authenticated(opsv1alpha1.AuthenticatedTokenMissing, p.Token.Problem)
		connected(opsv1alpha1.ConnectedRegistrationPending, "there is no registration token")
	case attempt.Failure == Refused:
		p.plan.Status.Phase = opsv1alpha1.ClusterError
		authenticated(opsv1alpha1.AuthenticatedRegistrationFailed, attempt.Message)
		connected(opsv1alpha1.ConnectedTokenInvalid, "the control plane refuses the registration token: put a new one into the Secret")
	case attempt.Failure == Local:
		p.plan.Status.Phase = opsv1alpha1.ClusterError
		authenticated(opsv1alpha1.AuthenticatedRegistrationFailed, attempt.Message)
		connected(opsv1alpha1.ConnectedRegistrationPending, "the registration could not be completed")
	case attempt.Failure == Unreachable:
		p.plan.Status.Phase = opsv1alpha1.ClusterRegistering
		authenticated(opsv1alpha1.AuthenticatedCredentialMissing, "not registered yet")
		connected(opsv1alpha1.ConnectedUnreachable, attempt.Message)
	default:
		p.plan.Status.Phase = opsv1alpha1.ClusterRegistering
		authenticated(opsv1alpha1.AuthenticatedCredentialMissing, "not registered yet")
		connected(opsv1alpha1.ConnectedRegistrationPending, "registering")
	}
}

// rotate decides whether to rotate the credential: once each time that spec.rotateCredentials becomes true.
func (p *planner) rotate() {
	status := &p.plan.Status
	if !p.Cluster.Spec.RotateCredentials {
		status.RotationObserved = false
		return
	}
	if status.RotationObserved {
		return
	}
	wanted := p.rotation()
	last := p.failed(Rotate, wanted.For)
	switch {
	case last.For == "":
	case last.Failure == NoFailure:
		status.RotationObserved = true
		p.plan.Events = append(p.plan.Events, Event{
			Reason: eventRotated, Message: "the control plane issued a new credential",
			Condition: metav1.Condition{Type: eventRotated, LastTransitionTime: metav1.NewTime(p.Now)},
		})
		return
	default:
		if last.Failure == Refused {
			p.set(
				opsv1alpha1.ConditionAuthenticated, metav1.ConditionFalse, opsv1alpha1.AuthenticatedRotationFailed, last.Message,
			)
		}
		if wait := last.At.Add(retryRotation).Sub(p.Now); wait > 0 {
			p.again(wait)
			return
		}
	}
	if p.plan.Wanted.Exchange.Kind == "" {
		p.plan.Wanted.Exchange = wanted
	}
}

// note returns a message about a failed exchange while the credentials in use are still valid.
func (p *planner) note() string {
	if attempt := p.attempt(); attempt.Failure != NoFailure {
		return fmt.Sprintf("registering again failed: %s; the credentials in use are accepted", attempt.Message)
	}
	if last := p.failed(Rotate, p.rotation().For); p.Cluster.Spec.RotateCredentials && last.Failure != NoFailure {
		return fmt.Sprintf("rotating the credentials failed: %s; the credentials in use are accepted", last.Message)
	}
	return ""
}

// rotation returns the exchange that the current spec requests.
func (p *planner) rotation() Exchange {
	return Exchange{Kind: Rotate, For: strconv.FormatInt(p.Cluster.Generation, 10)}
}
