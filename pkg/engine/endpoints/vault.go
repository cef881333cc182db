package endpoints

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/vault"
	"github.com/restmapping/operator/pkg/httpapi"
)

const (
	// vaultInterval is that of the CRD's default.
	vaultInterval = 5 * time.Minute
	// vaultRest is the shortest time between two reads: after one that failed, and after a refused credential.
	vaultRest = 10 * time.Second
)

// vaulted is what a connection knows of the Vault that its values are from. Nothing runs on its own: whoever needs the
// endpoint when it is time reads again, and the others go on with what there is.
type vaulted struct {
	client   *vault.Client
	interval time.Duration
	// digest tells whether the values are others than before.
	digest string

	mu      sync.Mutex
	reading bool
	read    time.Time
	due     time.Time
	failure error
}

// take tells whether it is time to read again, and whether the caller is the one to do it.
func (v *vaulted) take(now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.reading || now.Before(v.due) {
		return false
	}
	v.reading = true
	return true
}

// done notes how a read ended.
func (v *vaulted) done(now time.Time, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.reading, v.failure = false, err
	if err != nil {
		v.due = now.Add(min(vaultRest, v.interval))
		return
	}
	v.read, v.due = now, now.Add(v.interval)
}

// hurry has the values read again soon: a server refused them.
func (v *vaulted) hurry() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if soon := v.read.Add(vaultRest); soon.Before(v.due) {
		v.due = soon
	}
}

// problem is why the values may be old, nil when they are not.
func (v *vaulted) problem() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.failure == nil {
		return nil
	}
	return fmt.Errorf("%w (what was read at %s is used on)", v.failure, v.read.UTC().Format(time.RFC3339))
}

// fromVault gives the references that lead to Vault.
func fromVault(uses []secretUse) []secretUse {
	return slices.DeleteFunc(slices.Clone(uses), func(use secretUse) bool { return use.ref.Vault == nil })
}

// readVault fills in what is in Vault, and gives the state for the next time; nil when nothing is there.
func (r *Registry) readVault(ctx context.Context, d definition, uses []secretUse, token httpapi.Secret, known *vault.Client) (*vaulted, error) {
	if len(uses) == 0 {
		return nil, nil //nolint:nilnil // nothing is in Vault
	}
	settings := d.spec.Vault
	if settings == nil {
		return nil, &InvalidEndpointError{Endpoint: d.ref, Field: uses[0].field + ".vault", Message: "it needs spec.vault, which says where Vault is"}
	}
	client := known
	if client == nil {
		var err error
		if client, err = r.vaultClient(d, *settings, token); err != nil {
			return nil, err
		}
	}
	secrets, sum := map[string]map[string]httpapi.Secret{}, sha256.New()
	for _, use := range uses {
		path, key := use.ref.Vault.Path, use.ref.Vault.Key
		if secrets[path] == nil {
			data, err := client.Read(ctx, path)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", d.ref, use.field, err)
			}
			secrets[path] = data
		}
		value, ok := secrets[path][key]
		if !ok {
			missing := &vault.NotFoundError{Address: settings.Address, Mount: mountOf(*settings), Path: path, Key: key}
			return nil, fmt.Errorf("%s: %s: %w", d.ref, use.field, missing)
		}
		use.put(value)
		_, _ = fmt.Fprintf(sum, "%d %s", len(value.Reveal()), value.Reveal()) // a hash takes everything
	}
	interval := cmp.Or(settings.RefreshInterval.Duration, vaultInterval)
	state := &vaulted{client: client, interval: interval, digest: hex.EncodeToString(sum.Sum(nil))}
	state.done(r.clock.Now(), nil)
	return state, nil
}

func mountOf(settings v1alpha1.Vault) string { return cmp.Or(settings.Mount, "secret") }

// vaultClient shows the identity of the endpoint, never the operator's own: what a namespace may read in Vault is what
// its own token or ServiceAccount may.
func (r *Registry) vaultClient(d definition, settings v1alpha1.Vault, token httpapi.Secret) (*vault.Client, error) {
	addresses, err := r.addressesOf(d)
	if err != nil {
		return nil, err
	}
	config := httpapi.Config{
		BaseURL: settings.Address, TLS: httpapi.TLSConfig{CABundle: []byte(settings.CABundle)}, Addresses: addresses,
	}
	if d.spec.Proxy != nil && d.spec.Proxy.Basic == nil {
		config.Proxy = &httpapi.Proxy{URL: d.spec.Proxy.URL}
	}
	transport, err := httpapi.NewTransport(config)
	if err != nil {
		return nil, &InvalidEndpointError{Endpoint: d.ref, Field: "spec.vault", Message: err.Error(), Err: err}
	}
	wanted := vault.Config{
		Address: settings.Address, Namespace: settings.Namespace, Mount: mountOf(settings),
		Transport: transport, Token: token, Now: r.clock.Now,
	}
	if login := settings.Kubernetes; login != nil {
		source := r.tokenSource(d.ref, "spec.vault.kubernetes.serviceAccountToken", login.ServiceAccountToken)
		wanted.Login = &vault.KubernetesLogin{Mount: cmp.Or(login.Mount, "kubernetes"), Role: login.Role, JWT: source.Fetch}
	}
	client, err := vault.New(wanted)
	if err != nil {
		return nil, &InvalidEndpointError{Endpoint: d.ref, Field: "spec.vault.address", Message: err.Error(), Err: err}
	}
	return client, nil
}

// upToDate gives the connection with what is in Vault now, if it is time to look. While Vault does not answer, what was
// read before serves on: that Vault is down does not stop a server that is up.
func (r *Registry) upToDate(ctx context.Context, d definition, shared *connection) *connection {
	state := shared.vaulted
	if state == nil || !state.take(r.clock.Now()) {
		return shared
	}
	made, err := r.readAgain(ctx, d, shared)
	if ctx.Err() != nil {
		err = state.problem() // the caller went away, which says nothing
	}
	state.done(r.clock.Now(), err)
	if made == nil || r.install(d, made) != nil {
		return shared
	}
	return made
}

// readAgain gives a connection with the new values, nil when they are what they were.
func (r *Registry) readAgain(ctx context.Context, d definition, shared *connection) (*connection, error) {
	ctx, cancel := context.WithTimeout(ctx, buildLimit)
	defer cancel()
	secret, err := r.readMaterial(ctx, d, shared.vaulted.client)
	if err != nil || secret.vaulted == nil || secret.vaulted.digest == shared.vaulted.digest {
		return nil, err
	}
	return r.build(d, shared.stamp, secret)
}

// heldBack is a build that failed for the want of Vault. Many custom resources ask for one endpoint.
type heldBack struct {
	stamp string
	until time.Time
	err   error
}

func (r *Registry) held(ref Ref, stamp string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.entries[ref]; e != nil && e.held.stamp == stamp && r.clock.Now().Before(e.held.until) {
		return e.held.err
	}
	return nil
}

func (r *Registry) hold(ref Ref, stamp string, err error) {
	if vaultReason(err) == "" && tokenReason(err) == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.entries[ref]; e != nil {
		e.held = heldBack{stamp: stamp, until: r.clock.Now().Add(vaultRest / 2), err: err}
	}
}

func vaultReason(err error) string {
	var (
		missing     *vault.NotFoundError
		denied      *vault.DeniedError
		unavailable *vault.UnavailableError
	)
	switch {
	case errors.As(err, &missing):
		return v1alpha1.ReasonSecretNotFound
	case errors.As(err, &denied):
		return v1alpha1.ReasonVaultDenied
	case errors.As(err, &unavailable):
		return v1alpha1.ReasonVaultUnavailable
	default:
		return ""
	}
}
