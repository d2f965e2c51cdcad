package process

import "log/slog"

// Options are the root, the cluster and the user of a runtime's containers.
type Options struct {
	// Root is Tend's state folder. Everything is kept in its folder "process". Runtimes of several clusters may share it.
	Root string
	// Cluster and Node are the labels of every container.
	Cluster, Node string
	// Images is the base of relative image references. Default: the folder "images" of Root.
	Images string
	// Seal and Open encrypt and decrypt the environments of containers, which are stored in files until the containers are
	// removed. Default: plain text, in files of mode 0600.
	Seal, Open func([]byte) ([]byte, error)
	// User is the user of containers that name none, when this process is root. Default: the account "nobody" if it
	// exists. "root" keeps root.
	User string
	// Logger defaults to slog.Default().
	Logger *slog.Logger
}
