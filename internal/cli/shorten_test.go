package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

func TestShortened(t *testing.T) {
	const image = "image registry.example/team/web:1.2.3 → registry.example/team/web:1.2.4"
	digests := "image web:1@sha256:" + strings.Repeat("3f", 32) + " → web:1@sha256:" + strings.Repeat("88", 32)
	for name, tc := range map[string]struct {
		reason, text string
		width        int
		want         string
	}{
		"fits":       {"a text that fits stays", "image a:1 → a:2", 15, "image a:1 → a:2"},
		"path":       {"the beginning goes first, up to a part of its own", image, 50, "image …/team/web:1.2.3 → …/team/web:1.2.4"},
		"less":       {"and more of it where there is less room", image, 36, "image …/web:1.2.3 → …/web:1.2.4"},
		"tag":        {"the tag stays whole as long as it can", image, 30, "image …:1.2.3 → …:1.2.4"},
		"least":      {"what differs stays", image, 18, "image …3 → …4"},
		"one mark":   {"one … is enough", image, 7, "image …"},
		"too little": {"where nothing fits, the end is cut", image, 9, "image …3…"},
		"end": {"what both have at their end goes too", "image registry-a.example/team/web:1 → registry-b.example/team/web:1",
			40, "image registry-a… → registry-b…"},
		"digests": {"of what differs the first characters stay", digests, 70,
			"image …:3f3f3f3f3f3f3f3f3f3f3f3f… → …:888888888888888888888888…"},
		"several": {"each change in a text is shortened", image + ", replicas 3 → 10, 2 more", 55,
			"image …:1.2.3 → …:1.2.4, replicas 3 → 10, 2 more"},
		"words":    {"a word that differs stays whole", "v127 → v128, rollout begins, degraded", 24, "v127 → v128, rollout be…"},
		"no arrow": {"another text is cut at its end", "failed after 47s: CrashLoop", 12, "failed afte…"},
	} {
		got := shortened(tc.text, tc.width)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s\n%s", name, tc.reason, diff)
		}
		if wide := ansi.StringWidth(got); wide > tc.width {
			t.Errorf("%s: %d columns, at most %d fit", name, wide, tc.width)
		}
	}
}

// TestLongValuesShowTheirDifference: values that differ behind the length of a cell don't look the same.
func TestLongValuesShowTheirDifference(t *testing.T) {
	long := "registry.example/" + strings.Repeat("team/", 20) + "web:"
	quoted := func(text string) json.RawMessage { raw, _ := json.Marshal(text); return raw }
	before, after, _ := strings.Cut(changedValue(quoted(long+"1"), quoted(long+"2")), " → ")
	if !strings.HasSuffix(before, "web:1") || !strings.HasSuffix(after, "web:2") {
		t.Errorf("%s → %s", before, after)
	}
}
