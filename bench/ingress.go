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

// ingressFigures measure the ingress's throughput and latency against Debian's nginx, Caddy and HAProxy, each in front
// of the same pod: over plain HTTP/1.1 with kept and with new connections, over TLS, and over HTTP/2.
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
	pair, err := makeCertificate(l.dir)
	if err != nil {
		return err
	}
	plain, secure := map[string]string{"pod": upstream, "tend": l.ingress}, map[string]string{"tend": l.secureIngress}
	for _, of := range peers {
		p, err := startPeer(ctx, of.name, l.dir, upstream)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.stop()) }()
		plain[p.name], secure[p.name] = p.address, p.secure
	}
	for _, serve := range []func() (func() error, error){
		func() (func() error, error) { return l.serve(ctx, d) },
		func() (func() error, error) { return l.serveTLS(ctx, d, pair) },
	} {
		done, err := serve()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, done()) }()
	}
	kept := func(ctx context.Context, at string) (load, error) { return runWrk(ctx, at, false) }
	fresh := func(ctx context.Context, at string) (load, error) { return runWrk(ctx, at, true) }
	h2 := func(ctx context.Context, at string) (load, error) { return runH2load(ctx, at, l.dir) }
	return errors.Join(
		l.loads(ctx, "ingress", plain, kept), l.loads(ctx, "ingress-connections", plain, fresh),
		l.loads(ctx, "ingress-tls", secure, runWrkTLS), l.loads(ctx, "ingress-h2", secure, h2),
	)
}

// loads puts the proxies under load in turns and prints the results. The pod alone shows the cost of the proxies.
func (l *harness) loads(
	ctx context.Context, figure string, addresses map[string]string, run func(context.Context, string) (load, error),
) error {
	p99 := times{}
	var sides []side
	for _, name := range []string{"pod", "nginx", "caddy", "haproxy", "tend"} {
		if addresses[name] == "" {
			continue
		}
		sides = append(sides, side{name, func(ctx context.Context) (time.Duration, error) {
			got, err := run(ctx, addresses[name])
			p99[name] = append(p99[name], got.p99)
			return got.each, err
		}})
	}
	each, err := l.take(ctx, figure, l.pairs, sides...)
	if err != nil {
		return err
	}
	for _, of := range peers {
		ratio(figure+"-throughput-against-"+of.name, each.ratio(of.name, "tend"), of.name)
		ratio(figure+"-p99-against-"+of.name, p99.ratio("tend", of.name), of.name)
	}
	for _, s := range sides {
		value(figure+"-throughput-"+s.name, 1/each.median(s.name).Seconds(), "requests/s")
		duration(figure+"-p99-"+s.name, p99.median(s.name))
	}
	return nil
}

// serve makes Tend serve a deployment as the proxied host in plain text, and returns the function that ends that.
func (l *harness) serve(ctx context.Context, d *deployment) (func() error, error) {
	return l.serveAs(ctx, d.name, api.IngressSpec{Host: proxied, Service: d.name, Port: 8080},
		func() error { return answers(ctx, l.ingress) })
}

// serveTLS serves over TLS like serve, with a certificate from the config.
func (l *harness) serveTLS(ctx context.Context, d *deployment, pair certificate) (func() error, error) {
	name := d.name + "-tls"
	set := api.ConfigRequest{Set: map[string]string{"CERTIFICATE": pair.chain, "KEY": pair.key}}
	if _, err := l.server.client.SetConfig(ctx, "bench", name, set); err != nil {
		return nil, err
	}
	return l.serveAs(ctx, name, api.IngressSpec{
		Host: secured, Service: d.name, Port: 8080, TLS: &api.IngressTLS{Certificate: "CERTIFICATE", Key: "KEY"},
	}, func() error { return answersTLS(ctx, l.secureIngress) })
}

func (l *harness) serveAs(
	ctx context.Context, name string, of api.IngressSpec, served func() error,
) (func() error, error) {
	spec, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	ref := api.Ref{Kind: api.KindIngress, Scope: "bench", Name: name}
	object := api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Spec: spec}
	if _, err := l.server.client.Apply(ctx, api.ApplyRequest{Objects: []api.Object{object}}); err != nil {
		return nil, err
	}
	done := func() error {
		_, err := l.server.client.Delete(context.WithoutCancel(ctx), ref)
		return err
	}
	if err := served(); err != nil {
		return nil, errors.Join(fmt.Errorf("tend: %w", err), done())
	}
	return done, nil
}

// greets reports whether an answer is that of the test image's server.
func greets(body string) bool { return strings.HasPrefix(body, "hello ") }
