package secrets

import (
	"context"
	"errors"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/api/v1alpha1"
)

// secretCopy is the data of a Secret as fetched once. It is good as long as the watch says either what it said when
// the data was fetched (the watch may lag behind), or what the data itself is.
type secretCopy struct {
	seen    string
	version string
	data    map[string][]byte
}

func (c secretCopy) good(version string) bool { return version == c.seen || version == c.version }

// data gives the whole data of a Secret that the watch saw in this version; "" means that it did not see it.
func (r *Resolver) data(ctx context.Context, name types.NamespacedName, version string) (map[string][]byte, error) {
	if version == "" {
		return r.unseen(ctx, name)
	}
	if kept, ok := r.kept(name, version); ok {
		return kept, nil
	}
	// The version is part of the key: who knows of a newer one must not join a fetch that began before it.
	return r.flight(ctx, name, version, func(ctx context.Context) (map[string][]byte, error) {
		secret, err := r.fetch(ctx, name)
		if err != nil {
			return nil, err
		}
		r.keep(name, version, secret)
		return secret.Data, nil
	})
}

// unseen answers for a Secret that the watch does not show: it is missing, closed, or so new that the watch lags.
func (r *Resolver) unseen(ctx context.Context, name types.NamespacedName) (map[string][]byte, error) {
	if denial, ok := r.denials.Get(name); ok {
		if err, isError := denial.(error); isError {
			return nil, err
		}
	}
	return r.flight(ctx, name, "", func(ctx context.Context) (map[string][]byte, error) {
		err := r.checkLive(ctx, name)
		if err == nil {
			secret, fetchErr := r.fetch(ctx, name)
			if fetchErr != nil {
				return nil, fetchErr
			}
			return secret.Data, nil
		}
		if unavailable := (*UnavailableError)(nil); !errors.As(err, &unavailable) {
			r.denials.Add(name, err, denialTTL)
		}
		return nil, err
	})
}

// checkLive looks at the metadata alone, so that the data of a closed Secret never reaches the operator.
func (r *Resolver) checkLive(ctx context.Context, name types.NamespacedName) error {
	secrets := r.metadata.Resource(corev1.SchemeGroupVersion.WithResource("secrets"))
	meta, err := secrets.Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if err != nil {
		return readError(name, err)
	}
	return checkLabel(name, meta.Labels)
}

func (r *Resolver) fetch(ctx context.Context, name types.NamespacedName) (*corev1.Secret, error) {
	secret, err := r.secrets.Secrets(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if err != nil {
		return nil, readError(name, err)
	}
	// The label may have gone since the watch saw it.
	if err := checkLabel(name, secret.Labels); err != nil {
		return nil, err
	}
	return secret, nil
}

func (r *Resolver) flight(
	ctx context.Context, name types.NamespacedName, version string, work func(context.Context) (map[string][]byte, error),
) (map[string][]byte, error) {
	data, err := r.fetches.Do(ctx, name.String()+"@"+version, readLimit, work)
	if err == nil {
		return data, nil
	}
	if known(err) {
		return nil, err
	}
	return nil, &UnavailableError{Doing: "get Secret " + name.String(), Err: err}
}

func (r *Resolver) kept(name types.NamespacedName, version string) (map[string][]byte, bool) {
	item, ok := r.copies.Get(name)
	if !ok {
		return nil, false
	}
	kept, ok := item.(secretCopy)
	return kept.data, ok && kept.good(version)
}

// keep stores a copy unless the watch has moved on. The check and the store are one step under the mutex that changed
// takes too, so that a Secret that goes meanwhile leaves no copy behind.
func (r *Resolver) keep(name types.NamespacedName, seen string, secret *corev1.Secret) {
	fresh := secretCopy{seen: seen, version: versionOf(&secret.ObjectMeta), data: secret.Data}
	watch, err := r.watchFor(name.Namespace)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if fresh.good(version(watch, name)) {
		r.copies.Add(name, fresh)
	}
}

// changed runs for every event of a watch: it forgets what is gone or outdated and tells the listeners.
func (r *Resolver) changed(name types.NamespacedName) {
	r.mu.Lock()
	if watch, err := r.watchFor(name.Namespace); err == nil {
		if item, ok := r.copies.Get(name); ok {
			if kept, isCopy := item.(secretCopy); !isCopy || !kept.good(version(watch, name)) {
				r.copies.Remove(name)
			}
		}
	}
	listeners := slices.Collect(maps.Values(r.listeners))
	r.mu.Unlock()
	for _, listener := range listeners {
		listener(name.Namespace, name.Name)
	}
}

func checkLabel(name types.NamespacedName, labels map[string]string) error {
	if labels[v1alpha1.AllowReadLabel] != "true" {
		return &NotAllowedError{Namespace: name.Namespace, Name: name.Name}
	}
	return nil
}

func readError(name types.NamespacedName, err error) error {
	if apierrors.IsNotFound(err) {
		return &NotFoundError{Namespace: name.Namespace, Name: name.Name}
	}
	return &UnavailableError{Doing: "get Secret " + name.String(), Err: err}
}

// known reports whether an error is already one of this package's.
func known(err error) bool {
	var (
		notFound    *NotFoundError
		notAllowed  *NotAllowedError
		unavailable *UnavailableError
	)
	return errors.As(err, &notFound) || errors.As(err, &notAllowed) || errors.As(err, &unavailable)
}
