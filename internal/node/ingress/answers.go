package ingress

import (
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// refusal returns the status and the reason of a request that is refused on every route, or 0.
func refusal(r *http.Request) (status int, why string) {
	switch {
	case r.Method == http.MethodConnect:
		return http.StatusMethodNotAllowed, "this is not a forward proxy"
	case !validHost(r.Host):
		return http.StatusBadRequest, "the Host header is neither a name nor an address, with a port or without"
	case dotted(r.URL.Path): // a pod that resolves the path would serve it though another route owns it
		return http.StatusBadRequest, "the path has segments of dots: resolve them before asking"
	}
	return 0, ""
}

// redirect sends a plain request to its secure form. 308 keeps the method and the body.
func (p *Proxy) redirect(w http.ResponseWriter, r *http.Request) {
	host := hostname(r.Host)
	switch {
	case p.opts.SecurePort != 443:
		host = net.JoinHostPort(host, strconv.Itoa(p.opts.SecurePort))
	case strings.Contains(host, ":"):
		host = "[" + host + "]"
	}
	http.Redirect(w, r, "https://"+host+r.URL.RequestURI(), http.StatusPermanentRedirect)
}

// fail answers if no pod did.
func (p *Proxy) fail(w http.ResponseWriter, r *http.Request, err error) {
	x := exchangeOf(r.Context())
	x.failure = err
	var timeout net.Error
	switch {
	case x.body.stuck():
		w.Header().Set("Connection", "close")
		problem(w, http.StatusRequestTimeout, "the request's body did not arrive in time: send it again")
	case r.Context().Err() != nil:
		w.WriteHeader(statusLeft) // the client has left and reads nothing; the status is for the access log
	case x.body.broken():
		w.Header().Set("Connection", "close")
		problem(w, http.StatusBadRequest, "the request's body broke off")
	case errors.Is(err, errNoPod):
		unready(w, x)
	case errors.As(err, &timeout) && timeout.Timeout():
		problem(w, http.StatusGatewayTimeout, "no pod answered in time")
	default:
		problem(w, http.StatusBadGateway, unanswered(x, err))
	}
}

// unanswered returns the reason why no pod answered: the request reached none, or the pod failed while it had the
// request.
func unanswered(x *exchange, err error) string {
	switch {
	case unsent(err) || x.asking == nil:
		return "no connection to a pod"
	case x.asking.removed.Load():
		return "the pod was replaced or stopped, and the request took longer than strategy.drain: " +
			"send it again, or raise strategy.drain"
	}
	return "the pod ended the connection without an answer"
}

func unready(w http.ResponseWriter, x *exchange) {
	x.failure = errNoPod
	w.Header().Set("Retry-After", "1")
	problem(w, http.StatusServiceUnavailable, "no pod is ready")
}

// problem answers in a line of text: people see it in a browser. Any visitor may read it, so it names no object of the
// cluster: the access log does.
func problem(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(strconv.Itoa(status) + " " + text + "\n"))
}
