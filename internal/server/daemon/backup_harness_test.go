package daemon

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
)

// metric returns the value of a sample, by its name and labels as /metrics prints them; -1 if there is none.
func (r *running) metric(sample string) float64 {
	r.t.Helper()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(r.root, "tend.sock"))
	}
	transport := &http.Transport{DialContext: dial, DisableKeepAlives: true}
	answer, err := (&http.Client{Transport: transport}).Get("http://tend/metrics")
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), sample+" "); ok {
			value, err := strconv.ParseFloat(text, 64)
			if err != nil {
				r.t.Fatal(err)
			}
			return value
		}
	}
	return -1
}

// cycles returns the number of full passes of the controllers of deployments and jobs.
func (r *running) cycles() float64 {
	least := r.metric(`tend_reconciliation_cycles_total{kind="deployment"}`)
	for _, kind := range []string{"job", "cronjob", "task"} {
		least = min(least, r.metric(`tend_reconciliation_cycles_total{kind="`+kind+`"}`))
	}
	return least
}

func digestOfText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}
