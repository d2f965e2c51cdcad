package ports_test

import (
	"slices"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/ports"
)

func TestNumbers(t *testing.T) {
	got := ports.Numbers("127.0.0.1:19801", ":8685", "off", "", "[::1]:8685", "10.0.0.1:0", "name:http", "http://127.0.0.1:2379")
	if want := []int{19801, 8685, 2379}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTakesReserved(t *testing.T) {
	ingress := func(listen string) api.Object {
		return api.Object{Kind: api.KindIngress, Spec: []byte(`{"listen":"` + listen + `"}`)}
	}
	workload := api.Object{Kind: api.KindDeployment, Spec: []byte(`{"image":"a"}`)}
	for name, tc := range map[string]struct {
		reason    string
		object    api.Object
		published []string
		want      []ports.Reserved
	}{
		"announced": {"the server listens there", ingress("127.0.0.1:19801"), nil, []ports.Reserved{{"listen", 19801}}},
		"another address": {"the server may listen at all of them", ingress("127.0.0.2:19801"), nil,
			[]ports.Reserved{{"listen", 19801}}},
		"default":  {"a server that is down announces nothing", ingress("127.0.0.1:8686"), nil, []ports.Reserved{{"listen", 8686}}},
		"datagram": {"Tend listens for none", ingress("127.0.0.1:8686/udp"), nil, nil},
		"free":     {"nobody of Tend listens there", ingress("127.0.0.1:5432"), nil, nil},
		"host":     {"an ingress with a host", api.Object{Kind: api.KindIngress, Spec: []byte(`{"host":"a.test"}`)}, nil, nil},
		"published": {"the engine binds it", workload, []string{"80", "127.0.0.1:8686:80"},
			[]ports.Reserved{{"ports[1]", 8686}}},
		"range": {"each of them is bound", workload, []string{"127.0.0.1:8684-8686:80-82"},
			[]ports.Reserved{{"ports[0]", 8685}, {"ports[0]", 8686}}},
		"choice": {"the engine may choose it", workload, []string{"127.0.0.1:8686-8687:80"},
			[]ports.Reserved{{"ports[0]", 8686}, {"ports[0]", 8687}}},
		"inside": {"the container's own port", workload, []string{"8686", "8080:8686"}, nil},
	} {
		if got := ports.TakesReserved(tc.object, tc.published, []int{19801}); !slices.Equal(got, tc.want) {
			t.Errorf("%s (%s): got %v, want %v", name, tc.reason, got, tc.want)
		}
	}
}

func TestNewlyReserved(t *testing.T) {
	of := func(published string) *api.Object {
		return &api.Object{Kind: api.KindDeployment, Spec: []byte(`{"image":"a","ports":[` + published + `]}`),
			Metadata: api.Metadata{Stamps: map[string]string{api.StampConfined: "true"}}}
	}
	listen := func(at string) *api.Object {
		return &api.Object{Kind: api.KindIngress, Spec: []byte(`{"listen":"` + at + `"}`),
			Metadata: api.Metadata{Stamps: map[string]string{api.StampConfined: "true"}}}
	}
	admins := func(object *api.Object) *api.Object { object.Metadata.Stamps = nil; return object }
	given := func(object *api.Object) *api.Object {
		object.Metadata.Stamps[api.StampGivenPorts] = "8686"
		return object
	}
	const one, other = `"127.0.0.1:8686:80"`, `"127.0.0.1:19801:80"`
	for name, tc := range map[string]struct {
		stored, next *api.Object
		want         []ports.Reserved
	}{
		"new":                {nil, of(one), []ports.Reserved{{"ports[0]", 8686}}},
		"had":                {of(one), of(one), nil},
		"an admin's had it":  {admins(of(one)), of(one), []ports.Reserved{{"ports[0]", 8686}}},
		"an admin's ingress": {admins(listen("127.0.0.1:8686")), listen("127.0.0.1:8686"), []ports.Reserved{{"listen", 8686}}},
		"was given it":       {given(of(one)), of(one), []ports.Reserved{{"ports[0]", 8686}}},
		"was given another":  {given(of(one + "," + other)), of(other), nil},
		"had it elsewhere":   {of(one), of(`"80",` + one), nil},
		"a further one":      {of(one), of(one + "," + other), []ports.Reserved{{"ports[1]", 19801}}},
		"had another":        {of(other), of(one), []ports.Reserved{{"ports[0]", 8686}}},
		"had a datagram's":   {of(`"127.0.0.1:8686:80/udp"`), of(one), []ports.Reserved{{"ports[0]", 8686}}},
		"had a part of it":   {of(one), of(`"127.0.0.1:8685-8686:80-81"`), []ports.Reserved{{"ports[0]", 8685}}},
		"an ingress had it":  {listen("127.0.0.1:8686"), listen("127.0.0.1:8686"), nil},
		"an ingress had one": {listen("127.0.0.1:8686"), listen("127.0.0.1:19801"), []ports.Reserved{{"listen", 19801}}},
	} {
		if got := ports.NewlyReserved(*tc.next, tc.stored, []int{19801}); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}

func TestGive(t *testing.T) {
	of := func(published, given, confined string) *api.Object {
		return &api.Object{Kind: api.KindDeployment, Spec: []byte(`{"image":"a","ports":[` + published + `]}`),
			Metadata: api.Metadata{Stamps: map[string]string{api.StampConfined: confined, api.StampGivenPorts: given}}}
	}
	const one, other = `"127.0.0.1:8686:80"`, `"127.0.0.1:19801:80"`
	for name, tc := range map[string]struct {
		stored, next *api.Object
		want         string
	}{
		"none":                   {nil, of(`"80"`, "", ""), ""},
		"created with it":        {nil, of(one, "", ""), "8686"},
		"newly":                  {of("", "", "true"), of(one, "", "true"), "8686"},
		"had it before":          {of(one, "", "true"), of(one+","+other, "", "true"), "19801"},
		"again":                  {of(one, "8686", "true"), of(one+","+other, "8686", "true"), "8686 19801"},
		"it is given up":         {of(one, "8686", "true"), of("", "8686", "true"), "8686"},
		"of what isn't confined": {of(one, "", ""), of(one, "", ""), "8686"},
	} {
		if got := ports.Give(*tc.next, tc.stored, []int{19801}); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
