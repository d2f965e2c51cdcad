package link

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
)

// observe reads everything that the decision depends on.
func (r *Reconciler) observe(ctx context.Context, name string) (Input, error) {
	in := Input{
		Enabled: r.Enabled, Secret: r.Secret.Name, Namespace: r.Secret.Namespace, Connection: r.Connection.State(),
		Version: r.Version, Now: r.Now(),
		Cluster: &opsv1alpha1.Cluster{},
	}
	if err := r.Live.Get(ctx, client.ObjectKey{Name: name}, in.Cluster); err != nil {
		return in, err
	}
	var err error
	if in.Counts, err = r.counts(ctx); err != nil {
		return in, err
	}
	if in.Token, err = r.token(ctx, in.Cluster.Spec.RegistrationTokenSecretRef); err != nil {
		return in, err
	}
	secret := &corev1.Secret{}
	if err := r.Live.Get(ctx, r.Secret, secret); err == nil {
		in.Credentials = readCredentials(secret)
	} else if !apierrors.IsNotFound(err) {
		return in, fmt.Errorf("read the credentials %s: %w", r.Secret, err)
	}
	if r.Managed != nil {
		if in.Managed, err = r.Managed(ctx); err != nil {
			return in, err
		}
	}
	in.Controllers, err = installed(r.Mapper)
	return in, err
}

// counts returns the name of the Cluster to use: the oldest one, which also names the children's labels.
func (r *Reconciler) counts(ctx context.Context) (string, error) {
	var all opsv1alpha1.ClusterList
	if err := r.Live.List(ctx, &all); err != nil {
		return "", fmt.Errorf("list the Clusters: %w", err)
	}
	if len(all.Items) == 0 {
		return "", nil
	}
	return slices.MinFunc(all.Items, func(a, b opsv1alpha1.Cluster) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	}).Name, nil
}

// token reads the registration token. It reads only the Secret that the Cluster names, in the operator's namespace.
func (r *Reconciler) token(ctx context.Context, ref *opsv1alpha1.TokenRef) (Token, error) {
	if ref == nil {
		return Token{Problem: "spec.registrationTokenSecretRef is missing: name the Secret with the registration token"}, nil
	}
	key := client.ObjectKey{Namespace: r.Secret.Namespace, Name: ref.Name}
	secret := &corev1.Secret{}
	if err := r.Live.Get(ctx, key, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return Token{Problem: fmt.Sprintf("there is no Secret %s", key)}, nil
		}
		return Token{}, fmt.Errorf("read the registration token %s: %w", key, err)
	}
	named := cmp.Or(ref.Key, defaultTokenKey)
	token := Token{
		Value: strings.TrimSpace(string(secret.Data[named])),
		Trust: Trust{
			Authority: string(secret.Data[tokenAuthority]), ServerName: strings.TrimSpace(string(secret.Data[tokenServerName])),
			JobKeys:        strings.TrimSpace(string(secret.Data[tokenJobKeys])),
			ApprovalSecret: strings.TrimSpace(string(secret.Data[tokenApprovals])),
		},
	}
	if token.Value == "" {
		token.Problem = fmt.Sprintf("the Secret %s has no key %s", key, named)
	}
	return token, nil
}
