package endpoints

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/httpapi"
)

// fieldsWithSecrets walks a type and gives the JSON path of every reference to a Secret in it.
func fieldsWithSecrets(t reflect.Type, path string) []string {
	switch {
	case t.Kind() == reflect.Pointer:
		return fieldsWithSecrets(t.Elem(), path)
	case t.Kind() == reflect.Slice:
		return fieldsWithSecrets(t.Elem(), path+"[0]")
	case t == reflect.TypeFor[v1alpha1.SecretKeyReference](), t == reflect.TypeFor[v1alpha1.SecretReference]():
		return []string{path}
	case t.Kind() != reflect.Struct || !strings.HasSuffix(t.PkgPath(), "api/v1alpha1"):
		return nil
	}
	var found []string
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		found = append(found, fieldsWithSecrets(field.Type, path+"."+name)...)
	}
	return found
}

// Every reference to a Secret that the API knows goes through the resolver: a new one that is not handled fails here.
func TestEveryReferenceOfTheAPIIsResolved(t *testing.T) {
	t.Parallel()
	ref := func(name string) v1alpha1.SecretKeyReference {
		return v1alpha1.SecretKeyReference{Name: name, Key: "k"}
	}
	user, field := ref("user"), ref("field")
	auths := []*v1alpha1.Auth{
		{Bearer: &v1alpha1.BearerAuth{TokenRef: ref("token")}},
		{Basic: &v1alpha1.BasicAuth{UsernameRef: &user, PasswordRef: ref("password")}},
		{Headers: []v1alpha1.SecretHeader{{Name: "X-A", ValueRef: ref("header")}}},
		{APIKey: &v1alpha1.APIKeyAuth{In: v1alpha1.APIKeyInQuery, Name: "key", ValueRef: ref("key")}},
		{OAuth2: &v1alpha1.OAuth2Auth{ClientIDRef: &user, ClientSecretRef: ref("client")}},
		{Session: &v1alpha1.SessionAuth{Login: v1alpha1.SessionLogin{Fields: []v1alpha1.SessionField{{Name: "a", ValueRef: &field}}}}},
	}
	got := map[string]string{}
	specs := []v1alpha1.EndpointSpec{
		{TLS: &v1alpha1.TLS{
			ClientCertificate: &v1alpha1.ClientCertificate{SecretRef: v1alpha1.SecretReference{Name: "certificate"}},
		}},
		{Proxy: &v1alpha1.Proxy{Basic: &v1alpha1.BasicAuth{UsernameRef: &user, PasswordRef: ref("proxy")}}},
	}
	token := ref("vault")
	specs = append(specs, v1alpha1.EndpointSpec{Vault: &v1alpha1.Vault{TokenRef: &token}})
	for _, auth := range auths {
		specs = append(specs, v1alpha1.EndpointSpec{Auth: auth})
	}
	for _, spec := range specs {
		_, uses := materialOf(spec)
		for _, use := range uses {
			got[use.field] = use.ref.Name
		}
	}
	want := map[string]string{
		"spec.auth.bearer.tokenRef": "token", "spec.auth.basic.usernameRef": "user", "spec.auth.basic.passwordRef": "password",
		"spec.auth.headers[0].valueRef": "header", "spec.auth.apiKey.valueRef": "key",
		"spec.auth.oauth2.clientIDRef": "user", "spec.auth.oauth2.clientSecretRef": "client",
		"spec.tls.clientCertificate.secretRef":       "certificate",
		"spec.auth.session.login.fields[0].valueRef": "field",
		"spec.proxy.basic.usernameRef":               "user", "spec.proxy.basic.passwordRef": "proxy",
		"spec.vault.tokenRef": "vault",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resolved references (-want +got):\n%s", diff)
	}
	for _, field := range fieldsWithSecrets(reflect.TypeFor[v1alpha1.ClusterEndpointSpec](), "spec") {
		field = strings.ReplaceAll(field, "..", ".") // of the inline struct
		if _, ok := got[field]; !ok {
			t.Errorf("%s of the API is not resolved", field)
		}
	}
}

