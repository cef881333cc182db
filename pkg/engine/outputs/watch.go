package outputs

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/labelled"
)

// newWatch watches what the operator wrote, of one kind, in one namespace or in all.
func newWatch(client metadata.Interface, at place, changed func(string, metav1.OwnerReference)) (*labelled.Watch, error) {
	cfg := labelled.Config{Client: client, Resource: "secrets", Namespace: at.namespace, Label: v1alpha1.OutputLabel, Keep: keep}
	if at.kind == v1alpha1.OutputConfigMap {
		cfg.Resource = "configmaps"
	}
	if changed != nil {
		cfg.Handler = handler(changed)
	}
	return labelled.New(cfg)
}

// keep keeps whose it is, and the note that each of our writes changes.
func keep(from metav1.ObjectMeta, kept *metav1.ObjectMeta) {
	if owner := metav1.GetControllerOfNoCopy(&from); owner != nil {
		kept.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	if note, ok := from.Annotations[v1alpha1.OutputAnnotation]; ok {
		kept.Annotations = map[string]string{v1alpha1.OutputAnnotation: note}
	}
}

// handler tells of what somebody else did. Each of our own writes changes the annotation, and none deletes.
func handler(changed func(string, metav1.OwnerReference)) cache.ResourceEventHandler {
	tell := func(item any) {
		meta := labelled.Metadata(item)
		if meta == nil {
			return
		}
		if owner := metav1.GetControllerOfNoCopy(meta); owner != nil {
			changed(meta.Namespace, *owner)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			was, is := labelled.Metadata(before), labelled.Metadata(after)
			if was == nil || is == nil || was.ResourceVersion == is.ResourceVersion {
				return
			}
			if note(was) == note(is) {
				tell(before)
			}
		},
		DeleteFunc: tell,
	}
}

func note(meta *metav1.PartialObjectMetadata) string {
	return meta.Annotations[v1alpha1.OutputAnnotation]
}
