package link

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/operator/identity"
)

// The keys of the Secret with the credentials.
const (
	keyEndpoint       = "control-plane-base-url"
	keyClusterID      = "cluster-id"
	keyToken          = "token"
	keyAuthority      = "ca.crt"
	keyServerName     = "server-name"
	keyRegisteredWith = "registered-with"
	keyRegisteredAt   = "registered-at"
	keyIssuedAt       = "issued-at"
	keyForced         = "registration-forced-by"
	keyJobKeys        = "job-keys"
	keyApprovals      = "approval-secret"
)

// The keys of the Secret with the registration token, except that of the token itself.
const (
	tokenAuthority  = "ca.crt"
	tokenServerName = "serverName"
	tokenJobKeys    = "jobKeys"
	tokenApprovals  = "approvalSecret"
	defaultTokenKey = "registrationToken"
)

// errNoCredentials means that the Secret has no credential.
var errNoCredentials = errors.New("the Secret with the credentials is missing, or has no token")

// readCredentials returns the contents of a Secret, or nil if it has no credential.
func readCredentials(secret *corev1.Secret) *Credentials {
	text := func(key string) string { return string(secret.Data[key]) }
	if text(keyToken) == "" || text(keyClusterID) == "" || secret.DeletionTimestamp != nil {
		return nil
	}
	c := &Credentials{
		ClusterID: text(keyClusterID), Token: text(keyToken),
		RegisteredWith: text(keyRegisteredWith), Forced: text(keyForced),
		Trust: Trust{
			Authority: text(keyAuthority), ServerName: text(keyServerName), JobKeys: text(keyJobKeys),
			ApprovalSecret: text(keyApprovals),
		},
	}
	c.RegisteredAt, _ = time.Parse(time.RFC3339, text(keyRegisteredAt)) // missing if a person created the Secret
	c.IssuedAt, _ = time.Parse(time.RFC3339, text(keyIssuedAt))
	if owner := metav1.GetControllerOf(secret); owner != nil {
		c.Owner = owner.UID
	}
	return c
}

// ApprovalSecret returns the secret for checking approvals, which came with the registration, or nil.
func ApprovalSecret(ctx context.Context, reader client.Reader, namespace, name string) ([]byte, error) {
	secret := &corev1.Secret{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: cmp.Or(name, identity.SecretCredentials)}, secret)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read the secret of approvals: %w", err)
	}
	return secret.Data[keyApprovals], nil
}

// store is the Secret with the credentials of one Cluster. It implements puller.Credentials.
type store struct {
	Client    client.Client
	Live      client.Reader
	Key       client.ObjectKey
	Cluster   string
	UID       types.UID
	Link      Link
	Exchange  Exchange
	registers bool
	now       func() time.Time

	mu    sync.Mutex
	known map[string]bool
	// issued is the time of issue of the credential in use; zero if the Secret doesn't tell.
	issued time.Time
}

// Load returns the stored credential.
func (s *store) Load(ctx context.Context) (pull.Credential, error) {
	c, err := s.read(ctx)
	if err != nil {
		return pull.Credential{}, err
	}
	if c == nil {
		return pull.Credential{}, errNoCredentials
	}
	s.learn(c.Token, c.IssuedAt)
	return pull.Credential{ClusterID: c.ClusterID, Token: c.Token}, nil
}

func (s *store) read(ctx context.Context) (*Credentials, error) {
	secret := &corev1.Secret{}
	if err := s.Live.Get(ctx, s.Key, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("read the credentials %s: %w", s.Key, err)
	}
	return readCredentials(secret), nil
}

// Save applies the Secret, which the Cluster owns, also over fields that a person has written: the control plane knows
// only the newest credential. A registration also stores the keys that came with the token; a rotation keeps the stored
// ones.
func (s *store) Save(ctx context.Context, credential pull.Credential) error {
	next := Credentials{
		RegisteredWith: Token{Value: s.Exchange.Token}.fingerprint(), Forced: s.Exchange.Forced, RegisteredAt: s.now(),
		Trust: s.Exchange.Trust,
	}
	if !s.registers {
		stored, err := s.read(ctx)
		if err != nil {
			return err
		}
		if stored == nil {
			return errNoCredentials
		}
		next = *stored
	}
	keys := next.Trust.keeping(s.Link.Trust)
	issued := s.now()
	s.learn(credential.Token, issued)
	data := map[string]any{}
	for key, value := range map[string]string{
		keyEndpoint: s.Link.Endpoint, keyClusterID: credential.ClusterID, keyToken: credential.Token,
		keyAuthority: s.Link.Trust.Authority, keyServerName: s.Link.Trust.ServerName,
		keyJobKeys: keys.JobKeys, keyApprovals: keys.ApprovalSecret,
		keyRegisteredWith: next.RegisteredWith, keyForced: next.Forced,
		keyRegisteredAt: next.RegisteredAt.UTC().Format(time.RFC3339), keyIssuedAt: issued.UTC().Format(time.RFC3339),
	} {
		data[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	wanted := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": data}}
	wanted.SetNamespace(s.Key.Namespace)
	wanted.SetName(s.Key.Name)
	wanted.SetLabels(map[string]string{
		identity.LabelManagedBy: identity.ManagedBy, identity.LabelClusterID: credential.ClusterID,
	})
	yes := true
	wanted.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: opsv1alpha1.GroupVersion.String(), Kind: kindCluster, Name: s.Cluster, UID: s.UID, Controller: &yes,
	}})
	err := s.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), owner, client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("store the credentials in the Secret %s: %w", s.Key, err)
	}
	return nil
}

// learn records a token that this process has read or written, and its time of issue. knows reports whether a token is
// recorded: a person stored any other one.
func (s *store) learn(token string, issued time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.issued = issued
	if s.known == nil {
		s.known = map[string]bool{}
	}
	s.known[token] = true
}

func (s *store) knows(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.known) == 0 || s.known[token]
}

// since returns the time of issue of the credential in use; zero if unknown.
func (s *store) since() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.issued
}
