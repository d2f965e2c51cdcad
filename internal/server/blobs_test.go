package server_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/blob"
)

func TestBlobs(t *testing.T) {
	blobs, err := blob.Open(blob.Options{Root: t.TempDir(), MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	handler := server.New(server.Options{Blobs: blobs}).Handler(true)
	content := strings.Repeat("tend", 1<<20)
	digest := sha256Of([]byte(content))
	ask := func(method, path, body string) *http.Response {
		t.Helper()
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest(method, path, strings.NewReader(body)))
		return recorder.Result()
	}
	for _, step := range []struct {
		reason, method, digest, body string
		want                         int
	}{
		{"not there yet", "HEAD", digest, "", http.StatusNotFound},
		{"not there yet", "GET", digest, "", http.StatusNotFound},
		{"other bytes than it says", "PUT", digest, content[1:], http.StatusBadRequest},
		{"still not there", "HEAD", digest, "", http.StatusNotFound},
		{"the bytes", "PUT", digest, content, http.StatusNoContent},
		{"the bytes again", "PUT", digest, content, http.StatusNoContent},
		{"there", "HEAD", digest, "", http.StatusOK},
		{"no digest", "PUT", "sha256:abc", "", http.StatusBadRequest},
		{"no digest", "GET", "..%2f..%2fsecret.key", "", http.StatusBadRequest},
		{"an empty file", "PUT", sha256Of(nil), "", http.StatusNoContent},
	} {
		if got := ask(step.method, "/v1/blobs/"+step.digest, step.body).StatusCode; got != step.want {
			t.Errorf("%s: %s answers %d, want %d", step.reason, step.method, got, step.want)
		}
	}
	answer := ask("GET", "/v1/blobs/"+digest, "")
	if got, err := io.ReadAll(answer.Body); err != nil || string(got) != content ||
		answer.ContentLength != int64(len(content)) {
		t.Errorf("%d bytes came, %v", len(got), err)
	}
	large := httptest.NewRequest("PUT", "/v1/blobs/"+digest, bytes.NewReader(nil))
	large.ContentLength = api.MaxAssetBytes + 1
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, large)
	if recorder.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a file beyond the limit: %d", recorder.Code)
	}
}

func TestAServerWithoutBlobsSaysSo(t *testing.T) {
	recorder := httptest.NewRecorder()
	server.New(server.Options{}).Handler(true).ServeHTTP(recorder, httptest.NewRequest("PUT", "/v1/blobs/x", nil))
	if recorder.Code != http.StatusServiceUnavailable {
		t.Errorf("it answers %d", recorder.Code)
	}
}

func TestTheLimitsAgree(t *testing.T) {
	if blob.MaxBytes != api.MaxAssetBytes {
		t.Errorf("the store takes %d bytes, the API promises %d", blob.MaxBytes, api.MaxAssetBytes)
	}
}

// TestABlobMayBeAsLargeAsTheServerSays: a source may be larger than a file of an asset.
func TestABlobMayBeAsLargeAsTheServerSays(t *testing.T) {
	blobs, err := blob.Open(blob.Options{Root: t.TempDir(), MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	handler := server.New(server.Options{Blobs: blobs, MaxBlob: 10}).Handler(true)
	for content, want := range map[string]int{strings.Repeat("x", 10): http.StatusNoContent,
		strings.Repeat("x", 11): http.StatusRequestEntityTooLarge} {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest("PUT", "/v1/blobs/"+sha256Of([]byte(content)),
			strings.NewReader(content)))
		if recorder.Code != want {
			t.Errorf("%d bytes: %d, want %d", len(content), recorder.Code, want)
		}
	}
}

// TestABlobMayComeCompressed: its digest is that of the uncompressed bytes.
func TestABlobMayComeCompressed(t *testing.T) {
	blobs, err := blob.Open(blob.Options{Root: t.TempDir(), MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	handler := server.New(server.Options{Blobs: blobs}).Handler(true)
	content := []byte(strings.Repeat("tend", 1<<10))
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	for encoding, want := range map[string]int{"gzip": http.StatusNoContent, "br": http.StatusUnsupportedMediaType} {
		request := httptest.NewRequest("PUT", "/v1/blobs/"+sha256Of(content), bytes.NewReader(packed.Bytes()))
		if encoding == "br" {
			request.URL.Path = "/v1/blobs/" + sha256Of([]byte("other"))
		}
		request.Header.Set("Content-Encoding", encoding)
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		if recorder.Code != want {
			t.Errorf("%s: %d, want %d", encoding, recorder.Code, want)
		}
	}
	if there, err := blobs.Has(sha256Of(content)); err != nil || !there {
		t.Errorf("it is not there: %v", err)
	}
}

// sha256Of returns the digest of content, computed apart from the store.
func sha256Of(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }
