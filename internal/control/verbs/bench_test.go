package verbs

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// BenchmarkApply measures an apply that changes one field, with a store that costs next to nothing: the cost of the
// verb itself.
func BenchmarkApply(b *testing.B) {
	for _, keys := range []int{5, 200} {
		b.Run(fmt.Sprintf("env=%d", keys), func(b *testing.B) {
			var env []string
			for i := range keys {
				env = append(env, fmt.Sprintf(`"KEY_%03d":"the value of key %d"`, i, i))
			}
			benchmarkApply(b, `{"image":"web:%d","replicas":3,"ports":["80"],"env":{`+strings.Join(env, ",")+`}}`)
		})
	}
}

func benchmarkApply(b *testing.B, spec string) {
	storage := memory.New()
	defer storage.Close()
	v := view.New(storage, view.Options{Decode: records.Decode, Indexes: records.Indexes,
		Logger: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = v.Run(ctx) }()
	defer func() { cancel(); <-done }()
	<-v.Synced()
	service := New(Options{Store: storage, Reader: FromView{Store: storage, View: v},
		Logger: slog.New(slog.DiscardHandler)})
	n := 0
	for b.Loop() {
		n++
		if _, err := service.Apply(ctx, []api.Object{deployment("prod", "web", fmt.Sprintf(spec, n))},
			ApplyOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
