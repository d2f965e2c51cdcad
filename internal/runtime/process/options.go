package process

import "log/slog"

// Options say where containers are kept and for whom.
type Options struct {
	// Root is Tend's state folder; everything is kept in its folder "process". Runtimes of several clusters may share it.
	Root string
	// Cluster and Node are the labels of every container.
	Cluster, Node string
	// Images is where relative image references begin. Default Root.
	Images string
	// Seal and Open encrypt the environments of containers, which lie in files until the containers are removed. Default: they
	// lie there in plain text, in files of mode 0600.
	Seal, Open func([]byte) ([]byte, error)
	// User is who containers run as when this process is root and they name nobody. Default "nobody" where there is one.
	// "root" keeps root.
	User string
	// Logger defaults to slog.Default().
	Logger *slog.Logger
}
