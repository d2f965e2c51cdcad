package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"tend.dev/tend/api"
)

// ingressFigures are the ingress's throughput and latency against Debian's nginx and Caddy, each in front of the same pod:
// over connections that are kept, and over a new one for each request.
func ingressFigures(ctx context.Context, l *harness) (err error) {
	d := l.deployment(1)
	if _, err := d.deploy(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.remove(context.WithoutCancel(ctx))) }()
	pods, err := d.pods(ctx)
	if err != nil || len(pods) == 0 {
		return errors.Join(errors.New("there is no pod to serve"), err)
	}
	upstream := net.JoinHostPort(pods[0].Address, "8080")
	nginx, err := startNginx(ctx, l.dir, upstream)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, nginx.stop()) }()
	caddy, err := startCaddy(ctx, l.dir, upstream)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, caddy.stop()) }()
	done, err := l.serve(ctx, d)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	addresses := map[string]string{"pod": upstream, "nginx": nginx.address, "caddy": caddy.address, "tend": l.ingress}
	return errors.Join(l.loads(ctx, "ingress", addresses, false), l.loads(ctx, "ingress-connections", addresses, true))
}

// loads has the proxies take turns under wrk and prints what came of it. The pod alone shows what the proxies add.
func (l *harness) loads(ctx context.Context, figure string, addresses map[string]string, fresh bool) error {
	p99 := times{}
	var sides []side
	for _, name := range []string{"pod", "nginx", "caddy", "tend"} {
		sides = append(sides, side{name, func(ctx context.Context) (time.Duration, error) {
			got, err := runWrk(ctx, addresses[name], fresh)
			p99[name] = append(p99[name], got.p99)
			return got.each, err
		}})
	}
	each, err := l.take(ctx, figure, l.pairs, sides...)
	if err != nil {
		return err
	}
	ratio(figure+"-throughput", each.ratio("nginx", "tend"), "nginx")
	ratio(figure+"-throughput-caddy", each.ratio("caddy", "tend"), "caddy")
	for _, s := range sides {
		value(figure+"-throughput-"+s.name, 1/each.median(s.name).Seconds(), "requests/s")
	}
	ratio(figure+"-p99", p99.ratio("tend", "nginx"), "nginx")
	ratio(figure+"-p99-caddy", p99.ratio("tend", "caddy"), "caddy")
	for _, s := range sides {
		duration(figure+"-p99-"+s.name, p99.median(s.name))
	}
	return nil
}

// serve has Tend serve a deployment as the proxied host, and returns what ends that.
func (l *harness) serve(ctx context.Context, d *deployment) (func() error, error) {
	spec, err := json.Marshal(api.IngressSpec{Host: proxied, Service: d.name, Port: 8080})
	if err != nil {
		return nil, err
	}
	ref := api.Ref{Kind: api.KindIngress, Scope: "bench", Name: d.name}
	object := api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Spec: spec}
	if _, err := l.server.client.Apply(ctx, api.ApplyRequest{Objects: []api.Object{object}}); err != nil {
		return nil, err
	}
	done := func() error {
		_, err := l.server.client.Delete(context.WithoutCancel(ctx), ref)
		return err
	}
	if err := answers(ctx, l.ingress); err != nil {
		return nil, errors.Join(fmt.Errorf("tend: %w", err), done())
	}
	return done, nil
}

// greets says whether an answer is that of the test image's server.
func greets(body string) bool { return strings.HasPrefix(body, "hello ") }
