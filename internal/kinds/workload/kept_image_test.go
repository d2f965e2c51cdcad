package workload

import (
	"testing"

	"tend.dev/tend/api"
)

// TestAVanishedTagBlocksNothing: the image is still on the node under its id, and the pods run by that. What the spec
// asks for besides another image goes on with it.
func TestAVanishedTagBlocksNothing(t *testing.T) {
	another := func(l *harness) { l.apply(withEnv(2, "A", "1")) }
	for name, test := range map[string]struct {
		reason  string
		forced  bool
		change  func(*harness)
		release string
		image   string
		pods    int
		ready   api.ConditionStatus
	}{
		"nothing": {reason: "nothing was changed", change: func(*harness) {}, release: "v1", image: "sha256:1", pods: 2,
			ready: api.ConditionTrue},
		"forced": {reason: "the pull that was asked for was answered", forced: true, change: func(*harness) {},
			release: "v1", image: "sha256:1", pods: 2, ready: api.ConditionTrue},
		"forced, scaled": {reason: "a scale needs no tag", forced: true,
			change:  func(l *harness) { l.apply(replicas(3, "web:1")) },
			release: "v1", image: "sha256:1", pods: 3, ready: api.ConditionTrue},
		"forced, restarted": {reason: "nor does a restart", forced: true,
			change:  func(l *harness) { l.stamp(api.StampRestart, "1") },
			release: "v1", image: "sha256:1", pods: 2, ready: api.ConditionTrue},
		"env": {reason: "another environment is another release of the same image", change: another,
			release: "v2", image: "sha256:1", pods: 2, ready: api.ConditionTrue},
		"forced, env": {reason: "also after an answered pull", forced: true, change: another,
			release: "v2", image: "sha256:1", pods: 2, ready: api.ConditionTrue},
		"config": {reason: "so is a bucket", change: func(l *harness) { l.config("apps/prod/web/A", "1") },
			release: "v2", image: "sha256:1", pods: 2, ready: api.ConditionTrue},
		"forced again": {reason: "a pull that is asked for now has no answer",
			change:  func(l *harness) { l.stamp(api.StampPull, "2") },
			release: "v1", image: "sha256:1", pods: 2, ready: api.ConditionFalse},
		"env, forced again": {reason: "nor has it with another change",
			change:  func(l *harness) { another(l); l.stamp(api.StampPull, "2") },
			release: "v1", image: "sha256:1", pods: 2, ready: api.ConditionFalse},
		"another image": {reason: "another name isn't the image that runs",
			change:  func(l *harness) { l.apply(replicas(2, "web:9")) },
			release: "v1", image: "sha256:1", pods: 2, ready: api.ConditionFalse},
		"back and moved": {reason: "a tag that comes back as another image rolls out", change: func(l *harness) {
			another(l)
			l.settle()
			l.images["web:1"] = "sha256:moved"
		}, release: "v3", image: "sha256:moved", pods: 2, ready: api.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			l.apply(replicas(2, "web:1"))
			l.settle()
			if test.forced {
				l.stamp(api.StampPull, "1")
				l.settle()
			}
			delete(l.images, "web:1")
			l.settle()
			test.change(l)
			l.settle()
			s, live := l.status(), l.live()
			if s.Release != test.release || s.ImageID != test.image || len(live) != test.pods {
				t.Errorf("%s: %d pods on %s, image %s; want %d on %s, %s", test.reason, len(live), s.Release, s.ImageID,
					test.pods, test.release, test.image)
			}
			if c := l.condition(api.ConditionReady); c.Status != test.ready {
				t.Errorf("%s: %+v\n%+v", test.reason, c, l.condition(api.ConditionDegraded))
			}
		})
	}
}
