package daemon

import (
	"bufio"
	"context"
	"crypto/tls"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// bareAtRest returns the share of a core, in percent, of a server that only answers heartbeats, as many as an idle
// fleet sends: the part of net/http and of the machine in the fleet's figure.
func bareAtRest(b *testing.B, nodes int) float64 {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	binary := filepath.Join(b.TempDir(), "bare")
	if out, err := exec.Command("go", "build", "-o", binary, "./testdata/bare").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	server := exec.CommandContext(ctx, binary)
	out, err := server.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	var beating sync.WaitGroup
	for range nodes {
		beating.Go(func() { heartbeats(ctx, b, strings.TrimSpace(url)) })
	}
	<-time.After(rest)
	cpu := processorTime(b, server.Process.Pid)
	<-time.After(rest)
	used := processorTime(b, server.Process.Pid) - cpu
	cancel()
	beating.Wait()
	_ = server.Wait()
	return 100 * used.Seconds() / rest.Seconds()
}

// heartbeats sends the heartbeats of one node, beginning at a random moment.
func heartbeats(ctx context.Context, b *testing.B, url string) {
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	const every = 5 * time.Second
	for wait := rand.N(every); ; wait = every {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, http.NoBody)
		if err != nil {
			b.Error(err)
			return
		}
		answer, err := transport.RoundTrip(request)
		if err != nil {
			if ctx.Err() == nil {
				b.Error(err)
			}
			return
		}
		_ = answer.Body.Close()
	}
}
