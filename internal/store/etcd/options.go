package etcd

import (
	"log/slog"
	"path/filepath"
	"time"
)

// Options are the options of the member. Only DataDir is required.
type Options struct {
	// DataDir holds WAL, snapshots, the lock and (by default) the sockets; made with mode 0700.
	DataDir string
	// ClientURL and PeerURL open TCP listeners (http://127.0.0.1:2379). Default: unix sockets that only the owner of
	// DataDir reaches; an open loopback port would give every local user access to the whole store.
	ClientURL string
	PeerURL   string
	// Name is the member's name. Default tend-0.
	Name string
	// Peers is set for one of several members. Default: a single member, which no other can join.
	Peers *Peers
	// ReadyTimeout bounds the boot. Default 30 s; 5 min with Peers, which a member may have to wait for.
	ReadyTimeout time.Duration
	// CloseTimeout bounds the shutdown. Default 5 s; 15 s with Peers, whose leader hands over to another first.
	CloseTimeout time.Duration
	// Quota is the size in bytes that the database is kept within, except for what is written in a tenth of a second
	// (the interval at which etcd updates its size): commits that would outgrow it are refused. Default 2 GiB.
	Quota int64
	// Retention is the time for which history is kept for watches. Default 10 min.
	Retention time.Duration
	// MinFree is the free disk space, in bytes, below which commits are refused. Deletions and leases pass until only an
	// eighth of it is free. Default 256 MiB; negative is never.
	MinFree int64
	// Ballast is the size of a file a person may remove when the disk is full, to have room to delete with. It is
	// created at a start if four times its size and MinFree are free. Default 64 MiB; negative for none.
	Ballast int64
	// Verbose also passes on lines of etcd's own log below the level of warnings.
	Verbose bool
	Logger  *slog.Logger
	// OnFatal is called once when etcd gives up after Open (it would end the process by itself): every call fails from
	// then on, and the process should end. It must not wait for Close. Default: nothing.
	OnFatal func(error)
}

func (o Options) withDefaults() (Options, error) {
	if o.DataDir == "" {
		return o, errNoDataDir
	}
	var err error
	if o.DataDir, err = filepath.Abs(o.DataDir); err != nil {
		return o, err
	}
	setDefault(&o.Name, "tend-0")
	if o.Peers != nil {
		setDefault(&o.ReadyTimeout, 5*time.Minute)
		setDefault(&o.CloseTimeout, 15*time.Second)
	}
	setDefault(&o.ReadyTimeout, 30*time.Second)
	setDefault(&o.CloseTimeout, 5*time.Second)
	setDefault(&o.Quota, 2<<30)
	setDefault(&o.Retention, 10*time.Minute)
	setDefault(&o.MinFree, 256<<20)
	setDefault(&o.Ballast, 64<<20)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.OnFatal == nil {
		o.OnFatal = func(error) {}
	}
	return o, nil
}

func setDefault[T comparable](value *T, fallback T) {
	var zero T
	if *value == zero {
		*value = fallback
	}
}
