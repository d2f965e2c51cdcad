package operator

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
)

// TestReadySaysWhichKindIsMissing: an installation without CRDs is not ready, and the check names the kind.
func TestReadySaysWhichKindIsMissing(t *testing.T) {
	mapper := meta.NewDefaultRESTMapper(nil)
	check := kindsServed(mapper)
	request := httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil)
	for _, kind := range kinds {
		if err := check(request); err == nil || !strings.Contains(err.Error(), kind.Kind) {
			t.Errorf("without %s: %v", kind.Kind, err)
		}
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	if err := check(request); err != nil {
		t.Errorf("with all kinds: %v", err)
	}
}

type caches bool

// WaitForCacheSync waits until the context ends, unless the caches are filled.
func (c caches) WaitForCacheSync(ctx context.Context) bool {
	if !c {
		<-ctx.Done()
	}
	return bool(c)
}

// TestReadyWaitsForTheCaches: what has not been listed is not ready, and a probe gets its answer.
func TestReadyWaitsForTheCaches(t *testing.T) {
	request := httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil)
	if err := cachesFilled(caches(false))(request); err == nil {
		t.Error("empty caches are ready")
	}
	if err := cachesFilled(caches(true))(request); err != nil {
		t.Errorf("filled caches: %v", err)
	}
}
