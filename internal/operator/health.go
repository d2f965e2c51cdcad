package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
)

// cacheWait bounds the time that a probe waits for the caches. A kubelet's probe has a second.
const cacheWait = 500 * time.Millisecond

// kinds are the kinds that the operator can't work without.
var kinds = []schema.GroupVersionKind{
	appsv1alpha1.GroupVersion.WithKind(appsv1alpha1.Kind),
	opsv1alpha1.GroupVersion.WithKind(opsv1alpha1.KindOperation),
	opsv1alpha1.GroupVersion.WithKind("Cluster"),
}

// addChecks adds the health checks. An operator that waits for the lease is ready: it can take over. A failed check's
// answer names what is not ready.
func addChecks(mgr manager.Manager) error {
	return errors.Join(
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("kinds", kindsServed(mgr.GetRESTMapper())),
		mgr.AddReadyzCheck("caches", cachesFilled(mgr.GetCache())),
	)
}

// kindsServed returns a check that the API server serves the operator's own kinds.
func kindsServed(mapper meta.RESTMapper) healthz.Checker {
	return func(*http.Request) error {
		for _, kind := range kinds {
			if _, err := mapper.RESTMapping(kind.GroupKind(), kind.Version); err != nil {
				return fmt.Errorf("%s: %w: apply deploy/operator/crd", kind.Kind, err)
			}
		}
		return nil
	}
}

// cachesFilled returns a check that every watched kind has been listed once.
func cachesFilled(cache interface {
	WaitForCacheSync(ctx context.Context) bool
}) healthz.Checker {
	return func(request *http.Request) error {
		ctx, cancel := context.WithTimeout(request.Context(), cacheWait)
		defer cancel()
		if !cache.WaitForCacheSync(ctx) {
			return errors.New("not every watched kind has been listed yet")
		}
		return nil
	}
}
