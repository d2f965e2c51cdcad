package agent

import (
	"context"
	"errors"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/ingress"
	"tend.dev/tend/internal/node/ingress/certs"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/relay"
	"tend.dev/tend/internal/reconciler"
)

// Edge is the node's proxy with its listeners and certificates; see internal/node/ingress/edge.
type Edge interface {
	Update(routes []ingress.Route, policies []certs.Policy)
	// Drained waits until a pod that was removed from the routing table has no requests in flight, or until ctx ends.
	Drained(ctx context.Context, pod string) error
	States() (plain, secure ingress.ListenerState)
	// Ports are the states of the ports that routes listen at, by Listen.String.
	Ports() map[string]ingress.ListenerState
	Certificate(host string) (certs.State, bool)
	// Run serves until ctx ends.
	Run(ctx context.Context) error
}

// serving keeps the node's proxy up to date. What this agent knows of its own pods counts at once, before the control
// plane has it.
type serving struct {
	a       *Agent
	edge    Edge
	control nodeapi.Control
	wake    chan struct{}
	// refreshed requests a report.
	refreshed chan struct{}

	reach *reach

	mu    sync.Mutex // one table at a time
	hosts []string   // the hosts with certificates
}

// newServing returns nil if the node has no proxy.
func newServing(a *Agent) *serving {
	if a.opts.Edge == nil {
		return nil
	}
	s := &serving{a: a, control: a.control, wake: make(chan struct{}, 1), refreshed: make(chan struct{}, 1)}
	s.edge = a.opts.Edge(s.changed)
	s.reach = newReach(a.opts.Reach, s.reportSoon)
	return s
}

// changed requests another refresh. It never blocks.
func (s *serving) changed() {
	if s == nil {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// members returns the parts that the agent runs. Updating the proxy never waits for a report: otherwise, while the
// store doesn't answer, requests would go to pods that are gone.
func (s *serving) members() []reconciler.Member {
	return []reconciler.Member{reconciler.NewMember(s.edge.Run), reconciler.NewMember(s.follow),
		reconciler.NewMember(s.report),
		reconciler.NewMember(s.reach.run)}
}

// follow refreshes the proxy on each change, until ctx ends.
func (s *serving) follow(ctx context.Context) error {
	select {
	case <-s.a.control.Synced():
	case <-ctx.Done():
		return nil
	}
	s.changed()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		}
		s.refresh()
		s.reportSoon()
	}
}

// reportSoon requests a report. It never blocks.
func (s *serving) reportSoon() {
	select {
	case s.refreshed <- struct{}{}:
	default:
	}
}

// report reports the state of the proxy, until ctx ends.
func (s *serving) report(ctx context.Context) error {
	return reportIngress(ctx, s.a.log, s.control, s.refreshed, s.status)
}

// refresh compiles a routing table from what is known now.
func (s *serving) refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	served := s.control.Served()
	declared := make([]ingress.Declared, len(served.Ingresses))
	for i, in := range served.Ingresses {
		declared[i] = ingress.Declared{Ref: in.Ref, Spec: in.Spec, Mode: ingress.Mode(in.Traffic), Message: in.Message,
			Guest: in.Guest}
	}
	policies := make([]certs.Policy, len(served.Certificates))
	for i, certificate := range served.Certificates {
		policies[i] = certs.Policy(certificate)
	}
	relays := s.control.Relays()
	routes := ingress.Compile(declared, func(scope, name string) (ingress.Service, bool) {
		found, ok := served.Services[scope+"/"+name]
		return s.service(found, relays), ok
	})
	s.reach.want(s.a.opts.Node, served, relays)
	s.edge.Update(routes, policies)
	s.hosts = nil
	for _, policy := range policies {
		s.hosts = append(s.hosts, policy.Host)
	}
}

// certified returns the hosts of the table that have certificates.
func (s *serving) certified() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hosts
}

// Observed reports whether this process has observed the container of a task as the control plane knows it. Before
// that, the stored state of a container says nothing about now: its address may be another container's. The task of
// another node counts as observed: that node observes it.
func (a *Agent) Observed(task string) bool {
	assigned, known := a.control.Task(task)
	return !known || a.containers.serves(a.reports.task(assigned))
}

// service returns the pods that may serve: of this node those whose container this process has observed. While the
// engine is away, the last observation counts; without one, requests wait for it. Those of other nodes are reached
// through their relays.
func (s *serving) service(from node.Service, relays map[string]node.Relay) ingress.Service {
	out := ingress.Service{}
	out.Spec.Ports, out.Spec.NetworkMode = from.Ports, from.NetworkMode
	for _, pod := range from.Pods {
		next := ingress.Candidate{Name: pod.Name, Ready: pod.Ready}
		if pod.Node != s.a.opts.Node {
			to := relays[pod.Node]
			next.Relay, next.Via = to.Address, relay.Target{Node: pod.Node, UID: to.UID, Task: pod.Task}
		} else {
			assigned, known := s.a.control.Task(pod.Task)
			status := s.a.reports.task(assigned)
			next.Address, next.Ports = status.Address, status.Ports
			next.Ready = known && s.a.containers.serves(status) && assigned.Serves(status)
		}
		out.Pods = append(out.Pods, next)
	}
	return out
}

// drain waits until a pod has no requests in flight, for at most its drain time: of this node's proxy, which forgets it
// first, and of those of other nodes.
func (a *Agent) drain(ctx context.Context, task api.Task, limit time.Duration) {
	if limit <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var err error
	if a.serving != nil {
		a.serving.refresh()
		err = a.serving.edge.Drained(ctx, task.ContainerName())
	}
	if err == nil {
		err = a.opts.Drained(ctx, task.ID)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		a.log.Warn("requests were still under way when the drain time was over", "pod", task.ContainerName(), "drain",
			limit)
	}
}

func (s *serving) status() api.IngressNodeStatus {
	plain, secure := s.edge.States()
	out := api.IngressNodeStatus{Node: s.a.opts.Node, HTTP: api.ListenerStatus(plain),
		HTTPS:     api.ListenerStatus(secure),
		Unreached: s.reach.unreached()}
	for at, state := range s.edge.Ports() {
		if out.Ports == nil {
			out.Ports = map[string]api.ListenerStatus{}
		}
		out.Ports[at] = api.ListenerStatus(state)
	}
	for _, host := range s.certified() {
		if state, known := s.edge.Certificate(host); known {
			if out.Certificates == nil {
				out.Certificates = map[string]api.CertificateStatus{}
			}
			out.Certificates[host] = api.CertificateStatus(state)
		}
	}
	return out
}
