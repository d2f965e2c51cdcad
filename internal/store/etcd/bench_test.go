package etcd_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/etcd"
)

// BenchmarkBoot starts a small store in its own process, and embedded etcd alone on the same data and settings: x-bare
// is the ratio of their times, rss-MiB the memory of each when idle.
func BenchmarkBoot(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "state")
	s, err := etcd.Open(context.Background(), etcd.Options{DataDir: dir, Ballast: -1})
	if err != nil {
		b.Fatal(err)
	}
	for i := range 1500 {
		if _, err := s.Commit(b.Context(),
			store.Txn{Do: []store.Op{put(fmt.Sprintf("/k/%d", i%500), make([]byte, 2000))}}); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	var took, rss [2]float64
	for b.Loop() {
		for i, role := range []string{"idle", "bare"} {
			t, r := boot(b, role, dir)
			took[i] += t.Seconds() * 1000
			rss[i] = r
		}
	}
	b.ReportMetric(took[0]/float64(b.N), "ms-boot")
	b.ReportMetric(took[0]/took[1], "x-bare")
	b.ReportMetric(rss[0], "rss-MiB")
	b.ReportMetric(rss[1], "rss-MiB-bare")
}

func boot(b *testing.B, role, dir string) (time.Duration, float64) {
	began := time.Now()
	p := start(b, role, dir)
	if !p.lines.Scan() || p.lines.Text() != "ready" {
		b.Fatalf("%s said %q", role, p.lines.Text())
	}
	took := time.Since(began)
	rss := resident(b, p.Process.Pid)
	_ = p.stdin.Close()
	p.rest()
	return took, rss
}

// resident returns a process's memory in MiB.
func resident(b *testing.B, pid int) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	var kib float64
	if _, err := fmt.Sscan(after, &kib); err != nil {
		b.Fatal(err)
	}
	return kib / 1024
}

// BenchmarkCommit commits one record at a time.
func BenchmarkCommit(b *testing.B) {
	s, err := etcd.Open(context.Background(), etcd.Options{DataDir: filepath.Join(b.TempDir(), "state"), Ballast: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for b.Loop() {
		if _, err := s.Commit(b.Context(), store.Txn{Do: []store.Op{put("/a", make([]byte, 1000))}}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGet reads one record through etcd.
func BenchmarkGet(b *testing.B) {
	s, err := etcd.Open(context.Background(), etcd.Options{DataDir: filepath.Join(b.TempDir(), "state"), Ballast: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Commit(b.Context(), store.Txn{Do: []store.Op{put("/a", make([]byte, 1000))}}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Get(b.Context(), "/a"); err != nil {
			b.Fatal(err)
		}
	}
}
