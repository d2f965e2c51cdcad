package ingress

import "testing"

func TestDotted(t *testing.T) {
	for path, want := range map[string]bool{
		"/a/..": true, "/.": true, "/./a": true, "/a/../b": true, "/...": false, "/.a": false, "/a./b..": false,
		"/..a/.": true, "*": false,
		`/a/..\b`: true, `/a\..\b`: true, "/a/..;/b": true, "/a/.;x": true, "/a/...;": false, `/a\b`: false,
		"/": false, "": false,
	} {
		if dotted(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}

// TestWhatAClientSaysOfItself: the header fields in which a client claims an origin are recognized, however they are
// spelled.
func TestWhatAClientSaysOfItself(t *testing.T) {
	for name, want := range map[string]bool{
		"X_Forwarded-For": true, "X-REAL_IP": true, "x-real-ip": true, "Forwarded": true, "X-Forwarded": true,
		"X_FORWARDED_PREFIX": true,
		"X-Forwarded-Host":   true, "X-Forwarded-Proto": true, "X-Forwarded-Port": true, "X-Forwarded-Ssl": true,
		"X-Forwarded-Scheme": true, "X-Forwarded-Server": true, "X_Original-URL": true, "X-Rewrite-Url": true,
		"X-Original-Host": true,
		"Front-End-Https": true, "X-Scheme": true, "X-Forwarded-": true, "X-Forwardedness": false, "X-Original": false,
		"X_Mine": false, "": false, "Accept": false,
	} {
		if claims(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

func TestValidHost(t *testing.T) {
	for host, want := range map[string]bool{
		"raw.test": true, "raw.test:80": true, "RAW_1.test.": true, "10.0.0.1:8080": true, "[::1]": true, "[::1]:80": true,
		"": true, "raw.test:": true,
		"raw.test:abc": false, "raw.test:65536": false, "raw.test:-1": false, "raw.test:+1": false, "raw.test:80:80": false,
		"raw.test: 80":  false,
		"user@raw.test": false, "raw.test/": false, "raw test": false, "raw\x00.test": false, `raw"test`: false,
		"r\u00e4w.test": false,
		"[::1":          false, "[::1]80": false, "[::1]:x": false, "[raw.test]": false, "[fe80::1%eth0]": false,
		"[10.0.0.1]": false, "::1": false,
	} {
		if validHost(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}
