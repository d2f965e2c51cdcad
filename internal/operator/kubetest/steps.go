package kubetest

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// ErrKilled is the error of a write at which the operator is killed.
var ErrKilled = errors.New("killed")

// Survive is a hook that never kills the operator.
func Survive() error { return nil }

// KillAt returns a hook that kills the operator at one of its calls, counted from 1.
func KillAt(call int) func() error {
	calls := 0
	return func() error {
		if calls++; calls == call {
			return ErrKilled
		}
		return nil
	}
}

// Stepwise returns two administrator's clients without a cache: hooked calls hook before and after each apply, patch
// and deletion, and plain calls nothing. A write returns the hook's error, as if the operator were killed there.
func (s *Server) Stepwise(
	t testing.TB, agent string, hook func() error,
) (hooked client.Client, plain client.WithWatch) {
	t.Helper()
	plain, err := client.NewWithWatch(s.As(agent), client.Options{Scheme: Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	around := func(write func() error) error {
		if err := hook(); err != nil {
			return err
		}
		if err := write(); err != nil {
			return err
		}
		return hook()
	}
	return interceptor.NewClient(plain, interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return around(func() error { return c.Apply(ctx, o, opts...) })
		},
		Patch: func(
			ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption,
		) error {
			return around(func() error { return c.Patch(ctx, o, patch, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return around(func() error { return c.Delete(ctx, o, opts...) })
		},
		SubResourceApply: func(
			ctx context.Context, c client.Client, name string, o runtime.ApplyConfiguration,
			opts ...client.SubResourceApplyOption,
		) error {
			return around(func() error { return c.SubResource(name).Apply(ctx, o, opts...) })
		},
	}), plain
}
