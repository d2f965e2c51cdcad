package resolver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/platform/connlimit"
	"tend.dev/tend/internal/platform/recovery"
)

// Options are the options of a Resolver. Ask is required.
type Options struct {
	// Ask asks the control plane for a name.
	Ask func(context.Context, string) (node.Names, error)
	// Config is the file that names the machine's own name servers, which listen at the port Upstream. Default
	// /etc/resolv.conf and 53.
	Config, Upstream string
	// Port defaults to 53, Now to time.Now, Logger to slog.Default().
	Port   int
	Now    func() time.Time
	Logger *slog.Logger
}

// maxConnections bounds the connections for queries over TCP.
const maxConnections = 1024

// Resolver answers queries. Create it with New; Listen at an address, and Close.
type Resolver struct {
	Options
	names *names
	// at is where it listens; nil while it doesn't, or not with both servers.
	at atomic.Pointer[netip.Addr]

	mu      sync.Mutex // held while queries under way are awaited: answering one must not take it
	servers []*dns.Server
	sockets []io.Closer
}

// New returns a Resolver that doesn't listen yet.
func New(o Options) *Resolver {
	o.Config = cmp.Or(o.Config, "/etc/resolv.conf")
	o.Upstream = cmp.Or(o.Upstream, "53")
	o.Port = cmp.Or(o.Port, 53)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Resolver{Options: o, names: &names{ask: o.Ask, now: o.Now, kept: map[string]answer{}}}
}

// Listen answers at an address from now on, over UDP and TCP. A second call for an address does nothing, unless
// answering has failed meanwhile.
func (r *Resolver) Listen(at netip.Addr) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if open := r.at.Load(); open != nil && *open == at {
		return nil
	}
	r.close()
	address := netip.AddrPortFrom(at, uint16(r.Port)).String()
	packets, err := net.ListenPacket("udp", address)
	if err != nil {
		return fmt.Errorf("answer the name queries of containers: %w: stop the program that listens there", err)
	}
	streams, err := net.Listen("tcp", packets.LocalAddr().String())
	if err != nil {
		return errors.Join(fmt.Errorf("answer the name queries of containers: %w: stop the program that listens there", err),
			packets.Close())
	}
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, query *dns.Msg) {
		_ = recovery.Call(func() error { r.serve(w, query); return nil }) // the library's goroutines don't recover
	})
	streams = connlimit.New(streams, connlimit.Options{
		Total: connlimit.Within(connlimit.Files(), 8, maxConnections), Name: "name queries", Logger: r.Logger,
	})
	r.servers = []*dns.Server{{PacketConn: packets, Handler: handler}, {Listener: streams, Handler: handler}}
	r.sockets = []io.Closer{packets, streams}
	r.at.Store(&at)
	for _, server := range r.servers {
		if err := r.start(server, &at); err != nil {
			r.close()
			return fmt.Errorf("answer the name queries of containers: %w", err)
		}
	}
	return nil
}

// start starts a server, and returns once it answers. If it fails later, the next Listen starts others.
func (r *Resolver) start(server *dns.Server, at *netip.Addr) error {
	started := make(chan error, 1)
	server.NotifyStartedFunc = func() { started <- nil }
	recovery.Go(func() {
		var err error
		defer func() { // also after a panic
			r.at.CompareAndSwap(at, nil)
			select {
			case started <- err:
			default:
			}
		}()
		if err = server.ActivateAndServe(); err != nil {
			r.Logger.Warn("name queries are no longer answered at this address; retrying", "address", at.String(),
				"error", err)
		}
	})
	return <-started
}

// Close ends it.
func (r *Resolver) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.close()
}

func (r *Resolver) close() {
	r.at.Store(nil)
	for _, server := range r.servers {
		_ = server.Shutdown()
	}
	for _, socket := range r.sockets {
		_ = socket.Close() // also of a server that never started
	}
	r.servers, r.sockets = nil, nil
}

// serve answers one query.
func (r *Resolver) serve(w dns.ResponseWriter, query *dns.Msg) {
	if len(query.Question) != 1 {
		r.reply(w, query, dns.RcodeFormatError, nil)
		return
	}
	question := query.Question[0]
	name := strings.ToLower(question.Name)
	zoned, ours := candidate(name)
	var found node.Names
	var err error // it isn't known whether the name is a workload's
	if ours {
		found, err = r.names.of(context.Background(), name)
	}
	switch {
	case found.Known:
		r.reply(w, query, dns.RcodeSuccess, records(question, found.Addresses))
	case zoned && err != nil:
		r.reply(w, query, dns.RcodeServerFailure, nil)
	case zoned:
		r.reply(w, query, dns.RcodeNameError, nil)
	default:
		r.forward(w, query, err != nil)
	}
}

// ttl is the time for which containers may keep an answer, in seconds.
const ttl = 1

// records returns the addresses in random order, so that requests spread.
func records(question dns.Question, addresses []netip.Addr) (out []dns.RR) {
	for _, i := range rand.Perm(len(addresses)) {
		header := dns.RR_Header{Name: question.Name, Rrtype: question.Qtype, Class: dns.ClassINET, Ttl: ttl}
		address := addresses[i]
		switch {
		case question.Qtype == dns.TypeA && address.Is4():
			out = append(out, &dns.A{Hdr: header, A: address.AsSlice()})
		case question.Qtype == dns.TypeAAAA && address.Is6():
			out = append(out, &dns.AAAA{Hdr: header, AAAA: address.AsSlice()})
		}
	}
	return out
}

func (r *Resolver) reply(w dns.ResponseWriter, query *dns.Msg, code int, answers []dns.RR) {
	message := new(dns.Msg).SetRcode(query, code)
	message.RecursionAvailable, message.Answer = true, answers
	r.write(w, query, message)
}

// write sends an answer, cut to the size that the client accepts.
func (r *Resolver) write(w dns.ResponseWriter, query, message *dns.Msg) {
	size := dns.MaxMsgSize
	if w.LocalAddr().Network() == "udp" {
		size = dns.MinMsgSize
		if options := query.IsEdns0(); options != nil {
			size = max(size, int(options.UDPSize()))
		}
	}
	message.Truncate(size)
	if err := w.WriteMsg(message); err != nil {
		r.Logger.Debug("an answer to a name query was not sent", "error", err)
	}
}

// forwardTime bounds a query to one of the machine's own name servers.
const forwardTime = 2 * time.Second

// forward asks the machine's own name servers, one after another. If the name may be a workload's, they can't say that
// it doesn't exist.
func (r *Resolver) forward(w dns.ResponseWriter, query *dns.Msg, unsure bool) {
	config, err := dns.ClientConfigFromFile(r.Config)
	if err != nil {
		r.Logger.Debug("the machine's name servers are not known", "file", r.Config, "error", err)
		r.reply(w, query, dns.RcodeServerFailure, nil)
		return
	}
	own, _ := netip.ParseAddrPort(w.LocalAddr().String())
	client := &dns.Client{Net: w.LocalAddr().Network(), Timeout: forwardTime, UDPSize: dns.MaxMsgSize - 1}
	for _, server := range config.Servers {
		if at, err := netip.ParseAddr(server); err != nil || at == own.Addr() {
			continue
		}
		answer, _, err := client.Exchange(query, net.JoinHostPort(server, r.Upstream))
		if err == nil && unsure && answer.Rcode == dns.RcodeNameError {
			break
		}
		if err == nil {
			r.write(w, query, answer)
			return
		}
	}
	r.reply(w, query, dns.RcodeServerFailure, nil)
}
