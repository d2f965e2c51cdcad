package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"text/template"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/core/clusterjob"
)

func (a *app) clustersCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "clusters", Short: "list Kubernetes clusters, and add one", Args: takes(0, 0),
		Example: "  tend clusters\n  tend clusters add production\n  tend describe cluster production",
		RunE: a.connected(func(ctx context.Context, c *client.Client, _ []string) error {
			clusters, err := c.Objects(ctx, api.KindCluster, client.ObjectFilter{})
			if err != nil {
				return err
			}
			l := objectListing(clusters.Items, time.Now())
			l.value, l.empty = clusters, "no clusters; tend clusters add NAME"
			if len(l.rows) > 0 {
				l.header[0] = "CLUSTER"
			}
			return l.write(a.streams, a.output)
		}),
	}
	command.AddCommand(a.addClusterCommand())
	return command
}

func (a *app) addClusterCommand() *cobra.Command {
	var ttl time.Duration
	var newKeys bool
	command := &cobra.Command{
		Use: "add NAME", Short: "declare a cluster, and print what to apply in it", Args: takes(1, 1),
		Long: "Declare a Kubernetes cluster unless it is declared already, and print the manifest with which its operator registers: apply it\n" +
			"in the cluster. Its token is a secret, and serves for one registration. Run it again to register again, as after an operator\n" +
			"lost its credentials: the ones it had are valid until then.",
		Example: "  tend clusters add production | kubectl apply -f -\n  tend clusters add production --ttl 10m",
		RunE: a.connected(func(ctx context.Context, c *client.Client, args []string) error {
			ref := api.Ref{Kind: api.KindCluster, Scope: api.Unscoped, Name: args[0]}
			registration, err := c.InviteCluster(ctx, ref.Name, ttl, newKeys)
			if client.IsNotFound(err) { // asked first: a server that can't be registered with declares nothing
				_, err = c.Apply(ctx, api.ApplyRequest{Objects: []api.Object{{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name,
					Spec: []byte("{}")}}})
				if err == nil {
					registration, err = c.InviteCluster(ctx, ref.Name, ttl, newKeys)
				}
			}
			if err != nil {
				return err
			}
			if a.output != "" && a.output != "table" {
				return (&listing{value: registration, names: []string{ref.String()}}).write(a.streams, a.output)
			}
			fmt.Fprintf(a.err, "apply this in the cluster, within %s:\n", ttl)
			return writeRegistration(a.out, registration)
		}),
	}
	command.Flags().BoolVar(&newKeys, "new-keys", false,
		"make other keys for the cluster's jobs and approvals, as after a leak")
	command.Flags().DurationVar(&ttl, "ttl", clusterjob.RegistrationLife, "how long the token is valid, up to 168h")
	return command
}

// registration is the manifest with which an operator registers.
var registration = template.Must(template.New("registration").Funcs(template.FuncMap{"indent": func(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}}).Parse(`apiVersion: v1
kind: Secret
metadata:
  name: tend-registration
  namespace: vworkspace-system
type: Opaque
stringData:
  registrationToken: {{.Token}}
  serverName: {{.ServerName}}
  jobKeys: {{.JobKeys}}
  approvalSecret: {{.ApprovalSecret}}
  ca.crt: |
{{indent .Authority}}
---
apiVersion: ops.vworkspace.io/v1alpha1
kind: Cluster
metadata:
  name: {{.Cluster}}
spec:
  clusterId: {{.Cluster}}
  controlPlaneEndpoint: https://{{.Address}}
  registrationTokenSecretRef:
    name: tend-registration
    key: registrationToken
`))

func writeRegistration(w io.Writer, r api.ClusterRegistration) error {
	return registration.Execute(w, r)
}

