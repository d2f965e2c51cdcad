package process

import "log/slog"

// Options say where containers are stored and for which cluster.
type Options struct {
	// Root is Tend's state folder; everything is kept in its folder "process". Runtimes of several clusters may share it.
	Root string
	// Cluster and Node are the labels of every container.
	Cluster, Node string
	// Images is the folder that relative image references are relative to. Default: the
	// folder "images" of Root, which has nothing else.
	Images string
	// Seal and Open encrypt the environments of containers, which are stored in files until the containers are removed.
	// Default: they are stored in plain text, in files of mode 0600.
	Seal, Open func([]byte) ([]byte, error)
	// User is the user that containers run as when this process is root and they name none. The default is the account
	// "nobody" where it exists. "root" keeps root.
	User string
	// Logger defaults to slog.Default().
	Logger *slog.Logger
}
