package etcd

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
)

// RevisionRaise is how much higher the revision of a restored store is than its snapshot's: higher than any that the lost
// store can have reached since, so that a client that knew it never takes old for new.
const RevisionRaise = 1_000_000_000

// Restore makes the folder dataDir of a store with one member from a snapshot's file. The member belongs to no cluster of
// members that was before. It returns an error if dataDir has a member already.
func Restore(path, dataDir, name string, logger *slog.Logger) error {
	token := make([]byte, 8)
	_, _ = rand.Read(token) // never fails
	manager := snapshot.NewV3(zap.New(&core{level: zap.WarnLevel, log: logger, phase: func() phase { return opening }}))
	err := manager.Restore(snapshot.RestoreConfig{
		SnapshotPath: path, Name: name, OutputDataDir: dataDir, PeerURLs: []string{nominal.String()},
		InitialCluster: name + "=" + nominal.String(), InitialClusterToken: "tend-etcd-" + hex.EncodeToString(token),
		RevisionBump: RevisionRaise, MarkCompacted: true,
	})
	if err != nil {
		return fmt.Errorf("restore the store in %s: %w", dataDir, err)
	}
	return nil
}

// Claim takes the lock of a data dir, as a server does. It returns ErrInUse if a server has it.
func Claim(dataDir string) (release func() error, err error) { return lock(dataDir) }
