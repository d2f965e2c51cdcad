package link

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/puller"
)

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// east is a Cluster with a registration token, and its operator at noon.
func east() Input {
	return Input{
		Cluster: &opsv1alpha1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: "east", UID: "u-1", Generation: 1, Finalizers: []string{identity.FinalizerCluster}},
			Spec: opsv1alpha1.ClusterSpec{
				ControlPlaneEndpoint: "https://tend:7700", RegistrationTokenSecretRef: &opsv1alpha1.TokenRef{Name: "tend-registration"},
			},
		},
		Counts: "east", Enabled: true, Secret: "credentials", Namespace: "system", Token: Token{Value: "a token"}, Now: noon,
		Controllers: []opsv1alpha1.ControllerStatus{{Name: controllerFlux, Installed: true}},
	}
}

// connected is east after its registration, with a working session.
func connected() Input {
	in := east()
	in.Credentials = &Credentials{
		Owner: "u-1", ClusterID: "east", Token: "t-1", RegisteredWith: in.Token.fingerprint(), RegisteredAt: noon.Add(-time.Hour),
	}
	in.Cluster.Status = Decide(in).Status
	in.Connection = State{Busy: true, Health: &puller.Health{Connected: true, Authenticated: true}, RoundTrip: noon}
	in.Cluster.Status = Decide(in).Status
	return in
}

func with(in Input, changes ...func(*Input)) Input {
	for _, change := range changes {
		change(&in)
	}
	return in
}

func ended(kind ExchangeKind, failure Failure, before time.Duration) func(*Input) {
	return func(in *Input) {
		request := in.Token.fingerprint() + " "
		if kind == Rotate {
			request = fmt.Sprint(in.Cluster.Generation)
		}
		in.Connection.Exchanges = map[ExchangeKind]Outcome{
			kind: {For: request, At: in.Now.Add(-before), Failure: failure, Message: "it says no"},
		}
	}
}

func health(connected, authenticated bool) func(*Input) {
	return func(in *Input) {
		in.Connection.Health = &puller.Health{Connected: connected, Authenticated: authenticated, Reason: "it says why"}
	}
}

func later(d time.Duration) func(*Input) { return func(in *Input) { in.Now = in.Now.Add(d) } }

func rotates(in *Input) { in.Cluster.Spec.RotateCredentials, in.Cluster.Generation = true, 2 }

// said returns a plan in one line: phase, conditions and request.
func said(p Plan) string {
	words := []string{string(p.Status.Phase)}
	for _, c := range p.Status.Conditions {
		if c.Type != opsv1alpha1.ConditionControllersHealthy && c.Type != opsv1alpha1.ConditionBufferOverflow &&
			c.Reason != opsv1alpha1.DisconnectedConnected {
			words = append(words, c.Type+"="+string(c.Status)+"/"+c.Reason)
		}
	}
	if p.Wanted.Run {
		words = append(words, "run")
	}
	if p.Wanted.Exchange.Kind != "" {
		words = append(words, string(p.Wanted.Exchange.Kind))
	}
	if p.Drop {
		words = append(words, "drop")
	}
	if !p.Finalizer {
		words = append(words, "free")
	}
	return strings.Join(words, " ")
}

