package api

import "testing"

func TestSyncSourceShowsNoCredentials(t *testing.T) {
	for want, spec := range map[string]SyncSpec{
		"git https://xxxxx@host/x":       {Git: "https://s3cret@host/x"},
		"git https://xxxxx@host/y":       {Git: "https://me:s3cret@host/y"},
		"git ssh://git@host/x":           {Git: "ssh://git@host/x"},
		"git ssh://xxxxx@host/y":         {Git: "ssh://git:s3cret@host/y"},
		"git git@host:x":                 {Git: "git@host:x"},
		"git /srv/a@b.git":               {Git: "/srv/a@b.git"},
		"http https://host/x?…":          {HTTP: "https://host/x?token=s3cret"},
		"http https://host/z":            {HTTP: "https://host/z#s3cret"},
		"http https://xxxxx@host/q":      {HTTP: "https://me:s3c%zzret@host/q?token=s3cret"},
		"http https://xxxxx@host/x.yaml": {HTTP: "https://me:s3cret@host/x.yaml"},
		"dir /etc/tend":                  {Dir: "/etc/tend"},
	} {
		if got := spec.Source(); got != want {
			t.Errorf("%+v: %q, want %q", spec, got, want)
		}
	}
}
