package inprocess

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/agent"
	"tend.dev/tend/internal/ingress"
	"tend.dev/tend/internal/ingress/certs"
	"tend.dev/tend/internal/layout"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/view"
)

var _ agent.Ingresses = (*Control)(nil)

// Served implements agent.Ingresses.
func (c *Control) Served() agent.Served {
	snap := c.snapshot()
	out := agent.Served{Services: map[string]agent.ServedService{}}
	for object := range snap.Objects(api.KindIngress) {
		spec, err := api.DecodeSpec[api.IngressSpec](*object.Value)
		if err != nil || object.Value.Metadata.Deleting() {
			continue // its controller says why it isn't served
		}
		declared := ingress.Declared{Ref: object.Value.Ref(), Spec: spec}
		declared.Mode, declared.Message = traffic(*object.Value)
		out.Ingresses = append(out.Ingresses, declared)
		name := spec.ServiceName(object.Value.Name)
		if key := object.Value.Scope + "/" + name; out.Services[key].Tasks == nil {
			if service, found := service(snap, object.Value.Scope, name); found {
				out.Services[key] = service
			}
		}
		if policy, wanted := c.policy(snap, object.Value.Ref(), spec); wanted {
			out.Policies = append(out.Policies, policy)
		}
	}
	return out
}

// traffic reads what an operator let become of an ingress's requests.
func traffic(object api.Object) (ingress.Mode, string) {
	mode, message, _ := strings.Cut(object.Metadata.Stamps[api.StampTraffic], ":")
	return ingress.Mode(mode), message
}

// service finds the workload of a name that serves: a deployment, else a statefulset.
func service(snap layout.Snapshot, scope, name string) (agent.ServedService, bool) {
	for _, kind := range []api.Kind{api.KindDeployment, api.KindStatefulSet} {
		ref := api.Ref{Kind: kind, Scope: scope, Name: name}
		object := snap.Object(ref)
		if !object.Exists() {
			continue
		}
		spec, err := api.DecodeWorkload(kind, object.Value.Spec)
		if err != nil {
			return agent.ServedService{}, false
		}
		out := agent.ServedService{Spec: spec.DeploymentSpec, Tasks: []agent.Assignment{}}
		for _, task := range snap.TasksOf(ref) {
			if task.Value.Run == "" && task.Value.Role == api.RoleMain {
				out.Tasks = append(out.Tasks, assignment(snap, *task.Value))
			}
		}
		return out, true
	}
	return agent.ServedService{}, false
}

// SubscribeServed implements agent.Ingresses.
func (c *Control) SubscribeServed(fn func()) {
	c.view.OnChange(func(change view.Change) {
		if touchesServed(change) {
			fn()
		}
	})
}

// touchesServed says whether a change may change what a proxy serves.
func touchesServed(change view.Change) bool {
	value := change.New
	if value == nil {
		value = change.Old
	}
	switch record := value.(type) {
	case *api.Object:
		return record.Kind == api.KindIngress || record.Kind.HasSlots()
	case *api.Task, *api.TaskStatus, *api.Frozen:
		return true
	case []byte:
		return strings.HasPrefix(change.Key, layout.ConfigPrefix) // certificates of a user's own
	}
	return false
}

// ReportIngress implements agent.Ingresses.
func (c *Control) ReportIngress(ctx context.Context, status api.IngressNodeStatus) error {
	key := layout.IngressNodeKey(c.node)
	for {
		stored := c.snapshot().IngressNode(c.node)
		revision, err := layout.NewTxn("agent.ingress").If(key, stored.Modified).Put(key, status).Commit(ctx, c.store)
		if err == nil {
			return c.view.WaitFor(ctx, revision)
		}
		var conflict *store.ConflictError
		if !errors.As(err, &conflict) {
			return err
		}
		if err := c.view.WaitFor(ctx, conflict.Have); err != nil {
			return err
		}
	}
}

// policy says where an ingress's certificate comes from, where it wants one.
func (c *Control) policy(snap layout.Snapshot, ref api.Ref, spec api.IngressSpec) (certs.Policy, bool) {
	if !spec.Secure() {
		return certs.Policy{}, false
	}
	policy := certs.Policy{
		Host: strings.ToLower(spec.Host), Provider: spec.TLS.Provider, Email: spec.TLS.Email, OnDemand: spec.TLS.OnDemand, Ask: spec.TLS.Ask,
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
func (c *Control) configValue(snap layout.Snapshot, ref api.Ref, name string) ([]byte, error) {
	for _, prefix := range []string{layout.ConfigAppPrefix(ref.Scope, ref.Name), layout.ConfigScopePrefix(ref.Scope)} {
		record, found := snap.Get(prefix + name)
		sealed, ok := record.Value.([]byte)
		if !found || !ok {
			continue
		}
		plain, err := c.keys.Decrypt(sealed)
		if err != nil {
			return nil, fmt.Errorf("the config key %s can't be read: %w", name, err)
		}
		if len(plain) == 0 { // else it would be taken for none, and a certificate be got elsewhere
			return nil, fmt.Errorf("the config key %s is empty: tend config set %s/%s %s=@FILE", name, ref.Scope, ref.Name, name)
		}
		return plain, nil
	}
	return nil, fmt.Errorf("there is no config key %s: tend config set %s/%s %s=@FILE", name, ref.Scope, ref.Name, name)
}