// TestDecide checks the state machine: for each observation, what is reported and done.
func TestDecide(t *testing.T) {
	for name, row := range map[string]struct {
		reason string
		in     Input
		want   string
		after  time.Duration
	}{
		"new": {"a token that was not used is exchanged", east(),
			"Registering Authenticated=False/CredentialMissing Connected=False/RegistrationPending register", 0},
		"no secret": {"the Secret is watched: nothing to do until it is there", with(east(), func(in *Input) { in.Token = Token{Problem: "no Secret"} }),
			"Pending Authenticated=False/TokenSecretMissing Connected=False/RegistrationPending", 0},
		"no reference": {"nothing says how to register", with(east(), func(in *Input) { in.Token, in.Cluster.Spec.RegistrationTokenSecretRef = Token{}, nil }),
			"Pending Authenticated=False/CredentialMissing Connected=False/CredentialMissing", 0},
		"refused": {"a refused token is tried rarely", with(east(), ended(Register, Refused, 0)),
			"Error Authenticated=False/RegistrationFailed Connected=False/RegistrationTokenInvalid", retryRefused},
		"refused long ago": {"it may have been the server's fault", with(east(), ended(Register, Refused, retryRefused)),
			"Error Authenticated=False/RegistrationFailed Connected=False/RegistrationTokenInvalid register", 0},
		"another token": {"what was refused was another token", with(east(), ended(Register, Refused, 0), func(in *Input) { in.Token.Value = "another" }),
			"Registering Authenticated=False/CredentialMissing Connected=False/RegistrationPending register", 0},
		"unreachable": {"a network that fails says nothing about the token", with(east(), ended(Register, Unreachable, 10*time.Second)),
			"Registering Authenticated=False/CredentialMissing Connected=False/ControlPlaneUnreachable", 20 * time.Second},
		"not stored": {"the credential is asked for again", with(east(), ended(Register, Local, retryUnreachable)),
			"Error Authenticated=False/RegistrationFailed Connected=False/RegistrationPending register", 0},
		"connected": {"all is well", connected(), "Connected Authenticated=True/CredentialAccepted Connected=True/RoundTripOK run", heartbeatEvery},
		"token used": {"a crash after the Secret was written: the token is not used again", with(connected(), func(in *Input) {
			in.Cluster.Status, in.Connection = opsv1alpha1.ClusterStatus{}, State{}
		}), "Registering Authenticated=True/RegistrationComplete Connected=True/ControlPlaneReachable run", heartbeatEvery},
		"made by hand": {"a Secret that nobody registered for is adopted", with(connected(), func(in *Input) {
			in.Cluster.Status, in.Credentials.RegisteredWith, in.Credentials.Owner = opsv1alpha1.ClusterStatus{}, "", ""
		}), "Connected Authenticated=True/CredentialAccepted Connected=True/RoundTripOK run", heartbeatEvery},
		"operator restarted": {"what is not known yet stays", with(connected(), func(in *Input) { in.Connection = State{} }),
			"Connected Authenticated=True/CredentialAccepted Connected=True/RoundTripOK run", heartbeatEvery},
		"new token": {"another token is exchanged while the old credential works", with(connected(), func(in *Input) { in.Token.Value = "another" }),
			"Connected Authenticated=True/CredentialAccepted Connected=True/RoundTripOK run register", heartbeatEvery},
		"new token refused": {"the credential in use holds", with(connected(), func(in *Input) { in.Token.Value = "another" }, ended(Register, Refused, 0)),
			"Connected Authenticated=True/CredentialAccepted Connected=True/RoundTripOK run", heartbeatEvery},
		"forced": {"the annotation has the token used again", with(connected(), func(in *Input) {
			in.Cluster.Annotations = map[string]string{identity.AnnotationRotate: "monday"}
		}), "Connected Authenticated=True/CredentialAccepted Connected=True/RoundTripOK run register", heartbeatEvery},
		"forced before": {"once", with(connected(), func(in *Input) {
			in.Cluster.Annotations, in.Credentials.Forced = map[string]string{identity.AnnotationRotate: "monday"}, "monday"
		}), "Connected Authenticated=True/CredentialAccepted Connected=True/RoundTripOK run", heartbeatEvery},
		"rejected": {"the control plane answers, but refuses the credential", with(connected(), health(true, false)),
			"Error Authenticated=False/CredentialRejected Connected=True/ControlPlaneReachable run", heartbeatEvery},
		"network": {"that no request works says nothing about the credential", with(connected(), health(false, true)),
			"Disconnected Authenticated=True/CredentialAccepted Connected=False/ControlPlaneUnreachable run", heartbeatEvery},
		"network, long": {"silent for five minutes", with(connected(), health(false, true), later(5*time.Minute)),
			"Disconnected Authenticated=True/CredentialAccepted Connected=False/ControlPlaneUnreachable Disconnected=True/NoRecentRoundTrip run", heartbeatEvery},
		"network, nearly": {"and it is looked at in time", with(connected(), health(false, true), later(5*time.Minute-10*time.Second)),
			"Disconnected Authenticated=True/CredentialAccepted Connected=False/ControlPlaneUnreachable run", 10 * time.Second},
		"rotation": {"asked for", with(connected(), rotates), "Connected Authenticated=True/CredentialAccepted Connected=True/RoundTripOK run rotate", heartbeatEvery},
		"rotated": {"done once", with(connected(), rotates, ended(Rotate, NoFailure, 0)),
			"Connected Authenticated=True/CredentialAccepted Connected=True/RoundTripOK run", heartbeatEvery},
		"rotation refused": {"the answer says so", with(connected(), rotates, ended(Rotate, Refused, 30*time.Second)),
			"Error Authenticated=False/RotationFailed Connected=True/RoundTripOK run", 30 * time.Second},
		"rotation unreachable": {"it is tried again, and nothing else changes", with(connected(), rotates, ended(Rotate, Unreachable, retryRotation)),
			"Connected Authenticated=True/CredentialAccepted Connected=True/RoundTripOK run rotate", heartbeatEvery},
		"another's credentials": {"they are those of a Cluster that was deleted", with(connected(), func(in *Input) {
			in.Credentials.Owner, in.Cluster.Status = "u-0", opsv1alpha1.ClusterStatus{}
		}), "Registering Authenticated=False/CredentialMissing Connected=False/RegistrationPending register drop", 0},
		"gitops":   {"nobody polls", with(connected(), func(in *Input) { in.Cluster.Spec.ConnectivityMode = opsv1alpha1.ModeGitOps }), "", 0},
		"disabled": {"nobody polls", with(connected(), func(in *Input) { in.Enabled = false }), "", 0},
		"second":   {"there is one Cluster", with(east(), func(in *Input) { in.Counts = "older" }), "Pending Connected=False/RegistrationPending free", 0},
		"deleted": {"the agent ends first", with(connected(), func(in *Input) { in.Cluster.DeletionTimestamp = at(noon) }),
			"Terminating Authenticated=True/CredentialAccepted Connected=True/RoundTripOK", 0},
		"deleted, idle": {"then the Cluster goes", with(connected(), func(in *Input) { in.Cluster.DeletionTimestamp, in.Connection = at(noon), State{} }),
			"Terminating Authenticated=True/CredentialAccepted Connected=True/RoundTripOK free", 0},
	} {
		t.Run(name, func(t *testing.T) {
			plan := Decide(row.in)
			if got := said(plan); got != row.want {
				t.Errorf("%s:\n got %s\nwant %s", row.reason, got, row.want)
			}
			if plan.After != row.after {
				t.Errorf("%s: look again after %s, want %s", row.reason, plan.After, row.after)
			}
			again := row.in
			again.Cluster = row.in.Cluster.DeepCopy()
			again.Cluster.Status = plan.Status
			second := Decide(again)
			if !equality.Semantic.DeepEqual(second.Status, plan.Status) ||
				len(transitions(plan.Status.Conditions, second.Status.Conditions)) > 0 {
				t.Errorf("%s: decided again, the status differs:\n%+v\n%+v", row.reason, plan.Status, second.Status)
			}
		})
	}
}

