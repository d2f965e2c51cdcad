package ingress

import (
	"maps"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/hosts"
	"tend.dev/tend/internal/core/suggest"
	"tend.dev/tend/internal/store/records"
)

// observed is the state that an ingress depends on, read at one revision.
type observed struct {
	object records.Read[api.Object]
	spec   api.IngressSpec
	broken error // why the spec can't be read
	// taken is the refusal if another scope has the host; nil if the host is free.
	taken *hosts.Refusal
	// unserved is the refusal of a location that is not served although the host is; nil if there is none.
	unserved *hosts.Refusal
	// serves reports whether the workload exists.
	serves   bool
	leads    api.Ref // the workload; its kind is empty if there is none
	meant    string  // where there is none: the one of the scope that was probably meant
	workload api.DeploymentSpec
	rollout  *api.WorkloadStatus // nil while nothing is known of it
	pods     int                 // wanted and not ended
	starting int                 // of them, those that have never been ready
	unready  time.Duration       // for so long no request has reached a pod
	readyOn  map[string]int      // by node; a node that is silent has none
	ready    int                 // at least so many are reached by each node that serves the ingress
	gaps     []gap
	nodes    []api.IngressNodeStatus // the proxies of the nodes that answer
	silent   []api.IngressNodeStatus // what the others said last
	deaf     []api.IngressNodeStatus // those that answer and can't listen where they should
	traffic  string
	message  string
	now      time.Time
}

func observe(s records.Snapshot, object records.Read[api.Object], claims hosts.Table) observed {
	o := observed{object: object, readyOn: map[string]int{}}
	o.spec, o.broken = api.DecodeSpec[api.IngressSpec](*object.Value)
	o.route(claims)
	o.traffic, o.message, _ = strings.Cut(object.Value.Metadata.Stamps[api.StampTraffic], ":")
	name := o.spec.ServiceName(object.Value.Name)
	for _, kind := range api.KindsThat(api.Kind.Serves) {
		ref := api.Ref{Kind: kind, Scope: object.Value.Scope, Name: name}
		if workload := s.Object(ref); workload.Exists() {
			spec, err := api.DecodeWorkload(kind, workload.Value.Spec)
			o.serves, o.workload, o.leads = err == nil, spec.DeploymentSpec, ref
			o.rollout = s.WorkloadStatus(ref).Value
			o.count(s, ref)
			break
		}
	}
	if o.leads.Kind == "" {
		o.meant = nearTo(s, api.Ref{Scope: object.Value.Scope, Name: name})
	}
	for _, node := range s.IngressNodes() {
		if s.Alive(node.Value.Node) {
			o.nodes = append(o.nodes, *node.Value)
		} else {
			o.silent = append(o.silent, *node.Value)
		}
	}
	o.compare()
	return o
}

// nearTo returns the workload of a scope that a name was probably meant to be; empty if none is near.
func nearTo(s records.Snapshot, service api.Ref) string {
	near, ok := suggest.Object(service, func(yield func(api.Ref) bool) {
		for ref := range s.Refs(service.Scope) {
			if ref.Kind.Serves() && !yield(ref) {
				return
			}
		}
	})
	if !ok {
		return ""
	}
	return near.Scope + "/" + near.Name
}

// gap is a node whose proxy doesn't reach the pods of another one.
type gap struct{ from, to, reason string }

// compare counts the pods that each node that serves the ingress reaches, and finds what keeps it from others.
func (o *observed) compare() {
	all := 0
	for _, ready := range o.readyOn {
		all += ready
	}
	o.ready = all
	for _, node := range o.nodes {
		listener := o.listens(node)
		if listener.Wanted && !listener.Open && listener.Error != "" {
			o.deaf = append(o.deaf, node)
		}
		if !listener.Open {
			continue
		}
		reached := all
		for _, to := range slices.Sorted(maps.Keys(node.Unreached)) {
			if o.readyOn[to] > 0 {
				o.gaps = append(o.gaps, gap{from: node.Node, to: to, reason: node.Unreached[to]})
				reached -= o.readyOn[to]
			}
		}
		if serves(node) {
			o.ready = min(o.ready, reached)
		}
	}
}

// serves reports whether a node has listeners for hosts, and so may serve ingresses. What any other one says of its
// ports counts for itself alone.
func serves(node api.IngressNodeStatus) bool {
	return node.HTTP.Address != "" || node.HTTPS.Address != ""
}

// listens returns the state of the listener that the ingress needs on a node.
func (o observed) listens(node api.IngressNodeStatus) api.ListenerStatus {
	switch {
	case o.spec.Listen != "":
		at := o.spec.ListensAt()
		if known, reported := node.Ports[at.String()]; reported {
			return known
		}
		if !serves(node) {
			return api.ListenerStatus{}
		}
		return api.ListenerStatus{Address: at.Address(), Wanted: true} // the node has not heard of it
	case o.spec.Secure():
		return node.HTTPS
	}
	return node.HTTP
}

// route sets the TLS policy that the host is served by, or why it, or one of its locations, is not served. All who see
// the ingress read its conditions, so they don't name another scope.
func (o *observed) route(claims hosts.Table) {
	claim, asks := hosts.ClaimOf(*o.object.Value)
	if !asks {
		return
	}
	policy, _, served := claims.Served(claim)
	switch {
	case served:
		o.spec.TLS = policy
		if unserved := claims.Unserved(claim); unserved != nil {
			o.unserved = unserved.Hidden()
		}
	case !o.object.Value.Metadata.Deleting():
		o.taken = claims.Refuse(claim)
		if o.taken != nil && o.taken.By.Scope != claim.Ref.Scope {
			o.taken = o.taken.Hidden()
		}
	}
}

func (o *observed) count(s records.Snapshot, workload api.Ref) {
	for _, task := range s.TasksOf(workload) {
		if task.Value.Desired != api.DesiredRunning || task.Value.Run != "" || task.Value.Role != api.RoleMain {
			continue
		}
		status := s.TaskStatus(task.Value.ID)
		if status.Exists() && status.Value.State.Terminal() {
			continue
		}
		o.pods++
		if !status.Exists() || status.Value.ReadyAt.IsZero() {
			o.starting++
		}
		if status.Exists() && status.Value.State == api.TaskRunning && status.Value.Ready && s.Observed(task.Value.Node) {
			o.readyOn[task.Value.Node]++
		}
	}
}

// listener returns the state of the listener that the host needs, on the node where it is best. What a silent node said
// of its own counts only if no other node has one.
func (o observed) listener() api.ListenerStatus {
	best := o.best(o.nodes)
	if best.Address == "" {
		return o.best(o.silent)
	}
	return best
}

func (o observed) best(nodes []api.IngressNodeStatus) (best api.ListenerStatus) {
	for _, node := range nodes {
		listener := o.listens(node)
		if best.Address == "" || listener.Open && !best.Open {
			best = listener
		}
	}
	return best
}

// unheard returns the node that listened last, if no node that answers does; else an empty string.
func (o observed) unheard() string {
	if o.best(o.nodes).Address != "" {
		return ""
	}
	for _, node := range o.silent {
		if o.listens(node).Open {
			return node.Node
		}
	}
	return ""
}

// certificate returns the state of the host's certificate, or nil if no node has one.
func (o observed) certificate() *api.CertificateStatus {
	if !o.spec.Secure() {
		return nil
	}
	var best *api.CertificateStatus
	for _, node := range slices.Concat(o.nodes, o.silent) {
		if found, known := node.Certificates[strings.ToLower(o.spec.Host)]; known &&
			(best == nil || found.NotAfter.After(best.NotAfter)) {
			best = &found
		}
	}
	return best
}
