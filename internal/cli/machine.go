package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/internal/core/membership"
	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/observe/tracing"
	"tend.dev/tend/internal/platform/version"
)

// machineFlags are the flags of every command that runs containers: `tend server`, `tend dev` and `tend agent`.
type machineFlags struct {
	options  *host.Options
	logLevel string
	// logFormat is text or json.
	logFormat string
	// otlp is the address that traces are exported to.
	otlp string
}

func (f *machineFlags) add(command *cobra.Command) {
	o, flags := f.options, command.Flags()
	flags.StringVar(&o.Root, "root", host.DefaultRoot(), "`FOLDER` of all of Tend's files (TEND_ROOT)")
	flags.IntVar(&o.CallbackPort, "callback-port", 8687,
		"`PORT` on the platform network's gateway where containers of statefulsets and plugins call back; 0 for none")
	flags.StringVar(&o.Node, "node", "",
		"this machine's `NAME` as a node (default: its host name when the root was first used)")
	flags.StringToStringVar(&o.Labels, "label", nil,
		"a label of this machine, `KEY=VALUE`, which placement.constraints compare; repeat it for more")
	flags.StringVar(&o.Runtime, "runtime", "",
		"what runs containers, a `RUNTIME`: docker or process (default: what the root was first used with, else docker)")
	flags.StringVar(&o.Network, "network", "", "`NAME` of the platform network (default: what the root was first used with, else tend0)")
	flags.StringVar(&o.Advertise, "advertise", "",
		"the `ADDRESS` at which other nodes reach this machine (default: the one it reaches the server from)")
	flags.StringVar(&o.RelayListen, "relay-listen", host.DefaultRelayListen,
		"`ADDRESS` where other nodes' ingresses ask for connections to this machine's pods (TCP, certificates of nodes), or off")
	flags.StringVar(&o.DockerHost, "docker-host", "",
		"the engine's `ADDRESS` (default the one that docker's own command uses)")
	flags.IntVar(&o.Starts, "starts", 8, "`NUMBER` of containers started at a time")
	flags.DurationVar(&o.Resync, "resync", 10*time.Second, "time between two resyncs of every plan")
	flags.DurationVar(&o.Heartbeat, "heartbeat", 5*time.Second, "how often the agent renews its lease")
	flags.DurationVar(&o.NodeTimeout, "node-timeout", 30*time.Second,
		"how long a node may be silent before it counts as down")
	flags.Int64Var(&o.MinFree, "min-free-disk", 256<<20,
		"free `BYTES` below which nothing more is stored; negative is never")
	f.buildFlags(flags)
	plain, secure := ingressAddresses()
	flags.StringVar(&o.Ingress.HTTP, "ingress-http", plain,
		"`ADDRESS` the ingress listens at once an ingress needs it, or off")
	flags.StringVar(&o.Ingress.HTTPS, "ingress-https", secure, "the same with TLS, an `ADDRESS` or off")
	flags.StringSliceVar(&o.Ingress.Balancers, "ingress-proxy-protocol", nil,
		"`NETWORKS` of load balancers that speak the PROXY protocol to the ingress")
	flags.StringSliceVar(&o.Ingress.Trusted, "ingress-trusted-proxies", nil,
		"`NETWORKS` of proxies in front of the ingress, such as a CDN's, whose X-Forwarded-* headers it believes")
	flags.StringVar(&o.Ingress.AccessLog, "ingress-access-log", "",
		"`FILE` that gets a JSON line for each request, - for standard error (default none)")
	flags.StringVar(&o.Ingress.Directory, "acme-directory", "", "`URL` of the ACME directory (default Let's Encrypt's)")
	flags.StringVar(&o.Ingress.Roots, "acme-roots", "",
		"PEM `FILE` of who the ACME directory's own certificate is checked against")
	flags.StringVar(&o.Ingress.DNSServer, "acme-dns-server", "",
		"`ADDRESS` of a name server that takes dynamic updates, for certificates by DNS-01 (default by HTTP or TLS)")
	flags.StringVar(&o.Ingress.DNSKey, "acme-dns-key", "",
		"`FILE` of the key that signs the updates, as tsig-keygen writes it")
	flags.StringVar(&f.logLevel, "log-level", "info", "`LEVEL`: debug, info, warn or error")
	flags.StringVar(&f.logFormat, "log-format", "text",
		"`FORMAT` of the log on standard error: text (logfmt) or json, one object a line")
	flags.StringVar(&f.otlp, "otlp-endpoint", "",
		"`URL` of an OpenTelemetry receiver (OTLP over HTTP) that gets traces, as in http://127.0.0.1:4318 (default: what OTEL_EXPORTER_OTLP_ENDPOINT says, else none)")
	_ = command.RegisterFlagCompletionFunc("log-format",
		cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	_ = command.RegisterFlagCompletionFunc("runtime",
		cobra.FixedCompletions([]string{"docker", "process"}, cobra.ShellCompDirectiveNoFileComp))
}

// ingressAddresses returns where the ingress listens unless flags say otherwise: who isn't root may not open the usual
// ports.
func ingressAddresses() (plain, secure string) {
	if os.Geteuid() == 0 {
		return ":80", ":443"
	}
	return ":8080", ":8443"
}

func logHandler(format string, level slog.Level) slog.Handler {
	options := &slog.HandlerOptions{Level: level}
	if format == "json" {
		return tracing.LogHandler(slog.NewJSONHandler(os.Stderr, options))
	}
	return tracing.LogHandler(slog.NewTextHandler(os.Stderr, options))
}

// exportTime bounds how long the export of the last spans may take at the end.
const exportTime = 5 * time.Second

// traced calls run with a tracer in the options, if traces are exported. service is the name of the process in them.
func (f *machineFlags) traced(ctx context.Context, service string, run func() error) error {
	host, _ := os.Hostname()
	tracer, err := tracing.Open(ctx, tracing.Options{
		Endpoint: f.otlp, Service: service, Instance: cmp.Or(f.options.Node, host), Version: version.Version,
		Logger: f.options.Logger,
	})
	if err != nil {
		return fmt.Errorf("--otlp-endpoint %w", err)
	}
	f.options.Tracer = tracer
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), exportTime)
		defer cancel()
		_ = tracer.Close(ctx)
	}()
	return run()
}

