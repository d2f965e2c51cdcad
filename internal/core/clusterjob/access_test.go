package clusterjob

import (
	"crypto/ed25519"
	"reflect"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/core/approval"
)

// TestAccess: a registration token serves until what it gave was used, a rotated token for a day more, and every answer
// may get lost.
func TestAccess(t *testing.T) {
	now := noon
	access := Invite(nil, "u1", "reg", RegistrationLife, now)
	want := func(when, hash string, grant Grant) {
		t.Helper()
		if got := Check(&access, hash, now); got != grant {
			t.Errorf("%s: %s is %v, want %v", when, hash, got, grant)
		}
	}
	if !Invited(&access, "reg", now) || Invited(&access, "other", now) ||
		Invited(&access, "reg", now.Add(RegistrationLife)) {
		t.Error("the registration token")
	}
	access = Register(access, "first", now)
	if !Invited(&access, "reg", now) {
		t.Error("an operator that did not get the answer can't ask again")
	}
	want("registered", "first", FirstUse)
	access = Use(access)
	want("used", "first", Granted)
	if Invited(&access, "reg", now) {
		t.Error("the registration token serves twice")
	}
	access = Rotate(access, "first", "second", now)
	want("rotated", "first", Granted)
	access = Rotate(access, "first", "third", now.Add(time.Hour)) // the answer with the second got lost
	want("rotated again", "second", Refused)
	want("rotated again", "third", FirstUse)
	now = now.Add(pull.RotationGrace)
	want("a day later", "first", Refused)

	access = Invite(&access, "u1", "again", time.Hour, now)
	access = Use(access)
	if !Invited(&access, "again", now) {
		t.Error("the use of an older token takes back a newer invitation")
	}
	want("invited again", "third", Granted)
	access = Register(access, "fourth", now)
	want("registered again", "third", Refused)
	if other := Invite(&access, "u2", "x", time.Hour, now); other.Token != nil {
		t.Error("another cluster of the name has the tokens of the first")
	}
}

// TestKeys: an operator has the keys that came with the token that it registered with, and what it has counts however
// often others are made meanwhile.
func TestKeys(t *testing.T) {
	mac := func(plain []byte) string { return string(plain) }
	access := Register(Invite(nil, "u1", "reg", time.Hour, noon), "token", noon)
	want := func(when string, jobs []int, approvals, newest int) {
		t.Helper()
		var keys []ed25519.PrivateKey
		for _, number := range jobs {
			keys = append(keys, jobKeyOf(mac, "u1", number))
		}
		if got := JobKeys(mac, access); !reflect.DeepEqual(got, keys) {
			t.Errorf("%s: jobs are signed with others than the keys %v", when, jobs)
		}
		if got := ApprovalSecret(mac, access); got != approval.Secret(mac, "u1", approvals) {
			t.Errorf("%s: approvals are signed with %q, want number %d", when, got, approvals)
		}
		if got := NewestApprovalSecret(mac, access); got != approval.Secret(mac, "u1", newest) {
			t.Errorf("%s: who registers gets %q, want number %d", when, got, newest)
		}
	}
	want("registered", []int{0}, 0, 0)
	access = RenewKeys(&access, "u1")
	want("other keys", []int{1, 0}, 0, 1)
	access = RenewKeys(&access, "u1")
	want("others again", []int{2, 0}, 0, 2)
	access = Register(Invite(&access, "u1", "again", time.Hour, noon), "token 2", noon)
	want("registered again", []int{2, 1}, 2, 2)
}

// TestContact: a cluster is connected until nothing was heard of it for the time that its page promises.
func TestContact(t *testing.T) {
	const promised = 90 * time.Second
	object := api.Object{Kind: api.KindCluster, Name: "east", Metadata: api.Metadata{UID: "u1", Generation: 1}}
	access := Register(Invite(nil, "u1", "reg", time.Hour, noon), "token", noon)
	contact, worth := Heard(nil, "u1", "operator/1", nil, noon.Add(time.Minute))
	if !worth {
		t.Error("the first contact is not written")
	}
	if _, worth := Heard(&contact, "u1", "operator/1", nil, noon.Add(time.Minute+ContactEvery-time.Second)); worth {
		t.Error("each request is written")
	}
	if _, worth := Heard(&contact, "u1", "operator/2", nil, noon.Add(time.Minute)); !worth {
		t.Error("another version is not written")
	}
	for name, tc := range map[string]struct {
		access  *api.ClusterAccess
		contact *api.ClusterContact
		now     time.Time
		want    string
	}{
		"invited":          {&api.ClusterAccess{UID: "u1", Registration: access.Registration}, nil, noon, api.ClusterPending},
		"registered":       {&access, nil, noon, api.ClusterConnected},
		"heard of":         {&access, &contact, noon.Add(time.Minute + promised - time.Second), api.ClusterConnected},
		"silent":           {&access, &contact, noon.Add(time.Minute + promised), api.ClusterDisconnected},
		"another's tokens": {&api.ClusterAccess{UID: "u0", Token: access.Token}, &contact, noon, api.ClusterPending},
	} {
		status := Status(object, 3, tc.access, tc.contact, api.ClusterStatus{}, tc.now)
		c := api.FindCondition(status.Conditions, ConditionConnected)
		if status.Phase != tc.want || (c.Status == api.ConditionTrue) != (tc.want == api.ClusterConnected) {
			t.Errorf("%s: %s, %+v; want %s", name, status.Phase, c, tc.want)
		}
	}
}
