package etcd

import (
	"context"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
)

// Config returns the configuration of a member with these options, for comparing with etcd alone.
func Config(o Options) (*embed.Config, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := privateDir(o.DataDir); err != nil {
		return nil, err
	}
	s := &Store{opts: o}
	if s.sockets, err = openSockets(o.DataDir); err != nil {
		return nil, err
	}
	return s.config()
}

// RaiseAlarm raises etcd's own alarm, as an earlier run with a lower quota would have left it.
func (s *Store) RaiseAlarm(ctx context.Context) error {
	_, err := s.member.Server.Alarm(ctx, &etcdserverpb.AlarmRequest{
		MemberID: uint64(s.member.Server.MemberID()), Action: etcdserverpb.AlarmRequest_ACTIVATE,
		Alarm: etcdserverpb.AlarmType_NOSPACE,
	})
	return err
}

// ForgetLastPacking permits the next attempt at once, as if packEvery had passed.
func (s *Store) ForgetLastPacking() {
	s.packing.mu.Lock()
	defer s.packing.mu.Unlock()
	s.packing.notBefore = time.Time{}
}

// GiveUp makes etcd log its final line before it would end the process.
func (s *Store) GiveUp(message string) { go s.logger().Fatal(message) }

// FreeDisk returns the free space on the disk of a folder.
func FreeDisk(dir string) (int64, error) { return freeBytes(dir) }
