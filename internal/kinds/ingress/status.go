package ingress

import (
	"fmt"
	"net"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/hosts"
	"tend.dev/tend/internal/core/nextstep"
	"tend.dev/tend/internal/core/suggest"
)

// status returns the status of an ingress.
func (o observed) status(before api.IngressStatus, now time.Time) api.IngressStatus {
	object := o.object.Value
	next := api.IngressStatus{
		ObservedGeneration: object.Metadata.Generation, ObservedRevision: o.object.Modified,
		Host: strings.ToLower(o.spec.Host), TLS: o.spec.Secure(), Service: o.spec.ServiceName(object.Name),
		ReadyPods: o.ready, Pods: o.pods, Traffic: o.traffic, Certificate: o.certificate(),
		Conditions: before.Conditions,
	}
	if at := o.spec.ListensAt(); at.Port != 0 {
		next.Listen = at.String()
	}
	if o.serves {
		next.Port = o.spec.PortOf(o.workload)
	}
	next.URL = o.url()
	o.now = now
	o.unreadySince(before.Conditions, now)
	ready, degraded := o.readiness(), o.trouble()
	next.Conditions = api.SetCondition(next.Conditions, ready, now)
	next.Conditions = api.SetCondition(next.Conditions, degraded, now)
	return next
}

// url returns the address that users open. It includes the port unless it is the default one.
func (o observed) url() string {
	if at := o.spec.ListensAt(); at.Port != 0 {
		return at.URL()
	}
	scheme, usual := "http", "80"
	if o.spec.Secure() {
		scheme, usual = "https", "443"
	}
	host := strings.ToLower(o.spec.Host)
	if _, port, err := net.SplitHostPort(o.listener().Address); err == nil && port != usual && port != "0" &&
		port != "" {
		host = net.JoinHostPort(host, port)
	}
	return scheme + "://" + host
}

// readiness returns the Ready condition: whether requests reach a pod now.
func (o observed) readiness() api.Condition {
	c := api.Condition{Type: api.ConditionReady, Status: api.ConditionFalse}
	c.Reason, c.Message = o.notReadyReason()
	if c.Reason == api.ReasonNoReadyPods {
		c.Next = o.nextStep(c.Reason)
	}
	if c.Reason == "" {
		c.Status, c.Reason = api.ConditionTrue, api.ReasonServed
		c.Message = fmt.Sprintf("%s is served by %d of %d pods of %s", o.url(), o.ready, o.pods,
			o.spec.ServiceName(o.object.Value.Name))
	}
	return c
}

// notReadyReason returns the first problem that keeps requests from a pod.
func (o observed) notReadyReason() (reason, message string) {
	listener, certificate := o.listener(), o.certificate()
	switch {
	case o.broken != nil:
		return api.ReasonInvalidSpec, o.broken.Error() + ": apply a corrected manifest"
	case o.taken != nil:
		return api.ReasonHostTaken, o.taken.Detail
	case listener.Error != "" && len(o.deaf) > 0:
		return api.ReasonNotListening, fmt.Sprintf("%s: stop what holds the port, or choose another (%s)",
			o.notListening(), o.chosenBy())
	case listener.Error != "":
		return api.ReasonNotListening, fmt.Sprintf("%s: stop what holds the port, or choose another (%s)",
			listener.Error, o.chosenBy())
	case listener.Address == "":
		return api.ReasonNotListening, "no node has a proxy for it"
	case !listener.Open:
		return api.ReasonOpening, "the proxy is about to listen at " + listener.Address
	case o.traffic == api.TrafficMaintenance:
		return api.ReasonMaintenance, "requests are answered with 503; `tend ingress resume` lets them through"
	case o.traffic == api.TrafficPaused:
		return api.ReasonPaused, "requests wait; `tend ingress resume` lets them through"
	case !o.serves:
		return api.ReasonNoService, o.noService()
	case o.ready == 0 && len(o.gaps) > 0:
		return api.ReasonPodsUnreached, o.unreached()
	case o.ready == 0:
		return api.ReasonNoReadyPods, o.notReady()
	case o.unheard() != "":
		return api.ReasonNotListening, "node " + o.unheard() + ", which has the proxy for it, does not answer"
	case o.spec.Secure() && !o.spec.TLS.OnDemand && (certificate == nil || certificate.NotAfter.IsZero()):
		if certificate != nil && certificate.Error != "" {
			return api.ReasonCertificateFailed, o.certificateFault(certificate)
		}
		return api.ReasonCertificatePending, "a certificate for " + o.spec.Host + " is being got"
	case certificate != nil && o.over(certificate):
		return api.ReasonCertificateFailed, o.certificateFault(certificate)
	}
	return "", ""
}

// noService says that the workload is missing, and which one was probably meant.
func (o observed) noService() string {
	return o.spec.NoService(o.object.Value.Ref()) + suggest.Behind(o.meant)
}

// notReady returns what the ingress waits for: pods that are yet to be made, or to get ready.
func (o observed) notReady() string {
	switch {
	case o.pods > 1:
		return fmt.Sprintf("none of the %d pods of %s/%s is ready", o.pods, o.leads.Scope, o.leads.Name)
	case o.pods == 1:
		return fmt.Sprintf("the pod of %s/%s isn't ready", o.leads.Scope, o.leads.Name)
	case o.workload.ReplicaCount() == 0:
		return o.leads.String() + " is scaled to 0"
	}
	return "waits for " + o.leads.String()
}

// chosenBy names what says at which port the proxies listen.
func (o observed) chosenBy() string {
	if o.spec.Listen != "" {
		return "listen"
	}
	return "--ingress-http, --ingress-https"
}