// TestDisconnectedIsSticky: five silent minutes set it, and one good minute clears it.
func TestDisconnectedIsSticky(t *testing.T) {
	in := with(connected(), health(false, true))
	step := func(d time.Duration, is metav1.ConditionStatus) {
		t.Helper()
		in.Now = in.Now.Add(d)
		plan := Decide(in)
		in.Cluster.Status = plan.Status
		for _, c := range plan.Status.Conditions {
			if c.Type == opsv1alpha1.ConditionDisconnected && c.Status != is {
				t.Errorf("after %s: %s, want %s", in.Now.Sub(noon), c.Status, is)
			}
		}
	}
	step(4*time.Minute, metav1.ConditionFalse)
	step(time.Minute, metav1.ConditionTrue)
	health(true, true)(&in)
	in.Connection.RoundTrip = in.Now
	step(0, metav1.ConditionTrue)
	step(30*time.Second, metav1.ConditionTrue)
	step(30*time.Second, metav1.ConditionFalse)
}

// TestRotationIsAskedForOnce: true, false and true again cause two rotations. The spec is not written.
func TestRotationIsAskedForOnce(t *testing.T) {
	in := with(connected(), rotates, ended(Rotate, NoFailure, 0))
	plan := Decide(in)
	if !plan.Status.RotationObserved || len(plan.Events) != 1 || plan.Events[0].Reason != eventRotated {
		t.Fatalf("%+v", plan)
	}
	in.Cluster.Status = plan.Status
	in.Cluster.Spec.RotateCredentials, in.Cluster.Generation = false, 3
	plan = Decide(in)
	if plan.Status.RotationObserved || plan.Wanted.Exchange.Kind != "" {
		t.Fatalf("%+v", plan)
	}
	in.Cluster.Status = plan.Status
	in.Cluster.Spec.RotateCredentials, in.Cluster.Generation = true, 4
	if plan = Decide(in); plan.Wanted.Exchange.Kind != Rotate {
		t.Fatalf("%+v", plan)
	}
}

