package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/core/hosts"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// Served implements nodeapi.Control.
func (c *Control) Served() node.Served {
	snap := c.snapshot()
	out := node.Served{Table: c.table(snap), Services: map[string]node.Service{}}
	for key := range c.named(snap, out.Table) {
		if found, ok := c.service(snap, key); ok {
			out.Services[key] = found
		}
	}
	return out
}

// named returns the workloads that concern the node of those that ingresses name: all that its own table does, and
// those of which it has pods itself, for which other nodes may ask.
func (c *Control) named(snap records.Snapshot, table node.Table) map[string]bool {
	out, served := map[string]bool{}, c.served()
	for _, in := range table.Ingresses {
		out[in.Service()] = true
	}
	for _, task := range snap.TasksOn(c.node) {
		if key := serviceOf(task.Value); served[key] != nil {
			out[key] = true
		}
	}
	return out
}

// table returns what is served except for the workloads; to a node that may serve no ingress the ports of every node
// alone. A host is served for the scope that it belongs to, and by one policy.
func (c *Control) table(snap records.Snapshot) (out node.Table) {
	hosted := c.servesIngress(snap)
	claims := hosts.TableOf(snap.Routed())
	for object := range snap.Objects(api.KindIngress) {
		spec, err := api.DecodeSpec[api.IngressSpec](*object.Value)
		if err != nil || object.Value.Metadata.Deleting() {
			continue // its controller says why it isn't served
		}
		by, guest, served := takesPolicy(claims, *object.Value, &spec)
		if !atEvery(spec) && (!served || !hosted) {
			continue
		}
		declared := node.Ingress{Ref: object.Value.Ref(), Spec: spec, Guest: guest}
		declared.Traffic, declared.Message, _ = strings.Cut(object.Value.Metadata.Stamps[api.StampTraffic], ":")
		out.Ingresses = append(out.Ingresses, declared)
		if policy, wanted := c.certificate(snap, object.Value.Ref(), spec); wanted && hosted && by == object.Value.Ref() {
			policy.Confined = object.Value.Confined()
			out.Certificates = append(out.Certificates, policy)
		}
	}
	if hosted {
		out.Ingresses = append(out.Ingresses, labRoutes(snap, claims)...)
	}
	return out
}

// takesPolicy sets the policy of an object's host in what it serves by, and returns which object declares it, and
// whether the host is shared with the object's scope; served is false if the host belongs to another scope.
func takesPolicy(claims hosts.Table, object api.Object, spec *api.IngressSpec) (by api.Ref, guest, served bool) {
	claim, asks := hosts.ClaimOf(object)
	if !asks {
		return by, false, false
	}
	spec.TLS, by, served = claims.Served(claim)
	return by, claims.IsGuest(claim), served
}

// service returns what proxies need to know of a workload; its pods are for nodes whose own proxy leads there.
func (c *Control) service(snap records.Snapshot, key string) (node.Service, bool) {
	ref, spec, found := workload(snap, key)
	if !found {
		return node.Service{}, false
	}
	out := node.Service{Ports: spec.Ports, NetworkMode: spec.NetworkMode}
	for _, in := range c.served()[key] {
		out.At = append(out.At, node.At{Port: in.PortOf(spec.DeploymentSpec), Protocol: in.Protocol(), Every: atEvery(in)})
	}
	if !c.servesIngress(snap) && !c.atEvery(key) {
		return out, true
	}
	out.Pods = c.podsOf(snap, ref)
	for i := range out.Pods {
		if pod := &out.Pods[i]; pod.Node != c.node {
			pod.Address, pod.Ports = "", nil // it is reached through its node, which alone knows where it is
		}
	}
	return out, true
}

// workload finds the one of a scope/name that serves: a deployment, a statefulset or a lab.
func workload(snap records.Snapshot, key string) (ref api.Ref, spec api.WorkloadSpec, found bool) {
	scope, name, _ := strings.Cut(key, "/")
	for _, kind := range api.KindsThat(api.Kind.Serves) {
		ref = api.Ref{Kind: kind, Scope: scope, Name: name}
		if object := snap.Object(ref); object.Exists() {
			spec, err := api.DecodeWorkload(kind, object.Value.Spec)
			return ref, spec, err == nil
		}
	}
	return ref, spec, false
}

// podsOf returns the pods of a workload that may serve, as their nodes report them.
func (c *Control) podsOf(snap records.Snapshot, workload api.Ref) (out []node.Pod) {
	for _, task := range snap.TasksOf(workload) {
		if task.Value.Run != "" || task.Value.Role != api.RoleMain {
			continue
		}
		assigned := assignment(snap, *task.Value)
		out = append(out, node.Pod{
			Task: task.Value.ID, Node: task.Value.Node, Name: task.Value.ContainerName(),
			Address: assigned.Status.Address, Ports: assigned.Status.Ports, Ready: assigned.Serves(assigned.Status),
		})
	}
	c.leaveOutSilent(snap, out)
	return out
}

// leaveOutSilent counts the pods of other nodes that are silent as not ready: such a pod may be one too many. If no
// other pod is ready they stay: more likely they serve than nothing does.
func (c *Control) leaveOutSilent(snap records.Snapshot, pods []node.Pod) {
	answers := func(p node.Pod) bool { return p.Node == c.node || snap.Alive(p.Node) }
	if !slices.ContainsFunc(pods, func(p node.Pod) bool { return p.Ready && answers(p) }) {
		return
	}
	for i := range pods {
		pods[i].Ready = pods[i].Ready && answers(pods[i])
	}
}

