package link_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/core/clusterjob"
)

// TestPayloadsAreOfKubernetesTypes: a complete spec of Tend becomes a manifest that Kubernetes' types read without
// unknown or lost fields: both sides use the same names.
func TestPayloadsAreOfKubernetesTypes(t *testing.T) {
	tests := map[api.Kind]struct{ spec, into any }{
		api.KindApplicationInstance: {&api.ApplicationInstanceSpec{}, &appsv1alpha1.ApplicationInstance{}},
		api.KindOperation:           {&api.OperationSpec{}, &opsv1alpha1.Operation{}},
	}
	for kind, test := range tests {
		t.Run(string(kind), func(t *testing.T) {
			fill(reflect.ValueOf(test.spec).Elem())
			spec, err := json.Marshal(test.spec)
			if err != nil {
				t.Fatal(err)
			}
			payload, err := clusterjob.Payload(api.Object{
				Kind: kind, Scope: "prod", Name: "web", Spec: spec, Metadata: api.Metadata{UID: "u1", Generation: 1},
			})
			if err != nil {
				t.Fatal(err)
			}
			strict := json.NewDecoder(bytes.NewReader(payload))
			strict.DisallowUnknownFields()
			if err := strict.Decode(test.into); err != nil {
				t.Fatalf("%v in %s", err, payload)
			}
			read, err := json.Marshal(test.into)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(specOf(t, payload), specOf(t, read)); diff != "" {
				t.Errorf("what is sent (-) is not what Kubernetes' type reads (+):\n%s", diff)
			}
		})
	}
}

func specOf(t *testing.T, manifest []byte) any {
	t.Helper()
	var fields struct {
		Spec any `json:"spec"`
	}
	if err := json.Unmarshal(manifest, &fields); err != nil {
		t.Fatal(err)
	}
	return fields.Spec
}

// fill sets every field.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		element := reflect.New(v.Type().Elem()).Elem()
		fill(element)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("x").Convert(v.Type().Key()), element)
	case reflect.Interface:
		v.Set(reflect.ValueOf("x"))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	default:
		v.Set(reflect.ValueOf(1).Convert(v.Type()))
	}
}
