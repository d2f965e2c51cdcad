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

// WaitForCacheSync returns at once if the caches are filled, and otherwise waits until the context ends.
func (c caches) WaitForCacheSync(ctx context.Context) bool {
	if !c {
		<-ctx.Done()
	}
	return bool(c)
}

// TestReadyWaitsForTheCaches: the operator isn't ready before its kinds are listed, and a probe still gets an answer in
// time.
func TestReadyWaitsForTheCaches(t *testing.T) {
	request := httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil)
	if err := cachesFilled(caches(false))(request); err == nil {
		t.Error("empty caches are ready")
	}
	if err := cachesFilled(caches(true))(request); err != nil {
		t.Errorf("filled caches: %v", err)
	}
}
