package etcd

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// logger hands what etcd says to slog: warnings and worse, or with Verbose everything. What etcd calls fatal ends the
// goroutine that said it and is told to OnFatal, so that the server stops in its own order.
func logger(o Options) *zap.Logger {
	lowest := zapcore.WarnLevel
	if o.Verbose {
		lowest = zapcore.InfoLevel
	}
	return zap.New(&core{level: lowest, log: o.Logger}, zap.WithFatalHook(fatal{o.OnFatal}))
}

type core struct {
	level zapcore.Level
	log   *slog.Logger
	with  []zapcore.Field
}

var _ zapcore.Core = (*core)(nil)

func (c *core) Enabled(level zapcore.Level) bool { return level >= c.level }

func (c *core) With(fields []zapcore.Field) zapcore.Core {
	more := append(append([]zapcore.Field{}, c.with...), fields...)
	return &core{level: c.level, log: c.log, with: more}
}

// deliberate are warnings about what was chosen on purpose (one port is a private socket, requests are bounded by our
// own limit, etcd's own users are not used) or holds for every new store until its first snapshot.
var deliberate = map[string]bool{
	"Failed to detect schema version":  true,
	"failed to update storage version": true,
	"Running http and grpc server on single port. This is not recommended for production.": true,
	"exceeded recommended request limit":                                                   true,
	"simple token is not cryptographically signed":                                         true,
}

func (c *core) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) && (c.level < zapcore.WarnLevel || !deliberate[entry.Message]) {
		return checked.AddCore(entry, c)
	}
	return checked
}

func (c *core) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	encoder := zapcore.NewMapObjectEncoder()
	for _, field := range append(append([]zapcore.Field{}, c.with...), fields...) {
		field.AddTo(encoder)
	}
	args := []any{"component", "etcd"}
	for key, value := range encoder.Fields {
		args = append(args, key, value)
	}
	c.log.Log(context.Background(), severity(entry.Level), entry.Message, args...)
	return nil
}

func (c *core) Sync() error { return nil }

func severity(level zapcore.Level) slog.Level {
	switch {
	case level >= zapcore.ErrorLevel:
		return slog.LevelError
	case level >= zapcore.WarnLevel:
		return slog.LevelWarn
	case level >= zapcore.InfoLevel:
		return slog.LevelInfo
	}
	return slog.LevelDebug
}

// fatal is what happens instead of os.Exit.
type fatal struct{ tell func(error) }

func (f fatal) OnWrite(entry *zapcore.CheckedEntry, _ []zapcore.Field) {
	f.tell(fmt.Errorf("embedded etcd can't go on: %s", entry.Message))
	runtime.Goexit()
}
