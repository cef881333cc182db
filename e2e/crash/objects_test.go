//go:build crash

package crash_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/restmapping/operator/api/v1alpha1"
)

func (s *scene) resource(c class) dynamic.ResourceInterface {
	return shared.client.Resource(c.gvr()).Namespace(s.namespace)
}

// create makes a custom resource with the class's name before it.
func (s *scene) create(c class, name string, size int64) {
	s.t.Helper()
	if err := s.tryCreate(c, name, size, nil, nil); err != nil {
		s.t.Fatalf("create %s %s: %v", c.kind, name, err)
	}
}

func (s *scene) tryCreate(c class, name string, size int64, annotations map[string]string, finalizers []string) error {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": size}}}
	obj.SetAPIVersion(group + "/v1")
	obj.SetKind(c.kind)
	obj.SetName(name)
	obj.SetAnnotations(annotations)
	obj.SetFinalizers(finalizers)
	_, err := s.resource(c).Create(s.t.Context(), obj, metav1.CreateOptions{})
	if err == nil {
		s.want[ref{c.kind, name}] = size
		s.totals.objects++
	}
	return err
}

func (s *scene) resize(c class, name string, size int64) {
	s.t.Helper()
	if err := s.tryPatch(c, name, fmt.Sprintf(`{"spec":{"size":%d}}`, size)); err != nil {
		s.t.Fatalf("patch %s %s: %v", c.kind, name, err)
	}
	s.want[ref{c.kind, name}] = size
}

func (s *scene) tryPatch(c class, name, patch string) error {
	_, err := s.resource(c).Patch(s.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

func (s *scene) delete(c class, name string) {
	s.t.Helper()
	if err := s.resource(c).Delete(s.t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		s.t.Fatalf("delete %s %s: %v", c.kind, name, err)
	}
	delete(s.want, ref{c.kind, name})
}

// forceDelete deletes a custom resource and takes away what holds it, as an impatient person does.
func (s *scene) forceDelete(c class, name string) {
	s.t.Helper()
	s.delete(c, name)
	if err := s.tryPatch(c, name, `{"metadata":{"finalizers":null}}`); err != nil && !apierrors.IsNotFound(err) {
		s.t.Fatalf("take the finalizer of %s %s: %v", c.kind, name, err)
	}
}

func (s *scene) get(c class, name string) *unstructured.Unstructured {
	s.t.Helper()
	obj, err := s.resource(c).Get(s.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		s.t.Fatalf("get %s %s: %v", c.kind, name, err)
	}
	return obj
}

// problems compares what there is with what was asked for: each custom resource ready with exactly one object that is as
// specified, every other one gone, and nothing else outside. answer lets a person answer what the operator asks.
func (s *scene) problems(answer bool) []string {
	var problems []string
	for _, c := range classes() {
		list, err := s.resource(c).List(s.t.Context(), metav1.ListOptions{})
		if err != nil {
			return []string{err.Error()}
		}
		owners, seen := map[string]bool{}, map[string]bool{}
		for i := range list.Items {
			obj := &list.Items[i]
			owners[string(obj.GetUID())], seen[obj.GetName()] = true, true
			if answer {
				problems = append(problems, s.person.answer(s, c, obj)...)
			}
			problems = append(problems, s.judge(c, obj)...)
		}
		for name := range s.want {
			if name.kind == c.kind && !seen[name.name] {
				problems = append(problems, fmt.Sprintf("%s %s is gone", c.kind, name.name))
			}
		}
		problems = append(problems, s.strays(c, owners)...)
	}
	return problems
}

// strays are the objects outside that no custom resource owns.
func (s *scene) strays(c class, owners map[string]bool) []string {
	var problems []string
	for _, o := range s.server.Live(c.path()) {
		if uid := owner(o); !owners[uid] && !strings.HasPrefix(uid, foreign) {
			problems = append(problems, fmt.Sprintf("leak: %s of %s, whose custom resource is gone", o.Path, uid))
		}
	}
	for _, o := range s.server.members(c) {
		if uid, _, _ := strings.Cut(fmt.Sprint(o.Fields["of"]), "/"); !owners[uid] {
			problems = append(problems, fmt.Sprintf("leak: %s of %s, whose custom resource is gone", o.Path, uid))
		}
	}
	return problems
}

// judge says what one custom resource still lacks.
func (s *scene) judge(c class, obj *unstructured.Unstructured) []string {
	size, wanted := s.want[ref{c.kind, obj.GetName()}]
	objects := s.server.of(c, string(obj.GetUID()))
	switch ready := condition(obj, v1alpha1.ConditionReady); {
	case !wanted:
		return []string{fmt.Sprintf("%s %s is still there: %s", c.kind, obj.GetName(), words(obj))}
	case ready["status"] != "True" || ready["observedGeneration"] != obj.GetGeneration():
		return []string{fmt.Sprintf("%s %s is not ready: %s", c.kind, obj.GetName(), words(obj))}
	case len(objects) != 1:
		return []string{fmt.Sprintf("%s %s has %d objects", c.kind, obj.GetName(), len(objects))}
	case fmt.Sprint(objects[0].Fields["size"]) != fmt.Sprint(size):
		return []string{fmt.Sprintf("%s %s has size %v instead of %d", c.kind, obj.GetName(), objects[0].Fields["size"], size)}
	default:
		return s.judgeMembers(c, obj, size)
	}
}

// rest waits until the scene is as it was asked for.
func (s *scene) rest(what string) bool {
	s.t.Helper()
	last := []string(nil)
	ok := s.eventually(what, patience, func() string {
		last = s.problems(true)
		return strings.Join(last[:min(len(last), 6)], "\n")
	})
	if !ok {
		s.blame(last)
	}
	return ok
}

// blame counts what is wrong at the end.
func (s *scene) blame(problems []string) {
	for _, p := range problems {
		if strings.HasPrefix(p, "leak") {
			s.totals.leaks++
		} else {
			s.totals.stuck++
		}
	}
}

// deleteAll deletes every custom resource that the test made, and waits until nothing is left, here and outside.
func (s *scene) deleteAll(what string) bool {
	s.t.Helper()
	for _, c := range classes() {
		for name := range s.want {
			if name.kind == c.kind {
				s.delete(c, name.name)
			}
		}
	}
	return s.rest(what)
}

// abandon takes away what is left of a kind, without caring for what is outside.
func (s *scene) abandon(ctx context.Context, c class) {
	list, err := s.resource(c).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for i := range list.Items {
		name := list.Items[i].GetName()
		err := s.resource(c).Delete(ctx, name, metav1.DeleteOptions{})
		_, patched := s.resource(c).Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err := errors.Join(err, patched); err != nil && !apierrors.IsNotFound(patched) {
			s.t.Logf("abandon %s: %v", name, err)
		}
	}
}

func condition(obj *unstructured.Unstructured, kind string) map[string]any {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, item := range list {
		if c, ok := item.(map[string]any); ok && c["type"] == kind {
			return c
		}
	}
	return nil
}

// words are the state of a custom resource in short.
func words(obj *unstructured.Unstructured) string {
	ready := condition(obj, v1alpha1.ConditionReady)
	return fmt.Sprintf("%v=%v %v, record %s", ready["status"], ready["reason"], ready["message"], obj.GetAnnotations()[v1alpha1.RecordAnnotation])
}
