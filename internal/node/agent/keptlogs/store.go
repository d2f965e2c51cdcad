package keptlogs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/api/pattern"
	"tend.dev/tend/internal/node/runtime"
)

// Options are the options of a Store.
type Options struct {
	// Dir is the folder of the files. Keep creates it.
	Dir string
	// Limits bound what is kept; see their defaults.
	Limits Limits
	// Room returns how many more bytes its disk may take; default: as many as it likes.
	Room func(*os.File) (int64, error)
	// Seal encrypts what containers printed, since some print their secrets, and Unseal decrypts it.
	Seal, Unseal func([]byte) ([]byte, error)
}

// Store is the kept logs of a node. It is safe for concurrent use.
type Store struct {
	opts Options

	mu    sync.Mutex
	files map[string]kept // by container
}

// ErrNoRoom means that a log was not kept because the disk is nearly full.
var ErrNoRoom = errors.New("the disk is nearly full")

const (
	suffix  = ".log"
	halfway = ".new-" // what a file is called until it is whole
)

// names matches the names of the files, including those of half-written files after a crash.
var names = pattern.Lazy(`^([0-9a-f]{64}\.log|\.new-[0-9]+)$`)

// Open reads what a folder holds. It removes files of its own that it can't read.
func Open(opts Options) (*Store, error) {
	opts.Limits = opts.Limits.withDefaults()
	s := &Store{opts: opts, files: map[string]kept{}}
	entries, err := os.ReadDir(opts.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("logs of removed containers: %w", err)
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !names().MatchString(entry.Name()) {
			continue
		}
		path := filepath.Join(opts.Dir, entry.Name())
		if found, err := readHead(path); err == nil && path == s.path(found.Container) {
			s.files[found.Container] = found
		} else {
			_ = os.Remove(path)
		}
	}
	return s, nil
}

// path returns the file of a container, whatever its id is.
func (s *Store) path(container string) string {
	sum := sha256.Sum256([]byte(container))
	return filepath.Join(s.opts.Dir, hex.EncodeToString(sum[:])+suffix)
}

// Keep stores the last lines of a log, read to its end, in place of what it kept of the container before. Then it
// removes what exceeds the limits. A log without a line is not stored.
func (s *Store) Keep(log node.KeptLog, from runtime.LogReader) error {
	lines, err := lastLines(from, s.opts.Limits.File)
	if err != nil || len(lines) == 0 {
		return err
	}
	if err := os.MkdirAll(s.opts.Dir, 0o700); err != nil {
		return err
	}
	path := s.path(log.Container)
	size, err := s.write(path, log, lines)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[log.Container] = kept{KeptLog: log, path: path, size: size}
	for _, k := range s.opts.Limits.surplus(s.all()) {
		s.removeLocked(k)
	}
	return nil
}

func (s *Store) all() []kept { return slices.Collect(maps.Values(s.files)) }

func (s *Store) removeLocked(k kept) {
	if err := os.Remove(k.path); err == nil || errors.Is(err, os.ErrNotExist) {
		delete(s.files, k.Container)
	}
}

// Of returns the kept logs of an object, the newest first.
func (s *Store) Of(owner api.Ref) []node.KeptLog {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []node.KeptLog
	for _, k := range newestFirst(s.all()) {
		if k.Owner == owner {
			out = append(out, k.KeptLog)
		}
	}
	return out
}

// Logs reads the kept log of a container. It returns runtime.ErrNotFound if there is none.
func (s *Store) Logs(container string, opts runtime.LogOptions) (runtime.LogReader, error) {
	s.mu.Lock()
	k, known := s.files[container]
	s.mu.Unlock()
	if !known {
		return nil, fmt.Errorf("log of the removed container %s: %w", container, runtime.ErrNotFound)
	}
	return s.read(k.path, opts)
}

// Referred returns which of some uids are those of objects.
type Referred func(ctx context.Context, uids []string) (map[string]bool, error)

// Sweep removes the logs of objects that are gone.
func (s *Store) Sweep(ctx context.Context, referred Referred) error {
	s.mu.Lock()
	var uids []string
	for _, k := range s.files {
		uids = append(uids, k.OwnerUID)
	}
	s.mu.Unlock()
	slices.Sort(uids)
	for some := range slices.Chunk(slices.Compact(uids), node.MaxReferred) {
		exist, err := referred(ctx, some)
		if err != nil {
			return fmt.Errorf("which objects the kept logs are of: %w", err)
		}
		s.mu.Lock()
		for _, k := range s.all() {
			if there, asked := exist[k.OwnerUID]; asked && !there {
				s.removeLocked(k)
			}
		}
		s.mu.Unlock()
	}
	return nil
}
