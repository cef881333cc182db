package secrets

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/labelled"
)

// newWatch watches the labelled Secrets of one namespace, or of all.
func newWatch(client metadata.Interface, namespace string, onChange func(types.NamespacedName)) (*labelled.Watch, error) {
	return labelled.New(labelled.Config{
		Client: client, Resource: "secrets", Namespace: namespace, Label: v1alpha1.AllowReadLabel, Handler: handler(onChange),
	})
}

// version is the identity of what the watch last saw of a Secret, "" when there is no labelled Secret of that name.
func version(watch *labelled.Watch, name types.NamespacedName) string {
	meta := watch.Get(name)
	if meta == nil {
		return ""
	}
	return versionOf(&meta.ObjectMeta)
}

func versionOf(meta *metav1.ObjectMeta) string {
	return string(meta.UID) + "/" + meta.ResourceVersion
}

func handler(onChange func(types.NamespacedName)) cache.ResourceEventHandler {
	tell := func(item any) {
		if meta := labelled.Metadata(item); meta != nil {
			onChange(types.NamespacedName{Namespace: meta.Namespace, Name: meta.Name})
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: tell,
		UpdateFunc: func(before, after any) {
			was, is := labelled.Metadata(before), labelled.Metadata(after)
			if was != nil && is != nil && versionOf(&was.ObjectMeta) == versionOf(&is.ObjectMeta) {
				return
			}
			tell(after)
		},
		DeleteFunc: tell,
	}
}