// outsideAddress returns where other machines, and containers with addresses of their own, reach a pod: one that shares
// its node's network at the node's address. Invalid if that is not known, or if the node may not have pods there: see
// boundary.Pod.
func outsideAddress(snap records.Snapshot, pod node.Pod) netip.Addr {
	address, err := netip.ParseAddr(pod.Address)
	switch {
	case err != nil:
		return netip.Addr{}
	case address.IsLoopback():
		if at := snap.NetworkNode(pod.Node); at.Exists() && boundary.Address(at.Value.Address) {
			return at.Value.Address
		}
		return netip.Addr{}
	case !mayHave(snap, pod.Node, address):
		return netip.Addr{}
	}
	return address
}

// mayHave reports whether a node may have pods at an address.
func mayHave(snap records.Snapshot, name string, address netip.Addr) bool {
	if own := snap.NetworkNode(name); own.Exists() && own.Value.Address == address {
		return true // it shares its node's network
	}
	given := snap.Subnets()
	if snap.Object(api.NetworkRef).Exists() && given.Exists() {
		return boundary.Pod(address, given.Value.Nodes[name], true, nil)
	}
	return boundary.Pod(address, netip.Prefix{}, false, nodeAddresses(snap, name))
}

// nodeAddresses returns those of the other nodes.
func nodeAddresses(snap records.Snapshot, name string) (out []netip.Addr) {
	for _, other := range snap.NetworkNodes() {
		if other.Value.Node != name && other.Value.Address.IsValid() {
			out = append(out, other.Value.Address)
		}
	}
	return out
}

// ReportIngress implements nodeapi.Control. Of a node that may serve no ingress the ports of every node count, and
// nothing else that it says. A report that says nothing is stored only over one that did.
func (c *Control) ReportIngress(ctx context.Context, status api.IngressNodeStatus) error {
	if status.Node != c.node {
		return fmt.Errorf("the ingress of node %s: %w", status.Node, node.ErrForbidden)
	}
	snap := c.snapshot()
	if !c.servesIngress(snap) {
		nodes := map[string]bool{}
		for _, name := range c.machines(snap) {
			nodes[name] = true
		}
		status = boundary.Ports(status, c.portsAtEvery(), nodes)
	}
	if nothing := (api.IngressNodeStatus{Node: c.node}); reflect.DeepEqual(status, nothing) {
		if err := c.catchUp(ctx); err != nil { // the view may be behind, and not know what is to be replaced
			return err
		}
		if !c.snapshot().IngressNode(c.node).Exists() {
			return nil
		}
	}
	return c.put(ctx, "agent.ingress", records.IngressNodeKey(c.node), status)
}

// put writes a record that this node alone writes, and returns once it can be read.
func (c *Control) put(ctx context.Context, site, key string, record any) error {
	if text, err := json.Marshal(record); err != nil || len(text) > boundary.MaxStatus {
		return fmt.Errorf("%s has %d bytes, more than %d: %w", key, len(text), boundary.MaxStatus, node.ErrForbidden)
	}
	by := c.author()
	for {
		snap := c.snapshot()
		txn, err := by.txn(snap, site)
		if err != nil {
			return err
		}
		stored, _ := snap.Get(key)
		revision, err := txn.If(key, stored.Modified).Put(key, record).Commit(ctx, c.Store)
		if err == nil {
			return c.View.WaitFor(ctx, revision)
		}
		var conflict *store.ConflictError
		if !errors.As(err, &conflict) {
			return err
		}
		if err := c.View.WaitFor(ctx, conflict.Have); err != nil {
			return err
		}
	}
}

// certificate returns the source of an ingress's certificate, if it wants one.
func (c *Control) certificate(snap records.Snapshot, ref api.Ref, spec api.IngressSpec) (node.Certificate, bool) {
	if !spec.Secure() {
		return node.Certificate{}, false
	}
	policy := node.Certificate{
		Host: strings.ToLower(spec.Host), Provider: spec.TLS.Provider, Email: spec.TLS.Email,
		OnDemand: spec.TLS.OnDemand, Ask: spec.TLS.Ask,
	}
	if spec.TLS.Certificate == "" {
		return policy, true
	}
	var err error
	if policy.Certificate, err = c.configValue(snap, ref, spec.TLS.Certificate); err == nil {
		policy.Key, err = c.configValue(snap, ref, spec.TLS.Key)
	}
	if err != nil {
		policy.Certificate, policy.Fault = nil, err.Error()
	}
	return policy, true
}

// configValue reads a key of an object's own bucket, or else of its scope's.
func (c *Control) configValue(snap records.Snapshot, ref api.Ref, name string) ([]byte, error) {
	for _, prefix := range []string{records.ConfigAppPrefix(ref.Scope, ref.Name), records.ConfigScopePrefix(ref.Scope)} {
		record, found := snap.Get(prefix + name)
		sealed, ok := record.Value.([]byte)
		if !found || !ok {
			continue
		}
		plain, err := c.Keys.Decrypt(sealed)
		if err != nil {
			return nil, fmt.Errorf("the config key %s can't be read: %w", name, err)
		}
		if len(plain) == 0 { // an empty value would count as none, and a certificate be obtained elsewhere
			return nil, fmt.Errorf("the config key %s is empty: tend config set %s/%s %s=@FILE", name, ref.Scope, ref.Name, name)
		}
		return plain, nil
	}
	return nil, fmt.Errorf("%w %s: tend config set %s/%s %s=@FILE", node.ErrNoConfig, name, ref.Scope, ref.Name, name)
}
