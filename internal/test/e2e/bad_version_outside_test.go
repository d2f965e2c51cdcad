//go:build integration && long

package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"tend.dev/tend/api"
)

// visits are the requests to one host, one after another: how many there were and failed, and the longest time without
// a good answer.
type visits struct {
	asked, failed int
	gap           time.Duration
	first         string // the first failure
}

// visited asks a host all the time until stop is called, which returns what became of the requests.
func (f *front) visited(host string) (stop func() visits) {
	end, result, client := make(chan struct{}), make(chan visits, 1), f.asks(f.plain, nil)
	client.Timeout = time.Minute // an ingress holds requests for a while
	go func() {
		v, good := visits{}, time.Now()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-end:
				v.gap = max(v.gap, time.Since(good))
				result <- v
				return
			case <-tick.C:
			}
			response, err := client.Get("http://" + host + "/")
			if err == nil {
				response.Body.Close()
			}
			v.asked++
			switch {
			case err == nil && response.StatusCode == http.StatusOK:
				v.gap, good = max(v.gap, time.Since(good)), time.Now()
			case v.first == "" && err != nil:
				v.failed, v.first = v.failed+1, err.Error()
			case v.first == "":
				v.failed, v.first = v.failed+1, response.Status
			default:
				v.failed++
			}
		}
	}()
	return func() visits {
		close(end)
		return <-result
	}
}

// TestABadVersionFromOutside: visitors see at the address of its ingress what the table says of a single replica. Where
// it is down for 0 s no request fails.
func TestABadVersionFromOutside(t *testing.T) {
	rows := costTable(t)
	f := newFront(t)
	var all []cell
	for _, r := range rows {
		if everyCell || r.down == "0 s" {
			all = append(all, cell{name: fmt.Sprintf("o%d", len(all)), row: r, replicas: 1, parallel: 1, probes: "readiness",
				outside: true})
		}
	}
	f.applyCells(checked{}, all, false)
	var stops []func() visits
	for _, c := range all {
		f.converged(c.name, 0)
		f.serve(c.name, api.IngressSpec{Host: c.name + ".test", Port: 8080})
		stops = append(stops, f.visited(c.name+".test"))
	}
	h := f.follow()
	f.applyCells(checked{}, all, true)
	for _, c := range all {
		f.until(c.String()+" has failed", func() bool { return c.over(h) })
		if c.row.down != "0 s" {
			f.until(c.String()+" is back", func() bool { return f.ingress(c.name, "Ready").Status == api.ConditionTrue })
		}
	}
	for i, c := range all {
		v := stops[i]()
		t.Logf("%s: %d of %d requests failed, %s without an answer", c, v.failed, v.asked, v.gap.Round(time.Millisecond))
		if c.row.down == "0 s" && v.failed > 0 {
			t.Errorf("%s: %d of %d requests failed, the table says 0 s; first: %s", c, v.failed, v.asked, v.first)
		}
		if c.row.down != "0 s" && v.failed == 0 && v.gap < time.Second {
			t.Errorf("%s: no visitor saw it, the table says %s", c, c.row.down)
		}
		if v.asked == 0 {
			t.Errorf("%s: nothing was asked", c)
		}
	}
}
