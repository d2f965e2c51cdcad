package link

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
)

// The intervals and limits of a connection.
const (
	// heartbeatEvery is the interval at which the status and the control plane are informed that the connection works.
	heartbeatEvery = time.Minute
	// disconnectedAfter is the time without a successful request after which the cluster counts as disconnected.
	// connectedAfter is the time that the connection must work before it counts as connected again.
	disconnectedAfter = 5 * time.Minute
	connectedAfter    = time.Minute
	// retryUnreachable, retryRefused and retryRotation are the waits before another attempt at an exchange.
	retryUnreachable = 30 * time.Second
	retryRefused     = 5 * time.Minute
	retryRotation    = time.Minute
)

// planner builds a Plan.
type planner struct {
	Input
	plan Plan
}

// Decide returns the status of a Cluster and the request for its connection.
func Decide(in Input) Plan {
	p := &planner{Input: in}
	p.plan.Status = *in.Cluster.Status.DeepCopy()
	p.plan.Status.ObservedGeneration = in.Cluster.Generation
	p.plan.Status.OperatorVersion = in.Version
	switch {
	case in.Cluster.DeletionTimestamp != nil:
		p.terminate()
		return p.finish()
	case in.Counts != in.Cluster.Name:
		p.refuse(fmt.Sprintf("the Cluster %s already describes this cluster: delete one of the two", in.Counts))
		return p.finish()
	}
	p.plan.Finalizer = true
	p.plan.Status.ManagedNamespaces = in.Managed
	p.controllers()
	if mode := cmp.Or(in.Cluster.Spec.ConnectivityMode, opsv1alpha1.ModePull); mode != opsv1alpha1.ModePull ||
		!in.Enabled {
		p.unpolled()
		return p.finish()
	}
	p.plan.Wanted.Cluster, p.plan.Wanted.UID = in.Cluster.Name, in.Cluster.UID
	if c := in.Credentials; c != nil && c.Owner != "" && c.Owner != in.Cluster.UID {
		p.plan.Drop, p.Credentials = true, nil
	}
	p.link()
	p.register()
	if p.Credentials == nil {
		p.unregistered()
	} else {
		p.registered()
	}
	return p.finish()
}

// terminate waits for the connection to end. Stored objects are deleted with their owner.
func (p *planner) terminate() {
	p.plan.Finalizer = p.Connection.Busy && p.Counts == p.Cluster.Name
	p.plan.Status.Phase = opsv1alpha1.ClusterTerminating
}

func (p *planner) refuse(message string) {
	p.plan.Status.Phase = opsv1alpha1.ClusterPending
	p.set(opsv1alpha1.ConditionConnected, metav1.ConditionFalse, opsv1alpha1.ConnectedRegistrationPending, message)
}

// unpolled handles a cluster that this operator doesn't poll for: nothing is known about a connection.
func (p *planner) unpolled() {
	p.plan.Status.Phase, p.plan.Status.LastHeartbeat = "", nil
	for _, kind := range []string{
		opsv1alpha1.ConditionConnected, opsv1alpha1.ConditionDisconnected, opsv1alpha1.ConditionAuthenticated,
		opsv1alpha1.ConditionBufferOverflow,
	} {
		p.unset(kind)
	}
}

// link sets the address and trust of the control plane. The registration Secret takes precedence while it exists,
// because the user edits it. Its keys count only after its token was exchanged: until then the control plane
// signs for the stored keys.
func (p *planner) link() {
	link := &p.plan.Wanted.Link
	link.Endpoint = strings.TrimRight(p.Cluster.Spec.ControlPlaneEndpoint, "/")
	link.ClusterID, link.Trust = p.Cluster.Spec.ClusterID, p.Token.Trust
	if p.Credentials == nil {
		return
	}
	link.ClusterID = p.Credentials.ClusterID
	if link.Trust == (Trust{}) {
		link.Trust = p.Credentials.Trust
	}
	if !p.isRegistered() {
		link.Trust.JobKeys, link.Trust.ApprovalSecret = "", ""
	}
	link.Trust = link.Trust.keeping(p.Credentials.Trust)
}

// controllers reports which of the required controllers are installed. Flux must be.
func (p *planner) controllers() {
	p.plan.Status.Controllers = p.Controllers
	for _, c := range p.Controllers {
		if c.Name == controllerFlux && !c.Installed {
			p.set(opsv1alpha1.ConditionControllersHealthy, metav1.ConditionFalse, opsv1alpha1.ControllersMissing, "flux: "+c.Message)
			return
		}
	}
	p.set(opsv1alpha1.ConditionControllersHealthy, metav1.ConditionTrue, opsv1alpha1.ControllersReady, "")
}

// again sets the time of the next reconcile. The earliest wins.
func (p *planner) again(after time.Duration) {
	after = max(after, time.Second)
	if p.plan.After == 0 || after < p.plan.After {
		p.plan.After = after
	}
}

// finish completes the status. If only the time of the last round trip changed, it is written once a minute.
func (p *planner) finish() Plan {
	status, trip := &p.plan.Status, p.Connection.RoundTrip
	if status.Phase != "" && trip.After(timeOf(status.LastHeartbeat)) {
		if trip.Sub(timeOf(status.LastHeartbeat)) >= heartbeatEvery ||
			!equality.Semantic.DeepEqual(p.Cluster.Status, *status) {
			status.LastHeartbeat = at(trip)
		}
	}
	p.plan.Events = append(transitions(p.Cluster.Status.Conditions, status.Conditions), p.plan.Events...)
	if p.plan.Finalizer && !slices.Contains(p.Cluster.Finalizers, identity.FinalizerCluster) &&
		p.Cluster.DeletionTimestamp != nil {
		p.plan.Finalizer = false // a deleting object must not get new finalizers
	}
	return p.plan
}

// at returns a time in its stored form.
func at(t time.Time) *metav1.Time {
	stored := metav1.NewTime(t.UTC().Truncate(time.Second))
	return &stored
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}
