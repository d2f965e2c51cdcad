package etcd

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// logger passes etcd's log to slog: warnings and worse, or with Verbose everything.
func (s *Store) logger() *zap.Logger {
	lowest := zapcore.WarnLevel
	if s.opts.Verbose {
		lowest = zapcore.InfoLevel
	}
	return zap.New(&core{level: lowest, log: s.opts.Logger, phase: s.phase, removed: &s.removed},
		zap.WithFatalHook(surrender{s}), zap.WithPanicHook(surrender{s}))
}

// phase is the phase of the store's life. It decides the severity of etcd's log lines.
type phase int

const (
	opening phase = iota
	serving
	closing
)

func (s *Store) phase() phase {
	switch {
	case s.lifetime.Err() != nil:
		return closing
	case s.serving.Load():
		return serving
	}
	return opening
}

type core struct {
	level zapcore.Level
	log   *slog.Logger
	phase func() phase
	with  []zapcore.Field
	// removed is set by the log line in which etcd reports that other members refuse this one: etcd reports it nowhere
	// else. May be nil.
	removed *atomic.Bool
}

// removedLine is the text of that line.
const removedLine = "data-dir used by this member must be removed"

var _ zapcore.Core = (*core)(nil)

func (c *core) Enabled(level zapcore.Level) bool { return level >= c.level }

func (c *core) With(fields []zapcore.Field) zapcore.Core {
	more := append(append([]zapcore.Field{}, c.with...), fields...)
	return &core{level: c.level, log: c.log, phase: c.phase, with: more, removed: c.removed}
}

// deliberate are warnings about deliberate settings (one port is a private socket, the store's own limit bounds
// requests, etcd's users are not used), or about every new store until its first snapshot.
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
	if c.removed != nil && entry.Message == removedLine {
		c.removed.Store(true)
	}
	encoder := zapcore.NewMapObjectEncoder()
	for _, field := range append(append([]zapcore.Field{}, c.with...), fields...) {
		field.AddTo(encoder)
	}
	args := []any{"component", "etcd"}
	for key, value := range encoder.Fields {
		args = append(args, key, value)
	}
	c.log.Log(context.Background(), c.severity(entry.Level), entry.Message, args...) //nolint:sloglint // etcd words it
	return nil
}

// severity returns the level of a line in Tend's log. While the store closes, etcd reports that its parts fail because
// they end; while it opens, an error ends the opening, which returns it. Both are logged at debug level.
func (c *core) severity(level zapcore.Level) slog.Level {
	phase := c.phase()
	if phase == closing || phase == opening && level >= zapcore.ErrorLevel {
		return slog.LevelDebug
	}
	return severity(level)
}

func (c *core) Sync() error { return nil }

// severity maps zap's levels to slog's.
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

// surrender replaces os.Exit and panic: the store is notified, and the goroutine blocks with all it holds. It must
// neither continue nor unwind: etcd gives up when its state is no longer to be trusted, and releasing a lock would let
// that state reach the disk.
type surrender struct{ store *Store }

func (g surrender) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	g.store.fail(fmt.Errorf("etcd gave up: %s%s", entry.Message, causeOf(fields)))
	select {}
}

func causeOf(fields []zapcore.Field) string {
	for _, f := range fields {
		if err, ok := f.Interface.(error); ok && f.Type == zapcore.ErrorType {
			return ": " + err.Error()
		}
	}
	return ""
}
