package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) ingressCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "ingress", Short: "hold, answer or let through the requests of an ingress",
		Long: "Hold, answer or let through the requests of an ingress. The setting survives applies and restarts, until\n" +
			"`tend ingress resume`.",
	}
	command.AddCommand(
		a.verb("ingress pause"), a.verb("ingress maintenance"), a.verb("ingress resume"),
		a.authorityCommand(),
	)
	return command
}

// describeIngress writes an ingress's URL, the pods that serve it, and when its certificate expires.
func describeIngress(w plain, object api.Object, now time.Time) {
	status, _ := api.DecodeStatus[api.IngressStatus](object)
	w.printf("  %s, by %d of %d pods of %s", dash(status.URL), status.ReadyPods, status.Pods, dash(status.Service))
	if status.Port > 0 {
		w.printf(" at port %d", status.Port)
	}
	w.printf("\n")
	if status.Traffic != "" {
		w.printf("  requests: %s\n", status.Traffic)
	}
	if c := status.Certificate; c != nil && !c.NotAfter.IsZero() {
		w.printf("  certificate %s\n", expiry(object, c.NotAfter, now))
	}
	if c := status.Certificate; c != nil && c.Error != "" {
		w.printf("  certificate: tried %s ago: %s\n", age(c.At, now), c.Error)
	}
}

// expiry returns when a certificate expires, and whether it is renewed automatically.
func expiry(object api.Object, end, now time.Time) string {
	at := end.UTC().Format(time.RFC3339)
	if !end.After(now) {
		return fmt.Sprintf("ended %s (%s ago)", at, age(end, now))
	}
	spec, err := api.DecodeSpec[api.IngressSpec](object)
	if err == nil && spec.TLS != nil && spec.TLS.Certificate != "" {
		return fmt.Sprintf("until %s (%s): set its config keys again before", at, age(now, end))
	}
	return fmt.Sprintf("until %s (%s), renewed before", at, age(now, end))
}

func (a *app) authorityCommand() *cobra.Command {
	return &cobra.Command{
		Use: "ca", Short: "print the certificate to trust for ingresses with provider internal", Args: takes(0, 0),
		Example: "  tend ingress ca > tend-ca.pem\n  curl --cacert tend-ca.pem https://app.internal",
		RunE: a.connected(func(ctx context.Context, c *client.Client, _ []string) error {
			root, err := c.Authority(ctx)
			if err != nil {
				return err
			}
			_, err = a.out.Write(root)
			return err
		}),
	}
}