// turnedOnBy returns the flag that opens the listener which the ingress needs.
func (o observed) turnedOnBy() string {
	if o.spec.Secure() {
		return "--ingress-https :443"
	}
	return "--ingress-http :80"
}

// trouble returns the Degraded condition: what a person must fix. It leaves out what a person asked for and what
// passes by itself.
func (o observed) trouble() api.Condition {
	c := api.Condition{Type: api.ConditionDegraded, Status: api.ConditionTrue}
	c.Reason, c.Message = o.notReadyReason()
	if _, excused := o.excused(); excused && c.Reason == api.ReasonNoReadyPods {
		c.Reason = ""
	}
	switch c.Reason {
	case api.ReasonInvalidSpec, api.ReasonHostTaken, api.ReasonNotListening, api.ReasonNoService, api.ReasonNoReadyPods,
		api.ReasonPodsUnreached,
		api.ReasonCertificateFailed:
		c.Next = o.nextStep(c.Reason)
		return c
	}
	if o.unserved != nil {
		c.Reason, c.Next = api.ReasonHostTaken, o.unserved.Next
		c.Message = o.unserved.Field + " is not served: " + o.unserved.Detail
		return c
	}
	if len(o.gaps) > 0 {
		c.Reason, c.Message, c.Next = api.ReasonPodsUnreached, o.unreached(), o.nextStep(api.ReasonPodsUnreached)
		return c
	}
	if len(o.deaf) > 0 {
		c.Reason, c.Message, c.Next = api.ReasonNotListening, o.notListening(), o.nextStep(api.ReasonNotListening)
		return c
	}
	if certificate := o.certificate(); certificate != nil && certificate.Error != "" {
		c.Reason, c.Message = api.ReasonCertificateFailed, o.certificateFault(certificate)
		c.Next = o.nextStep(c.Reason)
		return c
	}
	c.Status, c.Reason, c.Message = api.ConditionFalse, "AsExpected", ""
	return c
}

// nextStep returns what to do, where the message doesn't say it.
func (o observed) nextStep(reason string) string {
	service := o.object.Value.Scope + "/" + o.spec.ServiceName(o.object.Value.Name)
	switch reason {
	case api.ReasonHostTaken:
		return o.taken.Next
	case api.ReasonNoService:
		if o.spec.Service == "" {
			return "apply a deployment " + service + ", or name another workload in `service`"
		}
		return "apply a deployment " + service + ", or correct `service`"
	case api.ReasonNoReadyPods:
		_, excused := o.excused()
		switch {
		case o.pods == 0 && o.workload.ReplicaCount() == 0:
			return "tend scale " + service + " 1"
		case excused: // its pods are on their way
			return "tend describe " + service
		}
		return nextstep.GetReady(o.leads.String())
	case api.ReasonCertificateFailed:
		return o.certificateNext()
	case api.ReasonNotListening:
		switch {
		case o.unheard() != "":
			return "start the agent of node " + o.unheard() + ", or one with a proxy on another node"
		case o.listener().Address == "":
			return "start a server or an agent with a proxy (" + o.turnedOnBy() + ")"
		case o.listener().Open:
			return "stop what holds the port on that node, or start its agent with another (--ingress-http, --ingress-https); requests to the other nodes are served"
		}
	case api.ReasonPodsUnreached:
		return "let TCP connections through between the nodes, to the port of --relay-listen (8690)"
	}
	return ""
}

// notListening returns the nodes that can't listen, and why the first can't.
func (o observed) notListening() string {
	names := make([]string, len(o.deaf))
	for i, node := range o.deaf {
		names[i] = node.Node
	}
	noun := "node "
	if len(names) > 1 {
		noun = "nodes "
	}
	return noun + strings.Join(names, ", ") + " can't listen: " + o.listens(o.deaf[0]).Error
}

// unreached describes the first pair of nodes without a connection, with the number of further pairs.
func (o observed) unreached() string {
	first := o.gaps[0]
	text := fmt.Sprintf("node %s can't reach the pods on node %s: %s", first.from, first.to, first.reason)
	if more := len(o.gaps) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// certificateFault returns why the last attempt failed.
func (o observed) certificateFault(c *api.CertificateStatus) string {
	text, ended := c.Error, o.over(c)
	if text == "" && ended {
		text = "clients refuse the certificate, which ended " + c.NotAfter.UTC().Format(time.RFC3339)
		c = &api.CertificateStatus{}
	}
	switch {
	case c.NotAfter.IsZero():
	case ended:
		text += fmt.Sprintf(", and the one there is ended %s", c.NotAfter.UTC().Format(time.RFC3339))
	default:
		text += fmt.Sprintf(", and the one there is ends %s", c.NotAfter.UTC().Format(time.RFC3339))
	}
	return text
}

// certificateNext returns the next step for it.
func (o observed) certificateNext() string {
	switch tls := o.spec.TLS; {
	case tls == nil:
		return ""
	case tls.Certificate != "":
		return "set the config keys again"
	case tls.Provider == "internal":
		return "it is tried again by itself"
	case !hosts.Certifiable(o.spec.Host):
		return "no public authority certifies such a name: use tls { provider = \"internal\" } for it"
	}
	return "let the name resolve to this server, and ports 80 and 443 be reached from outside; it is tried again by itself"
}

// over reports whether a certificate has expired. Certificates that are issued on demand each have their own expiry.
func (o observed) over(c *api.CertificateStatus) bool {
	return !o.spec.TLS.OnDemand && !c.NotAfter.IsZero() && !c.NotAfter.After(o.now)
}
