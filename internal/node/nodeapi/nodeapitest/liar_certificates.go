package nodeapitest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"tend.dev/tend/internal/node/nodeapi"
)

// foreignKeys are keys of the storage of certificates that are no node's.
var foreignKeys = []string{
	"internal/root.key", "internal/root.crt", "/internal/root.key", "internal/../internal/root.key",
	"acme/../internal/root.key",
	"certificates/acme/other.example/other.example.key", "certificates/acme/shop.example/other.example.key",
	"certificates/acme/shop.example/../other.example/other.example.key", "certificates/acme/shop.example/shop.example.pem",
	"certificates/acme/a.inside.example/a.inside.example.key", "certificates/acme/shop.example",
	"certificates", "acme", "", "/",
	"ocsp/other.example-1", "acme//x", "rw_test_", "rw_test_x", "rw_test_1/2", "rw_test_" + strings.Repeat("1", 40),
	"acme/" + strings.Repeat("x", 600),
}

func liesAboutCertificates(t *testing.T) (out []lie) {
	for _, key := range foreignKeys {
		out = append(out,
			lie{name: "loads " + key, tell: func(ctx context.Context, c nodeapi.Control) error {
				value, err := c.Certificates().Load(ctx, key)
				if bytes.Contains(value, []byte("secret")) {
					t.Errorf("a node reads %s", key)
				}
				return forbidden(err)
			}},
			lie{name: "stores " + key, tell: func(ctx context.Context, c nodeapi.Control) error {
				return forbidden(c.Certificates().Store(ctx, key, []byte("evil")))
			}},
			lie{name: "deletes " + key, tell: func(ctx context.Context, c nodeapi.Control) error {
				return forbidden(c.Certificates().Delete(ctx, key))
			}})
	}
	for _, folder := range []string{"", "/", "internal", "certificates", "certificates/acme",
		"certificates/acme/other.example", "acme/..", "locks"} {
		out = append(out, lie{name: "lists " + folder, tell: func(ctx context.Context, c nodeapi.Control) error {
			_, err := c.Certificates().List(ctx, folder, true)
			return forbidden(err)
		}})
	}
	out = append(out, lie{name: "a certificate that fills the store",
		tell: func(ctx context.Context, c nodeapi.Control) error {
			return forbidden(c.Certificates().Store(ctx, "certificates/acme/shop.example/shop.example.crt",
				make([]byte, 65<<10)))
		}}, lie{name: "holds the lock of the authority", tell: func(ctx context.Context, c nodeapi.Control) error {
		return forbidden(c.Certificates().Lock(ctx, "internal-root"))
	}})
	for _, names := range [][]string{nil, {"shop.example"}, {"other.example"}, {"a.inside.example", "shop.example"},
		{"a.b.inside.example"}, {"*"}, {"inside.example"}} {
		out = append(out, lie{name: fmt.Sprintf("has %q signed", names),
			tell: func(ctx context.Context, c nodeapi.Control) error {
				_, err := c.Sign(ctx, requestFor(t, names))
				return forbidden(err)
			}})
	}
	return append(out, lie{name: "has nonsense signed", tell: func(ctx context.Context, c nodeapi.Control) error {
		_, err := c.Sign(ctx, []byte("nonsense"))
		return forbidden(err)
	}})
}
