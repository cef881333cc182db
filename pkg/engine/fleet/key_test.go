package fleet

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var widgetKey = Key{GVR: schema.GroupVersionResource{Group: "lab.example.com", Version: "v1", Resource: "widgets"}}

func TestKeyNormalForm(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ selector, want string }{
		"no selector":                 {"", ""},
		"terms in any order":          {"color=blue,app in (a, b)", "app in (a,b),color=blue"},
		"the same in the other order": {"app in (b,a),color=blue", "app in (a,b),color=blue"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := widgetKey
			key.LabelSelector = tc.selector
			got, err := key.normalised()
			if err != nil {
				t.Fatal(err)
			}
			if got.LabelSelector != tc.want || got.GVR != widgetKey.GVR {
				t.Errorf("got %+v, want selector %q", got, tc.want)
			}
		})
	}
}

func TestKeyErrors(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		key   Key
		parts []string
	}{
		"without a resource":      {Key{GVR: schema.GroupVersionResource{Version: "v1"}}, []string{"version and resource must be set"}},
		"without a version":       {Key{GVR: schema.GroupVersionResource{Resource: "widgets"}}, []string{"version and resource must be set"}},
		"with a broken selector":  {Key{GVR: widgetKey.GVR, LabelSelector: "a=("}, []string{"widgets.v1.lab.example.com", "label selector"}},
		"with an invalid operand": {Key{GVR: widgetKey.GVR, LabelSelector: "a in"}, []string{"label selector"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tc.key.normalised()
			if _, ok := errors.AsType[*KeyError](err); !ok {
				t.Fatalf("got %v, want a KeyError", err)
			}
			for _, part := range tc.parts {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q lacks %q", err, part)
				}
			}
		})
	}
}

func TestKeyString(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		key  Key
		want string
	}{
		"the whole cluster": {widgetKey, "widgets.v1.lab.example.com"},
		"the core group":    {Key{GVR: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}}, "secrets.v1"},
		"everything": {
			Key{GVR: widgetKey.GVR, Namespace: "blue", LabelSelector: "a=b"},
			"widgets.v1.lab.example.com in namespace blue with labels a=b",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.key.String(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestWatchErrorSaysWhatToDo(t *testing.T) {
	t.Parallel()
	resource := widgetKey.GVR.GroupResource()
	cases := map[string]struct {
		err               error
		denied, notServed bool
		parts             []string
	}{
		"forbidden": {
			apierrors.NewForbidden(resource, "", errors.New(`User "limited" cannot list`)), true, false,
			[]string{"widgets.v1.lab.example.com", `User "limited" cannot list`, "allow the operator's ServiceAccount to list and watch widgets.lab.example.com"},
		},
		"not served": {
			apierrors.NewGenericServerResponse(404, "list", resource, "", "", 0, true), false, true,
			[]string{"check that the CustomResourceDefinition of widgets.lab.example.com exists and serves version v1"},
		},
		"unreachable": {
			&url.Error{Op: "Get", URL: "https://10.0.0.1/apis/lab.example.com/v1/widgets?limit=500", Err: errors.New("connect: connection refused")}, false, false,
			[]string{"the API server cannot be reached: connect: connection refused", "tried again"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := newWatchError(widgetKey, tc.err)
			if err.Denied() != tc.denied || err.NotServed() != tc.notServed {
				t.Errorf("denied %v, not served %v; want %v, %v", err.Denied(), err.NotServed(), tc.denied, tc.notServed)
			}
			for _, part := range tc.parts {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q lacks %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "limit=500") {
				t.Errorf("%q shows a query string", err)
			}
			if apierrors.IsForbidden(err) != tc.denied {
				t.Error("the API server's answer cannot be recognised behind the error")
			}
		})
	}
}