// TestEventsOfTheConnection: each transition is an Event; the important ones have names of their own.
func TestEventsOfTheConnection(t *testing.T) {
	reasons := func(in Input) string {
		var all []string
		for _, e := range Decide(in).Events {
			all = append(all, fmt.Sprintf("%s %v", e.Reason, e.Warning))
		}
		return strings.Join(all, ", ")
	}
	for name, row := range map[string]struct {
		in   Input
		want string
	}{
		"lost":     {with(connected(), health(false, true)), "ConnectivityLost true"},
		"rejected": {with(connected(), health(true, false)), "CredentialRejected true, ControlPlaneReachable false"},
		"same":     {connected(), ""},
		"no flux":  {with(connected(), func(in *Input) { in.Controllers = []opsv1alpha1.ControllerStatus{{Name: controllerFlux}} }), "ControllerMissing true"},
	} {
		if got := reasons(row.in); got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

// TestKeysCountOnceRegistered: keys that came with a token count for its exchange, and for nothing else before it.
func TestKeysCountOnceRegistered(t *testing.T) {
	former, others := Trust{JobKeys: "k0", ApprovalSecret: "s0"}, Trust{Authority: "ca", JobKeys: "k1", ApprovalSecret: "s1"}
	token := func(value string, trust Trust) func(*Input) {
		return func(in *Input) { in.Credentials.Trust, in.Token = former, Token{Value: value, Trust: trust} }
	}
	byHand := func(in *Input) { in.Credentials.RegisteredWith, in.Cluster.Status = "", opsv1alpha1.ClusterStatus{} }
	for name, row := range map[string]struct {
		in       Input
		link     Trust
		exchange Trust
	}{
		"new":            {with(east(), func(in *Input) { in.Token.Trust = others }), others, others},
		"registered":     {with(connected(), token("a token", others)), others, Trust{}},
		"another token":  {with(connected(), token("another", others)), Trust{"ca", "", "k0", "s0"}, others},
		"refused":        {with(connected(), token("another", others), ended(Register, Refused, 0)), Trust{"ca", "", "k0", "s0"}, Trust{}},
		"keys taken out": {with(connected(), token("a token", Trust{})), former, Trust{}},
		"Secret is gone": {with(connected(), token("", Trust{})), former, Trust{}},
		"made by hand":   {with(connected(), token("a token", others), byHand), others, Trust{}},
	} {
		wanted := Decide(row.in).Wanted
		if wanted.Link.Trust != row.link || wanted.Exchange.Trust != row.exchange {
			t.Errorf("%s: %+v and, for the exchange, %+v; want %+v and %+v",
				name, wanted.Link.Trust, wanted.Exchange.Trust, row.link, row.exchange)
		}
	}
}
