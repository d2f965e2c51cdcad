package health

import (
	"fmt"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// The bounds of reading: trees at a time, and objects a second of all trees together.
const (
	workers     = 2
	readsPerSec = 20
	readsAtOnce = 100
)

// Add adds the controller that reads trees to a manager, and returns what it reads.
func Add(mgr manager.Manager) (*Trees, error) {
	limit := flowcontrol.NewTokenBucketRateLimiter(readsPerSec, readsAtOnce)
	trees := &Trees{Reader: &Reader{Live: mgr.GetAPIReader(), Wait: limit.Wait}, Now: time.Now}
	err := ctrl.NewControllerManagedBy(mgr).Named("health").
		WatchesRawSource(source.Func(trees.begin)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, ReconciliationTimeout: time.Minute}).
		Complete(trees)
	if err != nil {
		return nil, fmt.Errorf("add the controller that reads what charts made: %w", err)
	}
	return trees, nil
}
