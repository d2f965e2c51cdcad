package api_test

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// FuzzPort reads arbitrary entries of `ports`: what is accepted reads the same from its normal form.
func FuzzPort(f *testing.F) {
	for _, entry := range []string{"80", "3000:80", "0.0.0.0:80", "127.0.0.1::80", "[::1]:3000:80/udp",
		"3000-3009:80-89/sctp", "[::ffff:1.2.3.4]:1:1"} {
		f.Add(entry)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		port, err := api.NormalizePort(entry)
		if err != nil {
			return
		}
		again, err := api.NormalizePort(port.String())
		if err != nil || again != port {
			t.Fatalf("%q is %+v, and its normal form %q is %+v (%v)", entry, port, port, again, err)
		}
		for _, r := range []api.PortRange{port.Container, port.Host} {
			if r.First < 0 || r.Last > 65535 || r.Last < r.First {
				t.Fatalf("%q holds the range %+v", entry, r)
			}
		}
	})
}

// FuzzMounts reads arbitrary entries of `volumes`, `tmpfs` and `devices`: what is accepted never climbs out of its
// path.
func FuzzMounts(f *testing.F) {
	for _, entry := range []string{"data:/var/lib", "/a:/b:ro,z", "/run:size=64m,mode=1777", "/dev/null:/dev/x:rw",
		"/dev/fuse", "/a/../b:/c"} {
		f.Add(entry)
	}
	inside := func(t *testing.T, entry, path string) {
		t.Helper()
		if !strings.HasPrefix(path, "/") || strings.Contains(path+"/", "/../") || strings.Contains(path, "\x00") {
			t.Fatalf("%q is accepted with the path %q", entry, path)
		}
	}
	f.Fuzz(func(t *testing.T, entry string) {
		if volume, err := api.ParseVolume(entry); err == nil {
			inside(t, entry, volume.Target)
			if !volume.Named() {
				inside(t, entry, volume.Source)
			}
		}
		if target, _, err := api.ParseTmpfs(entry); err == nil {
			inside(t, entry, target)
		}
		if device, err := api.ParseDevice(entry); err == nil {
			inside(t, entry, device.Host)
			inside(t, entry, device.Container)
		}
	})
}

// FuzzQuantity reads arbitrary sizes and limits: what is accepted is a number in its documented bounds.
func FuzzQuantity(f *testing.F) {
	for _, text := range []string{"1.5", "500m", "64Mi", "1.5Gi", "64m", "1TiB", "nofile=1:2", "nofile=-1",
		"9223372036854775807", "."} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if cores, err := api.ParseCPU(text); err == nil && !(cores >= 0.01 && cores <= 100000) {
			t.Errorf("%q is %v cores", text, cores)
		}
		if bytes, err := api.ParseMemory(text); err == nil && bytes < 0 {
			t.Errorf("%q is %d bytes of memory", text, bytes)
		}
		if bytes, err := api.ParseSize(text); err == nil && bytes < 0 {
			t.Errorf("%q is a size of %d bytes", text, bytes)
		}
		if name, soft, hard, err := api.ParseUlimit(text); err == nil &&
			(name == "" || soft < -1 || hard < -1 || hard >= 0 && soft > hard) {
			t.Errorf("%q is the limit %s=%d:%d", text, name, soft, hard)
		}
	})
}
