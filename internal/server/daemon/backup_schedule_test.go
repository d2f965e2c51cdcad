package daemon

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/timetable"
	"tend.dev/tend/internal/server/backup/restore"
	"tend.dev/tend/internal/store/secret"
)

func TestNextBackup(t *testing.T) {
	schedule, err := timetable.Parse("0 3 * * *", "")
	if err != nil {
		t.Fatal(err)
	}
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 11, day, hour, minute, 0, 0, time.UTC) }
	for name, tc := range map[string]struct {
		reason string
		last   *api.BackupRecord
		want   time.Time
		now    time.Time
	}{
		"the first":    {"it shows at once whether it works", nil, at(23, 12, 0), at(23, 12, 0)},
		"after a good": {"the next date", &api.BackupRecord{At: at(23, 3, 0)}, at(24, 3, 0), at(23, 12, 0)},
		"missed": {"one is due, however many were missed", &api.BackupRecord{At: at(1, 3, 0)},
			at(2, 3, 0), at(23, 12, 0)},
		"after a failed": {"it is tried again", &api.BackupRecord{At: at(23, 3, 0), Error: "x"},
			at(23, 3, 15), at(23, 12, 0)},
		"failed late": {"the date comes first", &api.BackupRecord{At: at(24, 2, 50), Error: "x"},
			at(24, 3, 0), at(24, 2, 51)},
		"lacks files": {"the next would lack them too", &api.BackupRecord{At: at(23, 3, 0), Error: "x", Missing: 1},
			at(24, 3, 0), at(23, 12, 0)},
		"by a wrong clock": {"it silences nothing", &api.BackupRecord{At: at(29, 3, 0)}, at(23, 12, 0), at(23, 12, 0)},
	} {
		if got, ok := nextBackup(schedule, tc.last, tc.now); !ok || !got.Equal(tc.want) {
			t.Errorf("%s: %s: %s, want %s", name, tc.reason, got, tc.want)
		}
	}
}

// scheduled starts a server that takes a backup every minute.
func (s *site) scheduled(edit func(*BackupOptions)) *running {
	return s.serve(func(o *Options) {
		o.Backups = BackupOptions{Schedule: "* * * * *", Keep: 2, Unencrypted: true}
		edit(&o.Backups)
	})
}

// due lets a due time pass: the server starts again, as if it had been off for an hour.
func (s *site) due(r *running, edit func(*BackupOptions)) *running {
	s.t.Helper()
	if err := r.stop(); err != nil {
		s.t.Fatal(err)
	}
	s.setClock(s.clock().Add(time.Hour))
	return s.scheduled(edit).ready()
}

// TestScheduledBackups: missed due times lead to one backup, the files can be restored, older ones of this cluster are
// deleted, and a failure is shown and deletes nothing.
func TestScheduledBackups(t *testing.T) {
	s := newSite(t)
	identity, err := secret.ParseIdentities("AGE-SECRET-KEY-1LQMTUAZ56LG3RM64A4DCJAEF32MDP38EPLAW4WZZSGD92TRQQLSQ6YKY9U")
	if err != nil {
		t.Fatal(err)
	}
	to, err := secret.ParseRecipients("age1f9whv8hj6h4vwsd8hd2hqlm2zhmk8npwclv28dfcqhmu5edwasgs28ek0c")
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "backups")
	into := func(o *BackupOptions) { o.To, o.Recipients, o.Unencrypted = folder, to, false }
	others := "tend-0123456789abcdef-20200101T000000Z.tar.zst.age"
	if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, others), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	r := s.scheduled(into).ready()
	for i := range 4 {
		if i > 0 {
			r = s.due(r, into)
		}
		r.until("a backup is taken", func() bool {
			status, err := r.client.BackupStatus(t.Context())
			return err == nil && status.Last != nil && status.Last.Error == "" &&
				status.Last.Succeeded.After(s.clock().Add(-time.Minute))
		})
		if got := r.metric(`tend_backups_total{outcome="succeeded"}`); got != 1 {
			t.Errorf("%v backups for an hour of missed dates", got)
		}
		names := s.files(folder)
		if want := min(i+2, 3); len(names) != want {
			t.Errorf("after %d backups there are %v", i+1, names)
		}
	}
	for _, name := range s.files(folder) {
		if name != others {
			s.opens(filepath.Join(folder, name), identity)
		}
	}
	before := s.files(folder)
	gone := func(o *BackupOptions) { into(o); o.To = filepath.Join(folder, others, "below-a-file") }
	r = s.due(r, gone)
	r.until("the failure shows", func() bool {
		status, err := r.client.BackupStatus(t.Context())
		return err == nil && status.Failed() && !status.Last.Succeeded.IsZero() &&
			r.metric(`tend_backups_total{outcome="failed"}`) == 1
	})
	if after := s.files(folder); len(after) != len(before) {
		t.Errorf("a backup that failed took others away: %v", after)
	}
}

