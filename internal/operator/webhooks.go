package operator

import (
	"cmp"
	"crypto/tls"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/instance"
	"tend.dev/tend/internal/operator/operation/controller"
	"tend.dev/tend/internal/operator/servingcert"
)

// Webhooks configure the admission webhooks.
type Webhooks struct {
	// Host and Port are the address of the webhooks. Default: every address, port 9443.
	Host string
	Port int
	// Names are the DNS names by which the API server reaches them. Default: those of the Service.
	Names []string

	certificate servingcert.Certificate
}

// server returns the server of the webhooks. Each handshake uses the current certificate.
func (w *Webhooks) server() webhook.Server {
	if w == nil {
		return nil
	}
	return webhook.NewServer(webhook.Options{
		Host: w.Host, Port: cmp.Or(w.Port, 9443),
		TLSOpts: []func(*tls.Config){func(config *tls.Config) {
			config.MinVersion, config.GetCertificate = tls.VersionTLS13, w.certificate.Get
		}},
	})
}

// add adds the webhooks to a manager, and the controller that makes their certificate.
func (w *Webhooks) add(
	made manager.Manager, namespace string, instances instance.Options, operations controller.Options,
) error {
	names := w.Names
	if len(names) == 0 {
		service := identity.ServiceWebhook + "." + namespace + ".svc"
		names = []string{service, service + ".cluster.local"}
	}
	if err := servingcert.Add(made, servingcert.Options{
		Namespace: namespace, Names: names, Certificate: &w.certificate, ClusterID: operations.ClusterID, Now: time.Now,
	}); err != nil {
		return err
	}
	if err := instance.AddWebhook(made, instances); err != nil {
		return err
	}
	if err := controller.AddWebhook(made, operations); err != nil {
		return err
	}
	return made.AddReadyzCheck("webhooks", made.GetWebhookServer().StartedChecker())
}
