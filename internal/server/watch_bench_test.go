package server_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/records"
)

// BenchmarkWatchers measures a change that a thousand watches of the API are sent over a socket each: how long it takes
// until the last one has it, and what processor time a delivery takes, that of the readers included.
func BenchmarkWatchers(b *testing.B) {
	const watchers, changes = 1000, 200
	w := newWorld(b, func(o *server.Options) { o.MaxStreams = watchers })
	w.applied(b)
	var connected, delivered sync.WaitGroup
	connected.Add(watchers)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	for range watchers {
		go watchLines(ctx, b, w.socket, &connected, &delivered)
	}
	connected.Wait()
	var took []time.Duration
	used := processorTime(b)
	for b.Loop() {
		for i := range changes {
			delivered.Add(watchers)
			w.put(records.StatusKey(ref("web")), api.WorkloadStatus{Ready: i, Conditions: make([]api.Condition, 3)})
			began := time.Now()
			delivered.Wait()
			took = append(took, time.Since(began))
		}
	}
	used = processorTime(b) - used
	slices.Sort(took)
	for unit, value := range map[string]float64{
		"ms-last-p50":     float64(took[len(took)/2]) / float64(time.Millisecond),
		"ms-last-p99":     float64(took[len(took)*99/100]) / float64(time.Millisecond),
		"cpu-us/delivery": float64(used) / float64(time.Microsecond) / float64(len(took)*watchers),
	} {
		fmt.Printf("bench: watchers-%d-%s %.2f\n", watchers, unit, value)
		b.ReportMetric(value, unit)
	}
}

func (w *world) applied(b *testing.B) {
	b.Helper()
	w.put(records.ObjectKey(ref("web")),
		api.Object{Kind: api.KindDeployment, Scope: ref("web").Scope, Name: "web", Spec: []byte(`{"image":"a"}`)})
}

// watchLines reads a watch until ctx ends. It calls connected.Done at the first line, and delivered.Done at each
// further one.
func watchLines(ctx context.Context, b *testing.B, socket string, connected, delivered *sync.WaitGroup) {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://tend/v1/objects/deployment?watch=1", http.NoBody)
	if err != nil {
		b.Error(err)
		return
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		b.Error(err)
		return
	}
	defer response.Body.Close()
	lines, begun := bufio.NewScanner(response.Body), false
	for lines.Scan() {
		switch line := lines.Bytes(); {
		case !begun && bytes.Contains(line, []byte(`"type":"bookmark"`)):
			begun = true
			connected.Done()
		case begun && bytes.Contains(line, []byte(`"type":"put"`)):
			delivered.Done()
		}
	}
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
