// Command hello is the example workload: a small HTTP server that says who it is. It listens on $PORT (default 8080),
// answers /healthz, and stops at once when asked to.
package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// version is set when the binary is linked.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	host, _ := os.Hostname()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "hello from %s, version %s, slot %s\n", host, version, os.Getenv("TEND_SLOT"))
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	server := &http.Server{
		Addr:              os.Getenv("HOST") + ":" + cmp.Or(os.Getenv("PORT"), "8080"),
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
	}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	fmt.Printf("hello version %s listens on %s\n", version, server.Addr)
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		fmt.Fprintln(os.Stderr, "hello:", err)
		os.Exit(1)
	}
}
