package routemux

import "net/http"

// Mux is an http.ServeMux that lists its patterns. Create it with New.
type Mux struct {
	routes   *http.ServeMux
	patterns []string
}

// New returns an empty Mux.
func New() *Mux { return &Mux{routes: http.NewServeMux()} }

// Lister is a handler that lists the patterns that it answers.
type Lister interface{ Patterns() []string }

// Handle registers a handler. Of a Lister the Mux lists the patterns in place of the one where it is registered.
func (m *Mux) Handle(pattern string, handler http.Handler) {
	m.routes.Handle(pattern, handler)
	if inner, lists := handler.(Lister); lists {
		m.patterns = append(m.patterns, inner.Patterns()...)
		return
	}
	m.patterns = append(m.patterns, pattern)
}

// HandleFunc registers a function.
func (m *Mux) HandleFunc(pattern string, handle func(http.ResponseWriter, *http.Request)) {
	m.Handle(pattern, http.HandlerFunc(handle))
}

// Handler returns the handler of a request, and its pattern; an empty pattern if none fits.
func (m *Mux) Handler(r *http.Request) (http.Handler, string) { return m.routes.Handler(r) }

// ServeHTTP implements http.Handler.
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.routes.ServeHTTP(w, r) }

// Patterns returns the patterns in the order in which they were registered.
func (m *Mux) Patterns() []string { return m.patterns }
