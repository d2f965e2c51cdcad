package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
)

// BenchmarkLabs runs a whole server over embedded etcd and an engine without containers. It schedules labs and prints
// how long after its instant each ran and ended: 1,000 within a minute, a class of 30 at one instant, and a class of
// 500. Run it with -benchtime 1x.
func BenchmarkLabs(b *testing.B) {
	for name, c := range map[string]struct{ labs, instants int }{"spread-1000": {1000, 60}, "class-30": {30, 1},
		"class-500": {500, 1}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				measureLabs(b, name, c.labs, c.instants)
			}
		})
	}
}

func measureLabs(b *testing.B, name string, labs, seconds int) {
	root, err := os.MkdirTemp("", "tend")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(root)
	engine := hollow.NewEngine()
	engine.AddImage("lab:1")
	defer engine.Close()
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Options{
			Options: host.Options{
				Root: root, Node: "n1", Runtime: "hollow", Logger: slog.New(slog.DiscardHandler),
				Engine: func(cluster, node string) (runtime.Runtime, error) { return engine.Client(cluster, node), nil },
			},
			HTTP: "off", QuietEtcd: true,
		})
	}()
	c, err := client.New(client.Options{Server: "unix://" + filepath.Join(root, "tend.sock")})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	awaits(b, func() bool { ready, err := c.Readiness(ctx); return err == nil && ready.Ready })

	begin := time.Now().Add(30 * time.Second).Truncate(time.Second)
	for chunk := range slices.Chunk(spreadLabs(begin, labs, seconds), 500) {
		if _, err := c.Apply(ctx, api.ApplyRequest{Objects: chunk}); err != nil {
			b.Fatal(err)
		}
	}
	if late := time.Since(begin); late > 0 {
		b.Fatalf("applying took until %s after the first instant", late)
	}
	// polling would take processor time from the measurement
	<-time.After(time.Until(begin.Add(time.Duration(seconds+10) * time.Second)))
	var statuses []api.LabStatus
	awaits(b, func() bool {
		statuses = endedLabs(ctx, b, c)
		return len(statuses) == labs && len(engine.Containers()) == 0
	})
	var starts, ends []time.Duration
	for _, s := range statuses {
		starts, ends = append(starts, s.StartedAt.Sub(s.StartsAt)), append(ends, s.CompletedAt.Sub(s.EndsAt))
	}
	for what, late := range map[string][]time.Duration{"start": starts, "end": ends} {
		slices.Sort(late)
		p99 := late[len(late)*99/100]
		fmt.Printf("bench: labs-%s-%s-p50 %.4g ms\n", name, what, late[len(late)/2].Seconds()*1000)
		fmt.Printf("bench: labs-%s-%s-p99 %.4g ms\n", name, what, p99.Seconds()*1000)
		fmt.Printf("bench: labs-%s-%s-max %.4g ms\n", name, what, late[len(late)-1].Seconds()*1000)
		b.ReportMetric(p99.Seconds()*1000, "ms-"+what+"-p99")
	}
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}

// spreadLabs returns labs that run for 10 s each, evenly over so many seconds.
func spreadLabs(begin time.Time, labs, seconds int) (out []api.Object) {
	for i := range labs {
		spec := api.LabSpec{Owner: "ada@example.org", Duration: "10s"}
		spec.Image = "lab:1"
		after := time.Duration(i) * time.Duration(seconds-1) * time.Second / time.Duration(labs)
		spec.Start = begin.Add(after).UTC().Format(time.RFC3339Nano)
		raw, _ := json.Marshal(spec) // texts alone
		out = append(out, api.Object{Kind: api.KindLab, Scope: "school", Name: fmt.Sprintf("lab-%d", i+1), Spec: raw})
	}
	return out
}

func endedLabs(ctx context.Context, b *testing.B, c *client.Client) (out []api.LabStatus) {
	b.Helper()
	list, err := c.Objects(ctx, api.KindLab, client.ObjectFilter{})
	if err != nil {
		b.Fatal(err)
	}
	for _, object := range list.Items {
		if status, err := api.DecodeStatus[api.LabStatus](object); err == nil && status.Phase.Ended() {
			out = append(out, status)
		}
	}
	return out
}
