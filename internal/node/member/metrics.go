package member

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"tend.dev/tend/internal/platform/connlimit"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/platform/version"
)

// metricsConnections and metricsTime limit the clients that scrape.
const (
	metricsConnections = 64
	metricsTime        = 10 * time.Second
)

// metrics answers /metrics and /healthz. Nil listens nowhere.
type metrics struct {
	web      *http.Server
	listener net.Listener
}

// listenMetrics adds the metrics of the process to a registry, and opens the listener.
func listenMetrics(ctx context.Context, o Options, registry *prometheus.Registry) (*metrics, error) {
	if o.MetricsListen == "" {
		return nil, nil
	}
	registry.MustRegister(version.Metric(version.Version, ""), recovery.Metric(), collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"status":"ok"}`+"\n")
	})
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.MetricsListen)
	if err != nil {
		return nil, fmt.Errorf("--metrics-listen %s: %w", o.MetricsListen, err)
	}
	m := &metrics{web: &http.Server{
		Handler: mux, ReadTimeout: metricsTime, WriteTimeout: metricsTime, ConnState: connlimit.Note,
		ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}}
	m.listener = connlimit.New(listener, connlimit.Options{
		Total: metricsConnections, Reclaim: func() { connlimit.CloseIdle(m.web) }, Name: "metrics", Logger: o.Logger,
	})
	o.Logger.InfoContext(ctx, "metrics", "address", listener.Addr().String())
	return m, nil
}

// run answers until ctx ends.
func (m *metrics) run(ctx context.Context) error {
	if m == nil {
		<-ctx.Done()
		return nil
	}
	defer context.AfterFunc(ctx, func() { _ = m.web.Close() })()
	if err := m.web.Serve(m.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// close closes a listener whose run was never called.
func (m *metrics) close() error {
	if m == nil {
		return nil
	}
	return m.listener.Close()
}