// TestABackupThatLacksFiles: it is stored and shown as what it is, and takes no whole one away. It doesn't count as
// good until a whole one follows.
func TestABackupThatLacksFiles(t *testing.T) {
	s := newSite(t)
	folder := t.TempDir()
	into := func(o *BackupOptions) { o.To, o.Keep = folder, 1 }
	r := s.scheduled(into).ready()
	taken := func(why string, is func(api.BackupRecord) bool) (last api.BackupRecord) {
		t.Helper()
		r.until(why, func() bool {
			status, err := r.client.BackupStatus(t.Context())
			if err == nil && status.Last != nil {
				last = *status.Last
			}
			return last.At.After(s.clock().Add(-time.Minute)) && is(last)
		})
		return last
	}
	good := func(last api.BackupRecord) bool { return last.Error == "" }
	taken("one is taken", good)
	asset := api.AssetSpec{Files: map[string]api.AssetFile{"motd": {Text: "hello"}}}
	r.declare(api.KindAsset, "conf", asset)
	r = s.due(r, into)
	whole := taken("one has the file", good)
	if err := os.RemoveAll(filepath.Join(s.root, "blobs", "sha256")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r = s.due(r, into)
		lost := taken("one lacks the file", func(last api.BackupRecord) bool { return last.Missing == 1 })
		if !strings.Contains(lost.Error, digestOfText("hello")) || lost.Name != whole.Name ||
			!lost.Succeeded.Equal(whole.Succeeded) {
			t.Errorf("%+v, and before it %+v", lost, whole)
		}
		if r.metric(`tend_backups_total{outcome="incomplete"}`) != 1 ||
			r.metric("tend_backup_last_success_timestamp_seconds") != float64(whole.Succeeded.Unix()) {
			t.Error("the metrics count it as a good one")
		}
		names := s.files(folder)
		if len(names) != 2 || !slices.Contains(names, filepath.Base(whole.Name)) ||
			!strings.Contains(names[0]+names[1], "-incomplete.tar.zst") {
			t.Errorf("%v, want the whole one and the newest that lacks a file", names)
		}
	}
	r.declare(api.KindAsset, "conf", asset) // its file is sent again
	r = s.due(r, into)
	taken("a whole one follows", good)
	if names := s.files(folder); len(names) != 1 || strings.Contains(names[0], "incomplete") {
		t.Errorf("%v, want the whole one", names)
	}
}

// opens checks a backup with the key, and verify.
func (s *site) opens(path string, identity secret.Identities) {
	s.t.Helper()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		s.t.Errorf("%v, %v", info, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	plain, err := secret.Unseal(bytes.NewReader(text), identity)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := restore.Verify(s.t.Context(), plain, s.t.TempDir()); err != nil {
		s.t.Error(err)
	}
}

func (s *site) files(folder string) (out []string) {
	s.t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, entry := range entries {
		out = append(out, entry.Name())
	}
	return out
}

// TestBackupCommand: a command gets a whole backup; its exit code and last lines are the outcome.
func TestBackupCommand(t *testing.T) {
	s := newSite(t)
	folder := t.TempDir()
	file := filepath.Join(folder, "got")
	r := s.scheduled(func(o *BackupOptions) { o.Command = "cat > " + file + ".part && mv " + file + ".part " + file }).ready()
	r.until("the command has it", func() bool {
		status, err := r.client.BackupStatus(t.Context())
		return err == nil && status.Last != nil && status.Last.Error == "" && status.Last.Size > 0
	})
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := restore.Verify(t.Context(), bytes.NewReader(text), t.TempDir()); err != nil {
		t.Error(err)
	}
	for reason, tc := range map[string]struct{ command, want string }{
		"it says no":    {"cat >/dev/null; echo the bucket is full >&2; exit 3", "exit status 3: the bucket is full"},
		"there is none": {"no-such-program-at-all", "127"},
	} {
		r = s.due(r, func(o *BackupOptions) { o.Command = tc.command })
		r.until(reason, func() bool {
			status, err := r.client.BackupStatus(t.Context())
			return err == nil && status.Failed() && strings.Contains(status.Last.Error, tc.want)
		})
	}
}

// TestABackupThatBreaksOffKillsItsCommand: the end of a half backup must not pass for the end of a backup.
func TestABackupThatBreaksOffKillsItsCommand(t *testing.T) {
	done := filepath.Join(t.TempDir(), "done")
	d := &daemon{Options: Options{Backups: BackupOptions{Command: "cat >/dev/null; touch " + done, Unencrypted: true}}}
	d.backups.taking.Lock() // no backup can be taken
	if _, err := d.commandBackup(t.Context(), time.Now()); err == nil {
		t.Error("it succeeded")
	}
	if _, err := os.Stat(done); err == nil {
		t.Error("the command came to the end of a backup that there wasn't")
	}
}
