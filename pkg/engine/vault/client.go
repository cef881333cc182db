package vault

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/vault/api"

	"github.com/restmapping/operator/pkg/httpapi"
)

const (
	// maxAnswer is the longest answer that is read.
	maxAnswer = 4 << 20
	// requestLimit bounds one request.
	requestLimit = 10 * time.Second
	// loginAhead is the part of a login's life that is not used.
	loginAhead = 10
)

// Config says which Vault, and as whom. Exactly one of Token and Login is set.
type Config struct {
	Address string
	// Namespace is one of Vault's own, empty for none.
	Namespace string
	// Mount is where the KV engine is mounted.
	Mount string
	// Transport carries the requests.
	Transport http.RoundTripper
	Token     httpapi.Secret
	Login     *KubernetesLogin
	Now       func() time.Time
}

// KubernetesLogin shows Vault a token of a ServiceAccount.
type KubernetesLogin struct {
	// Mount is where the auth method is mounted.
	Mount, Role string
	// JWT makes a token.
	JWT func(ctx context.Context) (httpapi.Token, error)
}

// Client reads from one Vault. It is safe for concurrent use; a login is kept until shortly before its end.
type Client struct {
	cfg Config

	mu    sync.Mutex
	login httpapi.Secret
	until time.Time
}

// New makes a client. Nothing is sent before Read.
func New(cfg Config) (*Client, error) {
	c := &Client{cfg: cfg}
	_, err := c.as(httpapi.NewSecret(""))
	return c, err
}

// Read gives the newest version of a secret. Errors: *NotFoundError, *DeniedError, *UnavailableError, and those of
// KubernetesLogin.JWT.
func (c *Client) Read(ctx context.Context, path string) (map[string]httpapi.Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	token, err := c.token(ctx)
	if err != nil {
		return nil, err
	}
	data, err := c.get(ctx, token, path)
	if denied := (*DeniedError)(nil); errors.As(err, &denied) && c.cfg.Login != nil {
		// The login may have been revoked before its time: one more try with a fresh one.
		c.forget(token)
		if token, err = c.token(ctx); err != nil {
			return nil, err
		}
		data, err = c.get(ctx, token, path)
	}
	return data, err
}

func (c *Client) get(ctx context.Context, token httpapi.Secret, path string) (map[string]httpapi.Secret, error) {
	authorized, err := c.as(token)
	if err != nil {
		return nil, err
	}
	secret, err := authorized.KVv2(c.cfg.Mount).Get(ctx, path)
	if errors.Is(err, api.ErrSecretNotFound) || err == nil && secret.Data == nil {
		return nil, &NotFoundError{Address: c.cfg.Address, Mount: c.cfg.Mount, Path: path}
	}
	if err != nil {
		return nil, c.explain(err, "read "+c.cfg.Mount+"/"+path, token)
	}
	values := make(map[string]httpapi.Secret, len(secret.Data))
	for key, value := range secret.Data {
		if text, ok := textOf(value); ok {
			values[key] = httpapi.NewSecret(text)
		}
	}
	return values, nil
}

// textOf takes what a header can carry as it stands: a text or a number.
func textOf(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	default:
		return "", false
	}
}

// as makes the library's client with a token. What the library takes from the operator's environment is set aside, since
// that must not decide as whom an endpoint speaks.
func (c *Client) as(token httpapi.Secret) (*api.Client, error) {
	inner, err := api.NewClient(&api.Config{
		Address: c.cfg.Address, Timeout: requestLimit, MaxRetries: 0, DisableRedirects: true,
		HttpClient: &http.Client{Transport: guarded{c.cfg.Transport}},
	})
	if err != nil {
		return nil, errors.New("no client of Vault can be made for that address")
	}
	inner.SetHeaders(http.Header{api.RequestHeaderName: {"true"}})
	inner.SetToken(token.Reveal())
	if c.cfg.Namespace != "" {
		inner.SetNamespace(c.cfg.Namespace)
	}
	return inner, nil
}