func TestCredentialIsFilledFromItsReferences(t *testing.T) {
	t.Parallel()
	ref := func(name string) v1alpha1.SecretKeyReference {
		return v1alpha1.SecretKeyReference{Name: name, Key: "k"}
	}
	user, literal := ref("user"), "<1>"
	cases := map[string]struct {
		auth *v1alpha1.Auth
		show func(*httpapi.Credential) string
		want string
	}{
		"session": {
			&v1alpha1.Auth{Session: &v1alpha1.SessionAuth{
				Login: v1alpha1.SessionLogin{
					Method: v1alpha1.SessionPut, Path: "/l", Encoding: v1alpha1.SessionForm,
					Fields: []v1alpha1.SessionField{{Name: "a", Value: &literal}, {Name: "b", ValueRef: &user}},
				},
				Token: v1alpha1.SessionToken{
					From: v1alpha1.SessionSource{Body: "t"}, Header: &v1alpha1.SessionHeader{Name: "X", Prefix: "p "}, Cookie: "k",
				},
				CSRF:          &v1alpha1.SessionCSRF{From: v1alpha1.SessionSource{Cookie: "c"}, Header: "H"},
				ExpiredStatus: []int32{401, 419}, TTL: &metav1.Duration{Duration: time.Minute},
			}},
			func(c *httpapi.Credential) string {
				s := c.Session
				return fmt.Sprint(s.Method, s.Path, s.Form, s.Fields[0].Literal, s.Fields[0].Hidden, s.Fields[1].Secret.Reveal(), s.Fields[1].Hidden,
					s.Token, *s.Header, s.Cookie, *s.CSRF, s.ExpiredStatus, s.TTL)
			}, "PUT/ltrue<1>false<user>true {t  } {X p }k{{  c} H} [401 419] 1m0s",
		},
		"oauth2": {
			&v1alpha1.Auth{OAuth2: &v1alpha1.OAuth2Auth{
				TokenURL: "https://h/t", ClientIDRef: &user, ClientSecretRef: ref("client"), Scopes: []string{"a"}, Audience: "b",
				EndpointParams: []v1alpha1.NamedValue{{Name: "c", Value: "d"}}, AuthStyle: v1alpha1.OAuth2StyleInParams,
			}},
			func(c *httpapi.Credential) string {
				o := c.OAuth2
				return fmt.Sprint(o.TokenURL, o.ClientIDSecret.Reveal(), o.ClientSecret.Reveal(), o.Scopes, o.Audience, o.Parameters, o.Style)
			}, "https://h/t<user><client>[a]b[{c d}]InParams",
		},
		"none": {nil, func(c *httpapi.Credential) string { return strings.Repeat("x", len(c.Headers)) }, ""},
		"bearer": {
			&v1alpha1.Auth{Bearer: &v1alpha1.BearerAuth{TokenRef: ref("token")}},
			func(c *httpapi.Credential) string { return c.Bearer.Token.Reveal() }, "<token>",
		},
		"basic with a literal user": {
			&v1alpha1.Auth{Basic: &v1alpha1.BasicAuth{Username: "me", PasswordRef: ref("password")}},
			func(c *httpapi.Credential) string { return c.Basic.Username.Reveal() + ":" + c.Basic.Password.Reveal() }, "me:<password>",
		},
		"basic with a user from a Secret": {
			&v1alpha1.Auth{Basic: &v1alpha1.BasicAuth{UsernameRef: &user, PasswordRef: ref("password")}},
			func(c *httpapi.Credential) string { return c.Basic.Username.Reveal() + ":" + c.Basic.Password.Reveal() }, "<user>:<password>",
		},
		"headers, each with its own": {
			&v1alpha1.Auth{Headers: []v1alpha1.SecretHeader{
				{Name: "X-A", Prefix: "token ", ValueRef: ref("a")}, {Name: "X-B", ValueRef: ref("b")},
			}},
			func(c *httpapi.Credential) string {
				var all strings.Builder
				for _, h := range c.Headers {
					all.WriteString(h.Name + "=" + h.Prefix + h.Value.Reveal() + ";")
				}
				return all.String()
			}, "X-A=token <a>;X-B=<b>;",
		},
		"a key in the query": {
			&v1alpha1.Auth{APIKey: &v1alpha1.APIKeyAuth{In: v1alpha1.APIKeyInQuery, Name: "key", ValueRef: ref("key")}},
			func(c *httpapi.Credential) string {
				return string(c.APIKey.In) + " " + c.APIKey.Name + "=" + c.APIKey.Value.Reveal()
			}, "Query key=<key>",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			credential, uses := credentialOf(tc.auth)
			for _, use := range uses {
				use.put(httpapi.NewSecret("<" + use.ref.Name + ">"))
			}
			if got := tc.show(credential); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestIdentityIsOfTheServerNotOfTheSpelling(t *testing.T) {
	t.Parallel()
	base := mustIdentity(t, "https://api.example.com/v1")
	if len(base) != 2*identityBytes {
		t.Errorf("identity %q", base)
	}
	for name, url := range map[string]string{
		"case of the host":   "https://API.Example.com/v1",
		"case of the scheme": "HTTPS://api.example.com/v1",
		"default port":       "https://api.example.com:443/v1",
		"slash at the end":   "https://api.example.com/v1/",
		"dot of the root":    "https://api.example.com./v1",
	} {
		if got := mustIdentity(t, url); got != base {
			t.Errorf("%s makes another server", name)
		}
	}
	for name, url := range map[string]string{
		"another scheme":       "http://api.example.com/v1",
		"another port":         "https://api.example.com:8443/v1",
		"another host":         "https://api.example.org/v1",
		"another path":         "https://api.example.com/v2",
		"case of the path":     "https://api.example.com/V1",
		"no path":              "https://api.example.com",
		"an escaped slash":     "https://api.example.com%2Fv1",
		"another deeper path":  "https://api.example.com/v1/x",
		"http on port of tls":  "http://api.example.com:443/v1",
		"path in another form": "https://api.example.com/v1%2F",
	} {
		if got, err := identityOf(url); err == nil && got == base {
			t.Errorf("%s makes no other server", name)
		}
	}
	if _, err := identityOf("http://a b"); err == nil {
		t.Error("what is no URL has an identity")
	}
}

func mustIdentity(t *testing.T, url string) string {
	t.Helper()
	identity, err := identityOf(url)
	if err != nil {
		t.Fatal(err)
	}
	return identity
}
