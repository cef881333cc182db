package httpapi

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/restmapping/operator/pkg/rest"
)

// AuthStyle says how the client shows its secret to the token endpoint (RFC 6749, section 2.3.1).
type AuthStyle string

// The styles of client authentication. Auto tries the header and then the parameters, and keeps what worked.
const (
	StyleAuto     AuthStyle = "Auto"
	StyleInHeader AuthStyle = "InHeader"
	StyleInParams AuthStyle = "InParams"
)

// OAuth2 gets tokens by client credentials (RFC 6749, section 4.4) and sends them as the token endpoint says, which is
// nearly always "Authorization: Bearer".
type OAuth2 struct {
	// TokenURL may be at another origin than the endpoint.
	TokenURL string
	// ClientID is not hidden; ClientIDSecret is. Exactly one is set.
	ClientID       string
	ClientIDSecret Secret
	ClientSecret   Secret
	Scopes         []string
	Audience       string
	Parameters     []rest.Parameter
	Style          AuthStyle
}

func (o OAuth2) id() string {
	if o.ClientID != "" {
		return o.ClientID
	}
	return o.ClientIDSecret.Reveal()
}

func (o OAuth2) validate() error {
	wrong := func(field, message string) error {
		return &ConfigError{Field: "credential.oauth2" + field, Message: message}
	}
	u, err := url.Parse(o.TokenURL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return wrong(".tokenURL", "is not a URL such as https://login.example.com/oauth2/token")
	case u.User != nil || u.Fragment != "":
		return wrong(".tokenURL", "must not hold a user, a password or a fragment")
	case o.id() == "":
		return wrong(".clientID", "the client ID is empty: put a value there, or under the key of clientIDRef")
	case o.ClientSecret.Empty():
		return wrong(".clientSecretRef", "the secret is empty: put a value under the key it names")
	case !slices.Contains([]AuthStyle{"", StyleAuto, StyleInHeader, StyleInParams}, o.Style):
		return wrong(".authStyle", "must be Auto, InHeader or InParams")
	}
	for i, scope := range o.Scopes {
		if scope == "" || strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r == '"' || r == '\\' || r >= 0x7f }) {
			return wrong(fmt.Sprintf(".scopes[%d]", i), "is not one scope (RFC 6749, section 3.3): give each its own item")
		}
	}
	for i, p := range o.Parameters {
		if reserved := []string{"client_id", "client_secret", "grant_type", "scope"}; p.Name == "" || slices.Contains(reserved, p.Name) || p.Name == "audience" && o.Audience != "" {
			return wrong(fmt.Sprintf(".endpointParams[%d]", i), "has a name that another field sets, or none")
		}
	}
	return nil
}

// secrets are what stands in a request for a token, in every form that is sent.
func (o OAuth2) secrets() []Secret {
	escaped := url.QueryEscape(o.ClientSecret.Reveal())
	pair := base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(o.id()) + ":" + escaped))
	return []Secret{NewSecret(pair), NewSecret(escaped), o.ClientSecret, o.ClientIDSecret}
}

func (o OAuth2) config() *clientcredentials.Config {
	parameters := url.Values{}
	for _, p := range o.Parameters {
		parameters.Add(p.Name, p.Value)
	}
	if o.Audience != "" {
		parameters.Set("audience", o.Audience)
	}
	styles := map[AuthStyle]oauth2.AuthStyle{StyleInHeader: oauth2.AuthStyleInHeader, StyleInParams: oauth2.AuthStyleInParams}
	return &clientcredentials.Config{
		ClientID: o.id(), ClientSecret: o.ClientSecret.Reveal(), TokenURL: o.TokenURL, Scopes: o.Scopes,
		EndpointParams: parameters, AuthStyle: styles[o.Style],
	}
}

// oauth2Login is the login of a client with OAuth2.
type oauth2Login struct {
	server loginServer
	sender http.RoundTripper
	// token is a function of the library's configuration, which holds the secret in plain text.
	token func(context.Context) (*oauth2.Token, error)
}

func newOAuth2Login(c *Client, o OAuth2, limit time.Duration) *oauth2Login {
	config := o.config()
	host := "nowhere"
	if u, err := url.Parse(o.TokenURL); err == nil {
		host = u.Host
	}
	return &oauth2Login{
		server: loginServer{
			client: c, name: "the OAuth2 token endpoint at " + host, field: "auth.oauth2.tokenURL", hidden: o.secrets(), limit: limit,
		},
		sender: c.tokenSender,
		// The one configuration is used for good, because it remembers which style the server takes.
		token: config.Token,
	}
}

func (*oauth2Login) refuses(status int) bool { return status == http.StatusUnauthorized }

func (l *oauth2Login) gaveUp(ctx context.Context) error { return l.server.silent(ctx, ctx.Err()) }

func (l *oauth2Login) fetch(ctx context.Context) (*grant, error) {
	client := l.server.client
	seen := &tokenTransport{inner: l.sender, client: client}
	started := client.now()
	token, err := l.token(context.WithValue(ctx, oauth2.HTTPClient, &http.Client{
		Transport:     seen,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}))
	if err != nil {
		return nil, l.explain(ctx, err, seen)
	}
	made := &grant{
		headers: []SecretHeader{{Name: "Authorization", Prefix: token.Type() + " ", Value: NewSecret(token.AccessToken)}},
		fetched: started,
	}
	made.until(token.Expiry)
	if problem := made.problem(); problem != "" {
		return nil, l.server.answered(*seen.answer, "", "it gave "+problem+": is auth.oauth2.tokenURL right?")
	}
	return made, nil
}

func (l *oauth2Login) explain(ctx context.Context, err error, seen *tokenTransport) error {
	if seen.err != nil || seen.answer == nil || ctx.Err() != nil {
		return l.server.silent(ctx, errors.Join(seen.err, err))
	}
	code, said := "", ""
	if refusal := (*oauth2.RetrieveError)(nil); errors.As(err, &refusal) && refusal.ErrorCode != "" {
		code, said = refusal.ErrorCode, strings.TrimSuffix(refusal.ErrorCode+": "+refusal.ErrorDescription, ": ")
	}
	remedy := seen.answer.remedy(l.server.field)
	switch {
	case remedy != "":
	case code == "invalid_scope": // RFC 6749, section 5.2
		remedy = "check auth.oauth2.scopes"
	case seen.answer.refused() || code != "":
		remedy = "check the client ID and the secret of auth.oauth2, and what that client may do"
	default:
		remedy = "it gave no access_token: is auth.oauth2.tokenURL the token endpoint?"
	}
	return l.server.answered(*seen.answer, said, remedy)
}

// tokenTransport keeps of the last answer what the library does not tell.
type tokenTransport struct {
	inner  http.RoundTripper
	client *Client
	answer *loginAnswer
	err    error
}

// RoundTrip implements http.RoundTripper.
func (t *tokenTransport) RoundTrip(out *http.Request) (*http.Response, error) {
	ctx := out.Context()
	out = out.Clone(ctx)
	out.Header.Set("User-Agent", t.client.userAgent)
	out.Header.Set("Accept", defaultAccept)
	span := t.client.begin(ctx, out, call{operation: tokenOperation, route: out.URL.Path, foreign: true})
	answer, err := t.inner.RoundTrip(out)
	t.answer, t.err = nil, err
	if err != nil {
		span.close(0, noAnswer)
	} else {
		span.close(answer.StatusCode, "")
	}
	if err == nil {
		facts := t.client.loginAnswer(answer)
		t.answer = &facts
	}
	return answer, err
}