// token gives that of the configuration, or of a login.
func (c *Client) token(ctx context.Context) (httpapi.Secret, error) {
	if c.cfg.Login == nil {
		return c.cfg.Token, nil
	}
	c.mu.Lock()
	kept, good := c.login, c.cfg.Now().Before(c.until)
	c.mu.Unlock()
	if good {
		return kept, nil
	}
	return c.logIn(ctx)
}

func (c *Client) logIn(ctx context.Context) (httpapi.Secret, error) {
	login := c.cfg.Login
	jwt, err := login.JWT(ctx)
	if err != nil {
		return httpapi.Secret{}, err
	}
	nobody, err := c.as(httpapi.NewSecret(""))
	if err != nil {
		return httpapi.Secret{}, err
	}
	started := c.cfg.Now()
	path := "auth/" + login.Mount + "/login"
	answer, err := nobody.Logical().WriteWithContext(ctx, path, map[string]any{"role": login.Role, "jwt": jwt.Value.Reveal()})
	if err != nil {
		return httpapi.Secret{}, c.explain(err, "log in at "+path, jwt.Value)
	}
	if answer == nil || answer.Auth == nil || answer.Auth.ClientToken == "" {
		return httpapi.Secret{}, &UnavailableError{Address: c.cfg.Address, Doing: "log in at " + path, Message: "it gave no token: is that a Kubernetes auth method?"}
	}
	made, life := httpapi.NewSecret(answer.Auth.ClientToken), time.Duration(answer.Auth.LeaseDuration)*time.Second
	c.mu.Lock()
	defer c.mu.Unlock()
	c.login, c.until = made, started.Add(life-life/loginAhead)
	return made, nil
}

// forget drops a login, unless there is another one already.
func (c *Client) forget(token httpapi.Secret) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.login.Equal(token) {
		c.until = time.Time{}
	}
}

// explain turns the library's error into ours. Its text is not used: it holds whatever stood in the answer.
func (c *Client) explain(err error, doing string, sent httpapi.Secret) error {
	answer := (*api.ResponseError)(nil)
	if !errors.As(err, &answer) {
		return &UnavailableError{Address: c.cfg.Address, Doing: doing, Message: silent(err), Err: err}
	}
	words := said(answer, sent)
	switch answer.StatusCode {
	case http.StatusForbidden, http.StatusBadRequest, http.StatusUnauthorized:
		return &DeniedError{Address: c.cfg.Address, Doing: doing, Status: answer.StatusCode, Said: words}
	case http.StatusNotFound:
		return &DeniedError{Address: c.cfg.Address, Doing: doing, Status: answer.StatusCode, Said: "is that engine mounted there?"}
	default:
		return &UnavailableError{Address: c.cfg.Address, Doing: doing, Status: answer.StatusCode, Message: words}
	}
}

// said is what Vault says, without what it was sent, and not endless.
func said(answer *api.ResponseError, sent httpapi.Secret) string {
	if answer.RawError {
		return "an answer that is not Vault's"
	}
	const most = 256
	words := strings.Join(strings.Fields(strings.Join(answer.Errors, "; ")), " ")
	if !sent.Empty() {
		words = strings.ReplaceAll(words, sent.Reveal(), "[redacted]")
	}
	if len(words) > most {
		words = strings.ToValidUTF8(words[:most], "") + "..."
	}
	return words
}

// errRedirect is for an answer that leads elsewhere. Neither the library nor net/http must follow it: both would take the
// token along.
var errRedirect = errors.New("redirected")

// guarded cuts what is read of an answer, and takes no redirect.
type guarded struct{ inner http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := g.inner.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= http.StatusMultipleChoices && answer.StatusCode < http.StatusBadRequest {
		_ = answer.Body.Close() // nothing is wanted of it
		return nil, errRedirect
	}
	answer.Body = body{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	return answer, nil
}

type body struct {
	io.Reader
	io.Closer
}
