package member

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/core/ports"
	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/nodeapi/join"
	"tend.dev/tend/internal/node/nodeapi/remote"
	"tend.dev/tend/internal/node/nodeapi/session"
	"tend.dev/tend/internal/platform/delay"
	"tend.dev/tend/internal/platform/servicemanager"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store/secret"
)

// Options are the agent's flags. Root is required; Server and Token are for joining.
type Options struct {
	host.Options
	// Server is the server's URL: https://HOST:PORT. Default: the server at which the machine joined.
	Server string
	// Token admits a machine, once.
	Token string
	// MetricsListen is the address of /metrics and /healthz. Default: nothing listens.
	MetricsListen string
	// Dial connects to the server; default: over TCP.
	Dial join.Dial
	// Started is called when everything runs. Default: no call.
	Started func()
}

// Run joins if this machine hasn't, and works until ctx ends. Containers keep running afterwards.
func Run(ctx context.Context, o Options) error {
	o.Options = o.WithDefaults()
	var err error
	if o.Server, err = join.ServerURL(o.Server); err != nil {
		return err
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: dialTime, KeepAlive: dialTime}).DialContext
	}
	used, err := o.Prepare()
	if err != nil {
		return err
	}
	if err := checkRoot(o.Root); err != nil {
		return err
	}
	who, err := identify(ctx, o)
	if err != nil && !used {
		return errors.Join(err, o.Forget())
	}
	if err != nil {
		return err
	}
	aside, err := setAside(o.Root, o.Now())
	if err != nil {
		return fmt.Errorf("set aside the files of this machine's former server: %w", err)
	}
	if aside != "" {
		o.Logger.WarnContext(ctx,
			"the server of this machine was removed: its store and the cluster's keys were set aside; erase them",
			"folder", aside)
	}
	keys, err := secret.Open(filepath.Join(o.Root, "secret.key"), "")
	if err != nil {
		return err
	}
	return lives(ctx, o.Logger, func(held bool) error { return run(ctx, o, who, keys, held) })
}

// The backoff between two lives of the machine, each of which opens the ports of its ingresses again: doubling, with
// jitter. A life of longLife resets it.
const (
	firstRest = 100 * time.Millisecond
	longRest  = 10 * time.Second
	longLife  = time.Minute
)

// lives runs the machine, and again whenever it must go on with another client: servers may disagree on whether the
// cluster is paused.
func lives(ctx context.Context, log *slog.Logger, run func(held bool) error) error {
	rest := backoff.NewExponentialBackOff()
	rest.InitialInterval, rest.MaxInterval, rest.Multiplier = firstRest, longRest, 2
	for held := false; ; {
		began := time.Now()
		err := run(held)
		if !another(err) {
			return err
		}
		if held = errors.Is(err, remote.ErrRestored); held {
			log.Warn("the server is paused: containers on this machine stay as they are until tend resume", "reason", err)
		}
		if time.Since(began) >= longLife {
			rest.Reset()
		}
		if delay.For(ctx, rest.NextBackOff()) != nil {
			return nil //nolint:nilerr // The service is to end, whatever ended the last life.
		}
	}
}

// another reports whether the machine must go on with another client, which knows nothing.
func another(err error) bool {
	return errors.Is(err, remote.ErrRestored) || errors.Is(err, remote.ErrResumed)
}

// dialTime bounds a dial, and is the interval of keep-alives.
const dialTime = 15 * time.Second

// ofLinks configures the connections to servers.
var ofLinks = http.HTTP2Config{SendPingTimeout: dialTime, PingTimeout: dialTime,
	MaxEncoderHeaderTableSize: boundary.HeaderTable}

// run runs the machine. While the server is paused after a restore the machine is held: it serves the pods that the
// store knows, and touches no container.
func run(ctx context.Context, o Options, who *identity, keys *secret.Keys, held bool) error {
	known := who.membership()
	if known.Node != o.Node {
		return fmt.Errorf("this root joined as %s, not as %s: use another --root", known.Node, o.Node)
	}
	config, err := authority.FollowingTLS(who.roots, who.certificate, "h2")
	if err != nil {
		return err
	}
	to := &servers{connect: o.Dial, addresses: []string{address(known.Server)}}
	to.learn(known.Servers)
	web := &http.Client{Transport: &http.Transport{
		TLSClientConfig: config, ForceAttemptHTTP2: true, DialContext: to.dial, HTTP2: &ofLinks,
	}}
	defer web.CloseIdleConnections()
	client := remote.New(remote.Options{Server: known.Server, HTTP: web, Lost: to.next,
		Held: held, Several: to.several, Logger: o.Logger})
	callbacks, err := client.Callbacks()
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	scraped, err := listenMetrics(ctx, o, registry)
	if err != nil {
		return err
	}
	link := host.Link{
		Cluster: known.Cluster, Control: client, Seal: keys.Encrypt, Open: keys.Decrypt, Registry: registry,
		Metrics: reconciler.NewMetrics(registry), Callbacks: callbacks, Outside: to.outside,
		Own: &authority.Own{Certificate: who.certificate, Roots: who.roots, Now: o.Now}, Former: known.Former,
		Cleared: who.cleared, Listeners: ports.ListenerAt(o.MetricsListen, "for metrics", "--metrics-listen"),
	}
	holdBack(&link, held)
	machine, err := host.Open(ctx, o.Options, link)
	if err != nil {
		return errors.Join(err, scraped.close())
	}
	answering := &sessions{Options: o, who: who, client: client, web: web, servers: to,
		keep: func(ctx context.Context, dial func(context.Context) (net.Conn, error)) error {
			return session.Keep(ctx, dial, another, machine.Access(), machine.Ready(), o.Logger)
		}}
	o.Logger.Info("starting the agent", "root", o.Root, "node", o.Node, "cluster", known.Cluster,
		"server", known.Server, "runtime", o.Runtime)
	group := reconciler.NewGroup(reconciler.GroupOptions{},
		reconciler.NewMember(scraped.run), reconciler.NewMember(client.Run),
		reconciler.NewMember(func(ctx context.Context) error { return who.renew(ctx, web) }),
		reconciler.NewMember(answering.run),
		reconciler.NewMember(func(ctx context.Context) error {
			if o.Started != nil {
				o.Started()
			}
			<-ctx.Done()
			return nil
		}),
		machine,
		reconciler.NewMember(func(life context.Context) error { return announce(life, ctx, machine.Ready(), o.Logger) }),
	)
	return errors.Join(group.Run(ctx), machine.Close())
}

// holdBack keeps a held machine from touching containers as long as it runs.
func holdBack(l *host.Link, held bool) {
	if !held {
		return
	}
	l.Hold, l.Paused = make(chan struct{}), func() string { return "the server is paused after a restore" }
}

// announce reports to the service manager that the agent waits for its server, is ready, and stops, which is when
// process ends: a life that ends alone is followed by another, and a service that said it stops would be killed. Run as
// the last member of the group, it is stopped first.
func announce(life, process context.Context, ready <-chan struct{}, log *slog.Logger) error {
	servicemanager.Notify(life, log, servicemanager.Status("waiting for the server"))
	select {
	case <-ready:
		log.InfoContext(life, "ready")
		servicemanager.Notify(life, log, servicemanager.Ready("every pod of this machine was reconciled once"))
	case <-life.Done():
	}
	<-life.Done()
	if process.Err() != nil {
		servicemanager.Notify(life, log, servicemanager.Stopping("finishing reconciles"))
	}
	return nil
}
