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

// Webhooks are the options of the admission webhooks.
type Webhooks struct {
	// Host and Port are where they are served. Default: every address, 9443.
	Host string
	Port int
	// Names are those under which the API server reaches them. Default: those of the Service.
	Names []string

	certificate servingcert.Certificate
}

// server returns what serves the webhooks. Its requests come from the API server, and the handshake has the certificate as it
// is at the time.
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

// add adds the webhooks to a manager, and what makes their certificate.
func (w *Webhooks) add(made manager.Manager, namespace string, instances instance.Options, operations controller.Options) error {
	names := w.Names
	if len(names) == 0 {
		service := identity.ServiceWebhook + "." + namespace + ".svc"
		names = []string{service, service + ".cluster.local"}
	}
	if err := servingcert.Add(made, servingcert.Options{Namespace: namespace, Names: names, Certificate: &w.certificate, ClusterID: operations.ClusterID, Now: time.Now}); err != nil {
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
