package cli

import (
	"errors"

	"github.com/spf13/pflag"
)

// addEtcd adds the flags of an external etcd.
func (f *serverFlags) addEtcd(flags *pflag.FlagSet) {
	o := &f.options.External
	flags.StringSliceVar(&o.Endpoints, "etcd-endpoints", nil,
		"`URLS` of an etcd of your own, as in https://10.0.0.1:2379,https://10.0.0.2:2379 (default: the one inside)")
	flags.StringVar(&o.CA, "etcd-ca", "",
		"PEM `FILE` of the authority of that etcd's certificates (default: those that this machine trusts)")
	flags.StringVar(&o.Certificate, "etcd-cert", "", "PEM `FILE` of the certificate to show that etcd")
	flags.StringVar(&o.Key, "etcd-key", "", "PEM `FILE` of the key of --etcd-cert")
	flags.StringVar(&o.User, "etcd-user", "", "`USER` of that etcd, if it has users")
	flags.StringVar(&o.PasswordFile, "etcd-password-file", "", "`FILE` with the password of --etcd-user")
	flags.StringVar(&o.Prefix, "etcd-prefix", "",
		"`PREFIX` of all keys in that etcd: one for each cluster (default /tend/)")
}

// checkEtcd lists what is wrong with the flags of an external etcd, and flags of the one inside beside them.
func (f *serverFlags) checkEtcd() error {
	o, e := &f.options, &f.options.External
	if len(e.Endpoints) == 0 {
		var faults []error
		for name, value := range map[string]string{
			"etcd-ca": e.CA, "etcd-cert": e.Certificate, "etcd-key": e.Key, "etcd-user": e.User,
			"etcd-password-file": e.PasswordFile, "etcd-prefix": e.Prefix,
		} {
			faults = append(faults, flagFault(name, value, value == "", "--etcd-endpoints with it"))
		}
		return errors.Join(faults...)
	}
	return errors.Join(
		e.Check(),
		flagFault("peer-listen", o.PeerListen, o.PeerListen == "",
			"no --etcd-endpoints beside it: servers on an external etcd have no stores that would meet"),
		flagFault("peer-address", o.PeerAddress, o.PeerAddress == "", "no --etcd-endpoints beside it"),
		flagFault("etcd-client", o.EtcdClient, o.EtcdClient == "", "no --etcd-endpoints beside it: it opens the etcd inside"),
		flagFault("etcd-peer", o.EtcdPeer, o.EtcdPeer == "", "no --etcd-endpoints beside it: it opens the etcd inside"),
	)
}
