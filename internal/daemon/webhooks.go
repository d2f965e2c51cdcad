package daemon

import (
	"io"

	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/internal/blob"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/delivery"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/version"
	"tend.dev/tend/internal/webhook"
)

// deliveryWorkers is how many deliveries are looked at at once; the calls themselves are made beside them.
const deliveryWorkers = 2

// buildDeliveries makes the controller of webhook calls.
func (d *daemon) buildDeliveries(deps control.Deps) (*engine.Controller, error) {
	outcomes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tend_webhook_deliveries_total", Help: "Attempts to call a webhook, by outcome: delivered, failed or retried.",
	}, []string{"outcome"})
	d.registry.MustRegister(outcomes)
	for _, outcome := range []string{delivery.CountDelivered, delivery.CountFailed, delivery.CountRetried} {
		outcomes.WithLabelValues(outcome)
	}
	caller := webhook.New()
	d.onStop(func() error { caller.Close(); return nil })
	var work *engine.Controller
	d.deliveries = delivery.New(delivery.Deps{
		Deps: deps, Call: caller.Call, Blob: func(digest string) ([]byte, error) { return readBlob(d.files.blobs, digest) }, Agent: "tend-webhook/" + version.Version,
		Wake:  func(keys ...engine.Key) { work.Enqueue(keys...) },
		Count: func(outcome string) { outcomes.WithLabelValues(outcome).Inc() },
	})
	work = engine.New(d.engineOptions(engine.Options{
		Name: "delivery", Reconciler: d.deliveries, Workers: deliveryWorkers, Replay: d.deliveries.Keys, Dirty: d.deliveries.Dirty,
	}))
	return work, nil
}

// readBlob reads what an asset's digest stands for.
func readBlob(blobs *blob.Store, digest string) ([]byte, error) {
	file, err := blobs.Open(digest)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxHookFile))
}

// maxHookFile bounds a webhook's body: a larger file is cut and then no JSON.
const maxHookFile = 1 << 20
