package secret

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpen(t *testing.T) {
	other := filepath.Join(t.TempDir(), "secret.key")
	otherKeys, err := Open(other, "")
	if err != nil {
		t.Fatal(err)
	}
	good, _ := os.ReadFile(other)
	cases := map[string]struct {
		reason      string
		content     string
		mode        os.FileMode
		fingerprint string
		want        error
	}{
		"first boot": {reason: "a store that was never encrypted gets a key"},
		"next boot":  {reason: "the same file opens", content: string(good), fingerprint: otherKeys.Fingerprint()},
		"key lost":   {reason: "a lost key is never replaced silently", fingerprint: "0123", want: ErrKeyMissing},
		"another's key": {reason: "another cluster's key is refused", content: string(good), fingerprint: "0123",
			want: ErrKeyMismatch},
		"readable by group": {reason: "a leaked key is said", content: string(good), mode: 0o640, want: ErrKeyFile},
		"half a file": {reason: "both keys are needed",
			content: strings.SplitAfter(string(good), "\n")[1], want: ErrKeyFile},
		"garbage":   {reason: "a broken file is refused", content: "AGE-SECRET-KEY-1NOTAKEY\n", want: ErrKeyFile},
		"too large": {reason: "reads are bounded", content: strings.Repeat("#\n", maxFile), want: ErrKeyFile},
		"bad hmac": {reason: "both halves are checked",
			content: strings.Replace(string(good), hmacPrefix, hmacPrefix+"zz", 1), want: ErrKeyFile},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "secret.key")
			if tc.content != "" {
				if tc.mode == 0 {
					tc.mode = 0o600
				}
				if err := os.WriteFile(path, []byte(tc.content), tc.mode); err != nil {
					t.Fatal(err)
				}
			}
			_, err := Open(path, tc.fingerprint)
			if !errors.Is(err, tc.want) {
				t.Fatalf("%s: got %v, want %v", tc.reason, err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "AGE-SECRET") {
				t.Errorf("the error shows the key: %v", err)
			}
			info, statErr := os.Stat(path)
			if tc.want == nil && (statErr != nil || info.Mode().Perm() != 0o600) {
				t.Errorf("%s: file is %v, %v; want mode 0600", tc.reason, info, statErr)
			}
			if tc.want == ErrKeyMissing && statErr == nil {
				t.Error("a key was made although the store names another")
			}
		})
	}
}

func TestEncrypt(t *testing.T) {
	folder := t.TempDir()
	keys, err := Open(filepath.Join(folder, "a"), "")
	if err != nil {
		t.Fatal(err)
	}
	again, err := Open(filepath.Join(folder, "a"), keys.Fingerprint())
	if err != nil {
		t.Fatal(err)
	}
	unrelated, err := Open(filepath.Join(folder, "b"), "")
	if err != nil {
		t.Fatal(err)
	}
	plain := []byte("PASSWORD=hunter2")
	sealed, err := keys.Encrypt(plain)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed, plain) {
		t.Error("the sealed form holds the plain text")
	}
	if twice, _ := keys.Encrypt(plain); bytes.Equal(twice, sealed) {
		t.Error("the same text sealed twice is the same: it could be compared")
	}
	opened, err := again.Decrypt(sealed)
	if err != nil || !bytes.Equal(opened, plain) {
		t.Errorf("decrypt after a restart: %q, %v", opened, err)
	}
	if _, err := unrelated.Decrypt(sealed); !errors.Is(err, ErrDecrypt) {
		t.Errorf("another key: %v, want ErrDecrypt", err)
	}
	sealed[len(sealed)-1] ^= 1
	if _, err := keys.Decrypt(sealed); !errors.Is(err, ErrDecrypt) {
		t.Errorf("changed data: %v, want ErrDecrypt", err)
	}
	if _, err := keys.Decrypt(nil); !errors.Is(err, ErrDecrypt) {
		t.Errorf("no data: %v, want ErrDecrypt", err)
	}
}

func TestHMAC(t *testing.T) {
	folder := t.TempDir()
	keys, _ := Open(filepath.Join(folder, "a"), "")
	again, _ := Open(filepath.Join(folder, "a"), "")
	unrelated, _ := Open(filepath.Join(folder, "b"), "")
	if keys.HMAC([]byte("x")) != again.HMAC([]byte("x")) {
		t.Error("the hash of the same data differs after a restart: every env would seem changed")
	}
	if keys.HMAC([]byte("x")) == keys.HMAC([]byte("y")) || keys.HMAC([]byte("x")) == unrelated.HMAC([]byte("x")) {
		t.Error("the hash doesn't depend on data and key")
	}
}

func TestToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	first, err := Token(path)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Token(path)
	if err != nil || first != second {
		t.Errorf("second read: %v, the same: %v", err, first == second)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode())
	}
	if err := os.WriteFile(path, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Token(path); !errors.Is(err, ErrKeyFile) {
		t.Errorf("a guessable token: %v, want ErrKeyFile", err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Token(path); !errors.Is(err, ErrKeyFile) {
		t.Errorf("a readable token: %v, want ErrKeyFile", err)
	}
}
