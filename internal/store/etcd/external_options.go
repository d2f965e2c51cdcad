package etcd

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"tend.dev/tend/internal/store"
)

// ExternalOptions are the address and the credentials of an external etcd. Only Endpoints is required.
type ExternalOptions struct {
	// Endpoints are URLs of one cluster: https://HOST:PORT, or http://HOST:PORT on loopback.
	Endpoints []string
	// CA is the PEM file of the authority that signed etcd's certificates. Default: the authorities that this machine
	// trusts.
	CA string
	// Certificate and Key are the PEM files of this client's certificate, read again for every connection. Default: none.
	Certificate, Key string
	// User and the password in PasswordFile are for an etcd with authentication. Default: none.
	User, PasswordFile string
	// Prefix begins all keys; it ends with a slash. It may begin that of another cluster. Default /tend/.
	Prefix string
	Logger *slog.Logger

	tls      *tls.Config
	password string
}

// defaultPrefix begins the keys of a cluster without a prefix of its own.
const defaultPrefix = "/tend/"

// apart follows the prefix in every key. No prefix contains it, so no cluster's prefix begins the keys of another's.
const apart = "-"

// maxPrefix bounds the prefix, which lengthens each key of a commit up to three times.
const maxPrefix = 64

func (o ExternalOptions) withDefaults() (ExternalOptions, error) {
	setDefault(&o.Prefix, defaultPrefix)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if err := o.Check(); err != nil {
		return o, err
	}
	return o, errors.Join(o.readTLS(), o.readPassword())
}

// Check lists every option that is wrong by itself. It reads no file.
func (o ExternalOptions) Check() error {
	var faults []error
	fault := func(good bool, format string, args ...any) {
		if !good {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	fault(len(o.Endpoints) > 0, "--etcd-endpoints: name at least one, as in https://10.0.0.1:2379")
	for _, endpoint := range o.Endpoints {
		parsed, err := url.Parse(endpoint)
		good := err == nil && (parsed.Scheme == "https" || parsed.Scheme == "http") && parsed.Port() != "" &&
			strings.Trim(parsed.Path, "/") == ""
		fault(good, "--etcd-endpoints %q: want https://HOST:PORT", endpoint)
		fault(!good || parsed.Scheme == "https" || isLoopback(parsed.Hostname()),
			"--etcd-endpoints %s: want https: beyond loopback everything would be sent unencrypted", endpoint)
		fault(!good || strings.HasPrefix(endpoint, "https:") == strings.HasPrefix(o.Endpoints[0], "https:"),
			"--etcd-endpoints: want https for all, or for none")
	}
	secure := len(o.Endpoints) > 0 && strings.HasPrefix(o.Endpoints[0], "https:")
	fault((o.Certificate == "") == (o.Key == ""), "--etcd-cert and --etcd-key: want both, or none")
	fault(secure || o.CA == "" && o.Certificate == "",
		"--etcd-ca, --etcd-cert and --etcd-key: want https:// in --etcd-endpoints with them")
	fault((o.User == "") == (o.PasswordFile == ""), "--etcd-user and --etcd-password-file: want both, or none")
	fault(o.Prefix == "" || strings.HasPrefix(o.Prefix, "/") && strings.HasSuffix(o.Prefix, "/") &&
		len(o.Prefix) <= maxPrefix && !strings.Contains(o.Prefix, "/"+apart),
		"--etcd-prefix %q: want at most %d bytes that begin and end with a slash, and no slash before a hyphen, as in /tend/",
		o.Prefix, maxPrefix)
	return errors.Join(faults...)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (o *ExternalOptions) readTLS() error {
	if !strings.HasPrefix(o.Endpoints[0], "https:") {
		return nil
	}
	info := transport.TLSInfo{TrustedCAFile: o.CA, CertFile: o.Certificate, KeyFile: o.Key}
	config, err := info.ClientConfig()
	if err != nil {
		return fmt.Errorf("the certificates for etcd: %w: give PEM files with --etcd-ca, --etcd-cert and --etcd-key", err)
	}
	config.MinVersion = tls.VersionTLS12
	o.tls = config
	return nil
}

func (o *ExternalOptions) readPassword() error {
	if o.PasswordFile == "" {
		return nil
	}
	text, err := os.ReadFile(o.PasswordFile)
	if err != nil {
		return fmt.Errorf("--etcd-password-file: %w", err)
	}
	if o.password = strings.TrimSpace(string(text)); o.password == "" {
		return fmt.Errorf("--etcd-password-file %s: it is empty: write the password of etcd's user %s into it",
			o.PasswordFile, o.User)
	}
	return nil
}

// The client's pings detect a dead connection. etcd refuses more frequent ones.
const (
	pingEvery = 6 * time.Second
	pingWait  = 3 * time.Second
)

// client returns a client of some endpoints.
func (o *ExternalOptions) client(endpoints []string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{
		Endpoints: slices.Clone(endpoints), TLS: o.tls, Username: o.User, Password: o.password, DialTimeout: answerTime,
		DialKeepAliveTime: pingEvery, DialKeepAliveTimeout: pingWait, MaxCallSendMsgSize: 2 * store.MaxBytes,
		MaxUnaryRetries: 5, Logger: zap.NewNop(),
	})
}
