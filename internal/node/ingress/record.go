package ingress

import (
	"net/http"
	"time"
)

// record is one exchange as the metrics and the access log report it.
type record struct {
	client, host, method, path, proto string
	status                            int
	bytes                             int64 // of the answer's body
	backend                           *backend
	pod                               *pod // the pod that answered
	failure                           error
}

// recordExchange records an exchange that net/http read.
func (p *Proxy) recordExchange(r *http.Request, w *watched, from origin, x *exchange, began time.Time) {
	seen := record{
		client: from.client, host: r.Host, method: r.Method, path: r.URL.Path, proto: r.Proto,
		status: w.status, bytes: w.bytes,
	}
	if x != nil {
		seen.backend, seen.pod, seen.failure = x.backend, x.pod, x.failure
	}
	p.write(seen, began)
}

// write counts an exchange in the metrics, and logs it if there is an access log.
func (p *Proxy) write(r record, began time.Time) {
	took, of := p.opts.Now().Sub(began), p.unrouted
	if r.backend != nil {
		of = r.backend.series
	}
	of.served(r.status, took)
	if p.opts.Access == nil {
		return
	}
	fields := []any{
		"client", r.client, "host", hostname(r.host), "method", r.method, "path", r.path, "proto", r.proto,
		"status", r.status, "bytes", r.bytes, "took", took.Seconds(),
	}
	if r.backend != nil {
		fields = append(fields, "ingress", of.ingress)
	}
	if r.pod != nil {
		fields = append(fields, "pod", r.pod.Name)
	}
	if r.failure != nil {
		fields = append(fields, "error", r.failure.Error())
	}
	p.opts.Access.Info("request", fields...)
}