// errNotLinux means that the machine can run the commands but no server and no agent.
var errNotLinux = errors.New("servers and agents run on Linux only: start one there, and use it from here with --server ssh://user@host")

// canRunContainers returns errNotLinux for another operating system: limits, networks, disks and the processes of
// containers are the Linux kernel's.
func canRunContainers(goos string) error {
	if goos != "linux" {
		return fmt.Errorf("this is %s: %w", goos, errNotLinux)
	}
	return nil
}

// prepare sets up the log and the garbage collector. It returns an error where no server can run.
func (f *machineFlags) prepare() error {
	if err := canRunContainers(runtime.GOOS); err != nil {
		return err
	}
	spareMemory()
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return err
	}
	f.options.Logger = slog.New(logHandler(f.logFormat, level))
	slog.SetDefault(f.options.Logger)
	return nil
}

// check lists every flag that is wrong.
func (f *machineFlags) check() error {
	wrongBuild := f.checkBuild()
	o := f.options
	var level slog.Level
	return errors.Join(
		wrongBuild,
		flagFault("log-level", f.logLevel, level.UnmarshalText([]byte(f.logLevel)) == nil, "debug, info, warn or error"),
		flagFault("log-format", f.logFormat, f.logFormat == "text" || f.logFormat == "json", "text or json"),
		flagFault("runtime", o.Runtime, o.Runtime == "" || o.Runtime == "docker" || o.Runtime == "process",
			"docker or process"),
		flagFault("node", o.Node, o.Node == "" || membership.ValidName(o.Node), membership.NameRule),
		flagFault("advertise", o.Advertise, o.Advertise == "" || isAddress(o.Advertise), "an IP address"),
		checkListenOrOff("relay-listen", o.RelayListen),
		checkIngress(o.Ingress),
		flagFault("starts", o.Starts, o.Starts > 0, "1 or more"),
		flagFault("callback-port", o.CallbackPort, o.CallbackPort >= 0 && o.CallbackPort <= 65535, "0 to 65535"),
		flagFault("resync", o.Resync, o.Resync >= 100*time.Millisecond, "100ms or more"),
		flagFault("heartbeat", o.Heartbeat, o.Heartbeat >= 100*time.Millisecond, "100ms or more"),
		flagFault("node-timeout", o.NodeTimeout, o.NodeTimeout >= max(3*time.Second, 2*o.Heartbeat),
			fmt.Sprintf("%s or more: 3s, and two heartbeats of %s", max(3*time.Second, 2*o.Heartbeat), o.Heartbeat)),
	)
}

func checkListenOrOff(name, address string) error {
	if address == "off" {
		return nil
	}
	return checkListen(name, address)
}

// checkIngress checks the flags of the ingress that need no look at a file.
func checkIngress(o host.IngressOptions) error {
	_, balancers := host.Networks("--ingress-proxy-protocol", o.Balancers)
	_, proxies := host.Networks("--ingress-trusted-proxies", o.Trusted)
	directory, err := url.Parse(o.Directory)
	return errors.Join(
		checkListenOrOff("ingress-http", o.HTTP), checkListenOrOff("ingress-https", o.HTTPS), balancers, proxies,
		flagFault("acme-directory", o.Directory,
			o.Directory == "" || err == nil && directory.Host != "" && (directory.Scheme == "http" || directory.Scheme == "https"),
			"a URL, as in https://acme.example.org/directory"),
		flagFault("acme-dns-server", o.DNSServer, o.DNSServer == "" || o.DNSKey != "",
			"also --acme-dns-key: the file of its key"),
		flagFault("acme-dns-key", o.DNSKey, o.DNSKey == "" || o.DNSServer != "",
			"also --acme-dns-server: the name server that takes the updates"),
	)
}

func isAddress(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil
}
