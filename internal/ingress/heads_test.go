package ingress

import "testing"

func TestDotted(t *testing.T) {
	for path, want := range map[string]bool{
		"/a/..": true, "/.": true, "/./a": true, "/a/../b": true, "/...": false, "/.a": false, "/a./b..": false, "/..a/.": true, "*": false,
		`/a/..\b`: true, `/a\..\b`: true, "/a/..;/b": true, "/a/.;x": true, "/a/...;": false, `/a\b`: false, "/": false, "": false,
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
		"X_Forwarded-For": true, "X-REAL_IP": true, "x-real-ip": true, "Forwarded": true, "X-Forwarded": true, "X_FORWARDED_PREFIX": true,
		"X-Forwarded-Host": true, "X-Forwarded-Proto": true, "X-Forwarded-Port": false, "X_Mine": false, "X-Forwarded-Fo": false, "": false, "Accept": false,
	} {
		if claims(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
