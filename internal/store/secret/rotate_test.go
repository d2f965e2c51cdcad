package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func opened(t *testing.T, path string) *Keys {
	t.Helper()
	keys, err := Open(path, "")
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestRotation: at each step the file alone decrypts everything sealed before and after it, and names the keys in use.
func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret.key")
	keys := opened(t, path)
	first := keys.Fingerprint()
	old, _ := keys.Encrypt([]byte("before"))
	mac, callback := keys.HMAC([]byte("x")), keys.CallbackMAC([]byte("x"))
	text, next, err := keys.Next()
	if err != nil || len(keys.Fingerprints()) != 1 {
		t.Fatalf("making keys holds them: %v, %v", keys.Fingerprints(), err)
	}
	if err := keys.Use(next); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("uses keys that it doesn't hold: %v", err)
	}
	for range 2 {
		if err := keys.Add(text); err != nil || len(keys.Fingerprints()) != 2 || keys.Fingerprint() != first {
			t.Fatalf("held: %v, %v", keys.Fingerprints(), err)
		}
	}
	if err := keys.Use(next); err != nil || keys.Fingerprint() != next {
		t.Fatalf("in use: %s, %v", keys.Fingerprint(), err)
	}
	fresh, _ := keys.Encrypt([]byte("after"))
	for _, named := range []string{first, next} {
		again, err := Open(path, named)
		if err != nil || again.Fingerprint() != named {
			t.Fatalf("the file opened for %s: %v", named, err)
		}
		for _, sealed := range [][]byte{old, fresh} {
			if _, err := again.Decrypt(sealed); err != nil {
				t.Errorf("after a restart: %v", err)
			}
		}
	}
	if keys.HMAC([]byte("x")) != mac || keys.CallbackMAC([]byte("x")) == callback {
		t.Error("values must compare as before, and containers prove themselves otherwise")
	}
	retired := keys.Retired()
	if err := keys.Forget(); err != nil || len(keys.Fingerprints()) != 1 {
		t.Fatalf("held: %v, %v", keys.Fingerprints(), err)
	}
	if _, err := Open(path, first); !errors.Is(err, ErrKeyMismatch) {
		t.Errorf("the file still has the old keys: %v", err)
	}
	if _, err := keys.Decrypt(old); !errors.Is(err, ErrDecrypt) {
		t.Errorf("forgotten keys open something: %v", err)
	}
	machine := opened(t, filepath.Join(t.TempDir(), "machine.key"))
	if err := machine.Add(retired); err != nil {
		t.Fatal(err)
	}
	if plain, err := machine.Decrypt(old); string(plain) != "before" || err != nil {
		t.Errorf("retired keys: %q, %v", plain, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
}

// TestReseal: a sealed value in any record is found and sealed again, and everything around it stays.
func TestReseal(t *testing.T) {
	keys := opened(t, filepath.Join(t.TempDir(), "secret.key"))
	foreign := opened(t, filepath.Join(t.TempDir(), "other.key"))
	sealed := func(k *Keys, plain string) []byte {
		t.Helper()
		out, err := k.Encrypt([]byte(plain))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	before := sealed(keys, "s3cret")
	theirs := sealed(foreign, "theirs")
	in64 := base64.StdEncoding.EncodeToString
	record, _ := json.Marshal(map[string]any{"env": before, "more": []any{before, theirs}, "token": "sealed:abc:" +
		in64(before), "text": "age-encryption.org/v1"})
	text, next, _ := keys.Next()
	if fresh, count, err := keys.Reseal(record); count != 0 || err != nil || !bytes.Equal(fresh, record) {
		t.Fatalf("with one key there is nothing to seal again: %d, %v", count, err)
	}
	if err := errors.Join(keys.Add(text), keys.Use(next)); err != nil {
		t.Fatal(err)
	}
	current := sealed(keys, "new")
	for name, c := range map[string]struct {
		value []byte
		count int
	}{
		"a record":              {record, 3},
		"the value itself":      {before, 1},
		"sealed with the new":   {current, 0},
		"with another's keys":   {theirs, 0},
		"nothing sealed":        {[]byte(`{"a":"b"}`), 0},
		"nothing at all":        {nil, 0},
		"cut off":               {[]byte(in64(before)[:100]), 0},
		"the beginning of one":  {sealedText, 0},
		"twice in one text":     {[]byte(in64(before) + " " + in64(before)), 2},
		"base64 of other bytes": {[]byte(in64([]byte("age-encryption.org/v1\n-> scrypt x"))), 0},
	} {
		fresh, count, err := keys.Reseal(c.value)
		if count != c.count || err != nil {
			t.Errorf("%s: sealed %d again, %v", name, count, err)
			continue
		}
		if c.count == 0 && !bytes.Equal(fresh, c.value) {
			t.Errorf("%s: changed to %q", name, fresh)
		}
		if again, left, _ := keys.Reseal(fresh); left != 0 || !bytes.Equal(again, fresh) {
			t.Errorf("%s: %d are left", name, left)
		}
	}
	fresh, _, _ := keys.Reseal(record)
	if err := keys.Forget(); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Env         []byte
		More        [][]byte
		Token, Text string
	}
	if err := json.Unmarshal(fresh, &got); err != nil {
		t.Fatalf("the record is broken: %v", err)
	}
	token, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(got.Token, "sealed:abc:"))
	for _, value := range [][]byte{got.Env, got.More[0], token} {
		if plain, err := keys.Decrypt(value); string(plain) != "s3cret" || err != nil {
			t.Errorf("opened %q, %v", plain, err)
		}
	}
	if !bytes.Equal(got.More[1], theirs) || got.Text != "age-encryption.org/v1" {
		t.Error("what is not Tend's was changed")
	}
}
