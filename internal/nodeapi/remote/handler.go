package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/nodeapi/local"
)

// Prefix is the prefix of the protocol's paths.
const Prefix = "/node/v1/"

// maxReport bounds the body of a report: the agent bounds each of its parts.
const maxReport = 16 << 20

// Handler is the server's half. Create it with NewHandler.
type Handler struct {
	service *local.Service
	node    func(*http.Request) (string, error)
	log     *slog.Logger
	mux     *http.ServeMux

	mu       sync.Mutex
	controls map[string]*local.Control // their leases outlive a connection
}

// NewHandler returns a Handler. node returns the node that a request comes from, by the certificate of its connection;
// an error refuses the request.
func NewHandler(service *local.Service, node func(*http.Request) (string, error), log *slog.Logger) *Handler {
	h := &Handler{service: service, node: node, log: log, mux: http.NewServeMux(), controls: map[string]*local.Control{}}
	for pattern, answer := range map[string]func(*local.Control, http.ResponseWriter, *http.Request) error{
		"GET follow": h.follow, "POST report": h.report, "POST alive": h.alive, "POST release": h.release, "GET registry": h.registry,
		"GET blobs/{digest}": h.blob, "POST ingress": h.ingress, "POST certificates/{do}": h.certificates, "POST locks/{name...}": h.lock,
	} {
		method, path, _ := strings.Cut(pattern, " ")
		h.mux.HandleFunc(method+" "+Prefix+path, h.answer(answer))
	}
	return h
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

func (h *Handler) answer(answer func(*local.Control, http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id, err := h.node(r)
		if err != nil {
			fail(w, &api.Problem{Status: http.StatusUnauthorized, Title: "NotANode", Detail: err.Error()})
			return
		}
		if err := answer(h.control(id), w, r); err != nil {
			fail(w, problemOf(err))
		}
	}
}

// control returns what a node may read and report.
func (h *Handler) control(id string) *local.Control {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.controls[id] == nil {
		h.controls[id] = h.service.Node(id)
	}
	return h.controls[id]
}

func (h *Handler) follow(c *local.Control, w http.ResponseWriter, r *http.Request) error {
	var since int64
	if text := r.URL.Query().Get("since"); text != "" {
		if _, err := fmt.Sscan(text, &since); err != nil {
			return fmt.Errorf("since=%q: %w", text, errBadRequest)
		}
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out, encoder := http.NewResponseController(w), json.NewEncoder(w)
	var sending sync.Mutex
	send := func(frame node.Frame) error {
		sending.Lock()
		defer sending.Unlock()
		if err := encoder.Encode(frame); err != nil {
			return err
		}
		return out.Flush()
	}
	ctx, cancel := context.WithCancel(r.Context())
	var beating sync.WaitGroup
	defer beating.Wait() // who writes to an answer after its handler returned panics
	defer cancel()
	beating.Go(func() { heartbeat(ctx, func() { _ = send(node.Frame{}) }) })
	if err := c.Follow(ctx, since, send); err != nil && r.Context().Err() == nil {
		h.log.Debug("a node is followed no longer", "node", c.ID(), "error", err)
	}
	return nil
}

// heartbeatEvery is how often a stream shows that it is alive; its reader gives it up after three times that.
const heartbeatEvery = 5 * time.Second

func heartbeat(ctx context.Context, beat func()) {
	ticker := time.NewTicker(heartbeatEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			beat()
		}
	}
}

// reported is the answer to a report: the revision that shows it, and what was refused of it.
type reported struct {
	Revision int64    `json:"revision,omitempty"`
	Refused  []string `json:"refused,omitempty"`
}

func (h *Handler) report(c *local.Control, w http.ResponseWriter, r *http.Request) error {
	var report node.Report
	if err := read(w, r, &report); err != nil {
		return err
	}
	revision, err := c.Write(r.Context(), report)
	var refused *node.RefusedError
	if err != nil && !errors.As(err, &refused) {
		return err
	}
	answer := reported{Revision: revision}
	if refused != nil {
		answer.Refused = refused.Parts
	}
	return write(w, answer)
}

func (h *Handler) ingress(c *local.Control, w http.ResponseWriter, r *http.Request) error {
	var status api.IngressNodeStatus
	if err := read(w, r, &status); err != nil {
		return err
	}
	if err := c.ReportIngress(r.Context(), status); err != nil {
		return err
	}
	return write(w, reported{})
}

func (h *Handler) alive(c *local.Control, w http.ResponseWriter, r *http.Request) error {
	var ttl time.Duration
	if err := read(w, r, &ttl); err != nil {
		return err
	}
	if err := c.Alive(r.Context(), ttl); err != nil {
		return err
	}
	return write(w, reported{})
}

func (h *Handler) release(c *local.Control, w http.ResponseWriter, r *http.Request) error {
	var task api.Task
	if err := read(w, r, &task); err != nil {
		return err
	}
	release, err := c.Release(r.Context(), task)
	if err != nil {
		return err
	}
	return write(w, release)
}

// registry is the answer about a registry.
type registry struct {
	Declared bool          `json:"declared"`
	Registry node.Registry `json:"registry,omitzero"`
}

func (h *Handler) registry(c *local.Control, w http.ResponseWriter, r *http.Request) error {
	found, declared, err := c.Registry(r.Context(), r.URL.Query().Get("host"))
	if err != nil {
		return err
	}
	return write(w, registry{declared, found})
}

func (h *Handler) blob(c *local.Control, w http.ResponseWriter, r *http.Request) error {
	content, err := c.Blob(r.Context(), r.PathValue("digest"))
	if err != nil {
		return err
	}
	defer content.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	if _, err := io.Copy(w, content); err != nil {
		panic(http.ErrAbortHandler) // the length isn't announced: a normal end would be taken for the end of the file
	}
	return nil
}

func read(w http.ResponseWriter, r *http.Request, into any) error {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxReport)).Decode(into); err != nil {
		return fmt.Errorf("the body can't be read: %w: %w", err, errBadRequest)
	}
	return nil
}

func write(w http.ResponseWriter, value any) error {
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(value)
}

func fail(w http.ResponseWriter, problem *api.Problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(problem.Status)
	_ = json.NewEncoder(w).Encode(problem)
}
