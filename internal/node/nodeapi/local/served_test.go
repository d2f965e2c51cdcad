package local

import (
	"encoding/json"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

type plain struct{}

func (plain) Decrypt(sealed []byte) ([]byte, error) { return sealed, nil }

// TestACertificateOfOnesOwnThatIsMissing: it is reported, and never treated as none: then one would be requested from
// an authority.
func TestACertificateOfOnesOwnThatIsMissing(t *testing.T) {
	for name, test := range map[string]struct {
		keys map[string]string
		want string
	}{
		"both there":     {map[string]string{"CRT": "c", "KEY": "k"}, ""},
		"none":           {nil, "there is no config key CRT"},
		"no key":         {map[string]string{"CRT": "c"}, "there is no config key KEY"},
		"an empty one":   {map[string]string{"CRT": "", "KEY": "k"}, "the config key CRT is empty"},
		"an empty key":   {map[string]string{"CRT": "c", "KEY": ""}, "the config key KEY is empty"},
		"both are empty": {map[string]string{"CRT": "", "KEY": ""}, "the config key CRT is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			store := memory.New()
			defer store.Close()
			shop := api.Ref{Kind: api.KindIngress, Scope: "prod", Name: "shop"}
			spec, err := json.Marshal(api.IngressSpec{Host: "shop.org", TLS: &api.IngressTLS{Certificate: "CRT", Key: "KEY"}})
			if err != nil {
				t.Fatal(err)
			}
			txn := records.NewTxn("test").Put(records.ObjectKey(shop),
				api.Object{Kind: shop.Kind, Scope: shop.Scope, Name: shop.Name, Spec: spec})
			for key, value := range test.keys {
				txn.Put(records.ConfigAppPrefix("prod", "shop")+key, []byte(value))
			}
			if _, err := txn.Commit(t.Context(), store); err != nil {
				t.Fatal(err)
			}
			v := view.New(store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
			c := New(Options{Store: store, View: v, Keys: plain{}, Own: "n1"}).Node("n1")
			go func() { _ = v.Run(t.Context()) }()
			<-v.Synced()
			policies := c.Served().Certificates
			if len(policies) != 1 {
				t.Fatalf("%d policies", len(policies))
			}
			fault := policies[0].Fault
			if (fault == "") != (test.want == "") || !strings.Contains(fault, test.want) {
				t.Errorf("%q, want %q", fault, test.want)
			}
		})
	}
}