var clusterTable = table{
	header: []string{"STATE", "HEARD", "AGE"},
	wide:   []string{"REGISTERED", "OPERATOR", "MESSAGE"},
	narrow: narrowing{drop: []string{"AGE", "HEARD"}},
	row: func(object api.Object, now time.Time) (cells, wide []string) {
		status, _ := api.DecodeStatus[api.ClusterStatus](object)
		heard, operator, message, registered := "-", "-", "-", "-"
		if status.Contact != nil {
			heard, operator = age(status.Contact.At, now), dash(status.Contact.Operator)
		}
		if c := api.FindCondition(status.Conditions, clusterjob.ConditionConnected); c != nil {
			message = dash(c.Message)
		}
		if !status.RegisteredAt.IsZero() {
			registered = age(status.RegisteredAt, now)
		}
		state := status.Phase
		state = cmp.Or(state, "New")
		return []string{state, heard, age(object.Metadata.CreatedAt, now)}, []string{registered, operator, message}
	},
}

var deliveredTable = table{
	header: []string{"CLUSTER", "READY", "STATE", "AGE"},
	wide:   []string{"GENERATION", "OUTCOME", "MESSAGE"},
	narrow: narrowing{drop: []string{"AGE", "CLUSTER"}},
	row: func(object api.Object, now time.Time) (cells, wide []string) {
		status, _ := api.DecodeStatus[api.DeliveredStatus](object)
		ready, outcome := "Unknown", "-"
		if c := api.FindCondition(status.Conditions, api.ConditionReady); c != nil {
			ready = string(c.Status)
		}
		if status.Delivery != nil {
			outcome = dash(status.Delivery.Outcome)
		}
		state, message := stateOf(object, api.WorkloadStatus{Conditions: status.Conditions})
		if c := api.FindCondition(status.Conditions, api.ConditionReady); c != nil &&
			c.Status == api.ConditionTrue && c.Reason == state {
			state, message = healthState(status, state, message)
		}
		message, _, _ = strings.Cut(message, "\n")
		return []string{dash(clusterjob.ClusterOf(object)), ready, state, age(object.Metadata.CreatedAt, now)},
			[]string{fmt.Sprintf("%d/%d", status.ObservedGeneration, object.Metadata.Generation), outcome, dash(message)}
	},
}

// describeDelivered writes what became of the delivery of an object to its cluster.
func describeDelivered(w plain, object api.Object, now time.Time) {
	status, _ := api.DecodeStatus[api.DeliveredStatus](object)
	w.printf("  cluster %s, %s, which has generation %d\n", clusterjob.ClusterOf(object), dash(status.Phase),
		status.ObservedGeneration)
	if d := status.Delivery; d != nil {
		w.printf("  %s of generation %d, attempt %d, made %s ago", d.Action, d.Generation, d.Attempt, age(d.CreatedAt, now))
		if !d.AcknowledgedAt.IsZero() {
			w.printf(", taken %s ago", age(d.AcknowledgedAt, now))
		}
		if d.Outcome != "" {
			w.printf(", %s %s ago", d.Outcome, age(d.EndedAt, now))
		}
		w.printf("\n")
		if d.Resource != nil {
			w.printf("  %s %s/%s, generation %d in the cluster\n", d.Resource.Kind, d.Resource.Namespace, d.Resource.Name,
				d.Resource.Generation)
		}
	}
	for _, e := range status.Endpoints {
		w.printf("  %s %s\n", e.Name, e.URL)
	}
	describeInventory(w, status)
	describeRevisions(w, status, now)
}

// describeCluster writes when a cluster's operator was heard of.
func describeCluster(w plain, object api.Object, now time.Time) {
	status, _ := api.DecodeStatus[api.ClusterStatus](object)
	w.printf("  %s", dash(status.Phase))
	if !status.RegisteredAt.IsZero() {
		w.printf(", registered %s ago", age(status.RegisteredAt, now))
	}
	if c := status.Contact; c != nil {
		w.printf(", heard of %s ago (%s)", age(c.At, now), dash(c.Operator))
	}
	w.printf("\n")
}
