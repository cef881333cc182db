package operator

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/keys"
	"github.com/restmapping/operator/pkg/lifecycle"
)

// pageSize bounds one answer of the search.
const pageSize = 500

// records looks for what earlier processes have written down on custom resources of mapped kinds. It reads live, page by
// page: it is only asked when there is no key.
type records struct {
	mappings   client.Reader
	mapper     meta.RESTMapper
	metadata   metadata.Interface
	namespaces []string
}

// Written implements keys.Config.
func (r records) Written(ctx context.Context) (keys.Written, error) {
	var found keys.Written
	list := &v1alpha1.RestMappingList{}
	if err := r.mappings.List(ctx, list); err != nil {
		return found, fmt.Errorf("list mappings: %w", err)
	}
	for i := range list.Items {
		target := list.Items[i].Spec.Target
		kind := schema.GroupKind{Group: target.Group, Kind: target.Kind}
		err := r.ofKind(ctx, kind, target.Version, &found)
		if unseen(err) {
			// What cannot be seen now says so itself when it is: its records name the key that they were signed with.
			ctrl.Log.WithName("keys").Info("records of a kind cannot be looked through", "kind", kind.String(), "problem", err.Error())
			continue
		}
		if err != nil || found.SignedWith != "" {
			return found, err
		}
	}
	return found, nil
}

func unseen(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) || apierrors.IsForbidden(err)
}

func (r records) ofKind(ctx context.Context, kind schema.GroupKind, version string, found *keys.Written) error {
	mapping, err := r.mapper.RESTMapping(kind, version)
	if err != nil {
		return fmt.Errorf("find %s: %w", kind, err)
	}
	namespaces := r.namespaces
	if len(namespaces) == 0 || mapping.Scope.Name() == meta.RESTScopeNameRoot {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, namespace := range namespaces {
		if err := r.in(ctx, mapping.Resource, namespace, found); err != nil || found.SignedWith != "" {
			return err
		}
	}
	return nil
}

func (r records) in(ctx context.Context, gvr schema.GroupVersionResource, namespace string, found *keys.Written) error {
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := r.metadata.Resource(gvr).Namespace(namespace).List(ctx, options)
		if err != nil {
			return fmt.Errorf("list %s: %w", gvr.Resource, err)
		}
		for i := range page.Items {
			record, err := lifecycle.DecodeRecord(page.Items[i].Annotations[v1alpha1.RecordAnnotation])
			newer := (*lifecycle.NewerRecordError)(nil)
			switch {
			case errors.As(err, &newer):
				found.SignedWith = newer.Key
				return nil
			case err != nil || record == nil:
			case record.Key != "":
				found.SignedWith = record.Key
				return nil
			default:
				found.Unsigned = true
			}
		}
		if page.Continue == "" {
			return nil
		}
		options.Continue = page.Continue
	}
}
