package verbs

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
)

// TestNoRefusalNamesAnotherScope: what is in the way of a deployer, or of an untrusted sync, is named only within their
// scopes; to an admin always.
func TestNoRefusalNamesAnotherScope(t *testing.T) {
	ingress := func(scope, name, spec string) api.Object {
		return api.Object{Kind: api.KindIngress, Scope: scope, Name: name, Spec: []byte(spec)}
	}
	conf := func(files map[string]string) api.Object { return asset("sy", "conf", files) }
	for name, tc := range map[string]struct {
		call func(apply func(...api.Object) error, s *Service, ctx context.Context) error
		want string // what a person learns who may not read the scope bank
		sync bool   // a sync may ask it too
	}{
		"a host": {func(apply func(...api.Object) error, _ *Service, _ context.Context) error {
			return apply(ingress("sy", "mine", `{"host":"bank.example","service":"x","port":80}`))
		}, "another scope", true},
		"a host under a wildcard": {func(apply func(...api.Object) error, _ *Service, _ context.Context) error {
			return apply(ingress("sy", "mine", `{"host":"a.wild.example","service":"x","port":80}`))
		}, "another scope", true},
		"a path of a host that is shared": {func(apply func(...api.Object) error, _ *Service, _ context.Context) error {
			return apply(ingress("sy", "mine", `{"host":"shared.example","service":"x","port":80,"locations":[{"path":"/a"}]}`))
		}, "an ingress of another scope", true},
		"the tls of a host that is shared": {func(apply func(...api.Object) error, _ *Service, _ context.Context) error {
			return apply(ingress("sy", "mine", `{"host":"shared.example","service":"x","port":80,"locations":[{"path":"/b"}],`+
				`"tls":{"enabled":true,"provider":"internal"}}`))
		}, "another scope", true},
		"a port of the host": {func(apply func(...api.Object) error, _ *Service, _ context.Context) error {
			return apply(deployment("sy", "mine", `{"image":"a","ports":["127.0.0.1:9000:80"]}`))
		}, "a deployment of another scope", true},
		"a port, by a scale": {func(_ func(...api.Object) error, s *Service, ctx context.Context) error {
			_, err := s.Scale(ctx, TargetOf(ref("sy", "off")), 1, FieldManager{})
			return err
		}, "a deployment of another scope", false},
		"a file that is used": {func(apply func(...api.Object) error, _ *Service, _ context.Context) error {
			return apply(conf(map[string]string{"b": "b"}))
		}, "a deployment of another scope", false},
		"an asset that is used": {func(_ func(...api.Object) error, s *Service, ctx context.Context) error {
			_, err := s.Delete(ctx, Target{Kind: api.KindAsset, Scope: "sy", Name: "conf"}, "")
			return err
		}, "a deployment of another scope", false},
		"config that is read": {func(_ func(...api.Object) error, s *Service, ctx context.Context) error {
			_, err := s.DeleteWith(ctx, TargetOf(ref("sy", "off")), DeleteOptions{Prune: true})
			return err
		}, "a deployment of another scope", false},
	} {
		for party, rights := range map[string]source.Rights{
			"deployer": {Person: "carol is deployer of sy", Scopes: []string{"sy"}}, "sync": {Scopes: []string{"sy"}},
			"admin": {Trusted: true},
		} {
			if party == "sync" && !tc.sync {
				continue
			}
			t.Run(party+"/"+name, func(t *testing.T) {
				w := newWorld(t, withKeys, func(o *Options) { o.Assets = newShelf() })
				w.mustApply(conf(map[string]string{"a": "a"}), ingress("bank", "site", `{"host":"bank.example","service":"x","port":80}`),
					ingress("bank", "wild", `{"host":"*.wild.example","service":"x","port":80}`),
					ingress("bank", "shared", `{"host":"shared.example","service":"x","port":80,"shared_with":["sy"],"locations":[{"path":"/a"}],"tls":{"provider":"letsencrypt"}}`),
					deployment("bank", "taker", `{"image":"a","ports":["127.0.0.1:9000:80"]}`),
					deployment("bank", "reader", `{"image":"a","env_from":["sy/off"],"env":{"F":"${asset.sy.conf.a}"}}`),
					deployment("sy", "off", `{"image":"a","replicas":0,"ports":["127.0.0.1:9000:80"]}`))
				ctx, opts := WithRights(t.Context(), rights), ApplyOptions{}
				if party == "sync" {
					sync := api.Object{Kind: api.KindSync, Scope: api.Unscoped, Name: "sy",
						Spec: json.RawMessage(`{"dir":"/x","scopes":["sy"]}`)}
					w.mustApply(sync)
					opts.Sync, opts.Manager, ctx = w.object(sync.Ref()), "sync:sy", t.Context()
				}
				apply := func(objects ...api.Object) error {
					_, err := w.service.Apply(ctx, objects, opts)
					return err
				}
				var refused *Error
				if err := tc.call(apply, w.service, ctx); !errors.As(err, &refused) {
					t.Fatalf("it is not refused: %v", err)
				}
				text := refused.Error() + " " + refused.Next
				if named := strings.Contains(text, "bank/"); named != (party == "admin") ||
					party != "admin" && (strings.Contains(strings.ReplaceAll(text, "bank.example", ""), "bank") ||
						!strings.Contains(text, tc.want)) {
					t.Errorf("it says %s", text)
				}
			})
		}
	}
}
