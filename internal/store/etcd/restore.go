package etcd

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"tend.dev/tend/internal/platform/recovery"
)

// RevisionRaise is added to the snapshot's revision on a restore. The result is higher than any revision that the lost
// store can have reached since, so a client that knew it never mistakes old records for new ones.
const RevisionRaise = 1_000_000_000

// Restore makes dataDir, the folder of a store with one member, from a snapshot's file. The member belongs to no
// earlier cluster. Restore returns an error if dataDir has a member already, or if etcd gives up, as on a full disk:
// its goroutines may then block for good, and the process should end soon.
func Restore(path, dataDir, name string, logger *slog.Logger) error {
	token := make([]byte, 8)
	_, _ = rand.Read(token) // never fails
	done := make(chan error, 1)
	hook := handOver{done}
	log := zap.New(&core{level: zap.WarnLevel, log: logger, phase: func() phase { return opening }},
		zap.WithFatalHook(hook), zap.WithPanicHook(hook))
	recovery.Go(func() {
		defer hook.recovered()
		done <- snapshot.NewV3(log).Restore(snapshot.RestoreConfig{
			SnapshotPath: path, Name: name, OutputDataDir: dataDir, PeerURLs: []string{nominal.String()},
			InitialCluster: name + "=" + nominal.String(), InitialClusterToken: "tend-etcd-" + hex.EncodeToString(token),
			RevisionBump: RevisionRaise, MarkCompacted: true,
		})
	})
	if err := <-done; err != nil {
		return fmt.Errorf("restore the store in %s: %w", dataDir, err)
	}
	return nil
}

// handOver replaces os.Exit and panic, as surrender does for a running member.
type handOver struct{ done chan<- error }

// OnWrite implements zapcore.CheckWriteHook.
func (h handOver) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	h.fail(fmt.Errorf("etcd gave up: %s%s", entry.Message, causeOf(fields)))
	select {}
}

func (h handOver) recovered() {
	if p := recover(); p != nil {
		h.fail(fmt.Errorf("etcd gave up: panic: %v", p))
	}
}

func (h handOver) fail(err error) {
	select {
	case h.done <- err:
	default: // the first reason is the one that matters
	}
}

// Claim takes the lock of a data dir, as a server does. It returns ErrInUse if a server has it.
func Claim(dataDir string) (release func() error, err error) { return lock(dataDir) }
