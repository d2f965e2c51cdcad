package link

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"tend.dev/tend/api/pull"
)

// TestWhatAPersonStored: the operator replaces its credentials and its list of jobs although a person, or a restore of
// the cluster, has written them.
func TestWhatAPersonStored(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "credentials"}, Type: "Opaque",
		Data: map[string][]byte{keyToken: []byte("old"), keyClusterID: []byte("c-1")}}
	jobs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: pageName(0)},
		Data: map[string]string{keyApplied: "[]"}}
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).Build()
	for _, object := range []client.Object{secret, jobs} {
		if err := c.Create(t.Context(), object, client.FieldOwner("kubectl")); err != nil {
			t.Fatal(err)
		}
	}
	s := &store{Client: c, Live: c, Key: client.ObjectKeyFromObject(secret), Cluster: "east", UID: "u", now: time.Now}
	if err := s.Save(t.Context(), pull.Credential{ClusterID: "c-1", Token: "new"}); err != nil {
		t.Error(err)
	}
	if got, err := s.Load(t.Context()); err != nil || got.Token != "new" {
		t.Errorf("the credential is %q, %v", got.Token, err)
	}
	a := &appliedJobs{Client: c, Live: c, Namespace: "system"}
	if err := a.Save(t.Context(), 0, []byte(`[{"key":"k"}]`)); err != nil {
		t.Error(err)
	}
	if got, err := a.Load(t.Context(), 0); err != nil || string(got) != `[{"key":"k"}]` {
		t.Errorf("the jobs are %s, %v", got, err)
	}
}
