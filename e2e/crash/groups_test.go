//go:build crash

package crash_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/restmapping/operator/internal/restfake"
)

// derived gives the classes of promptClasses under other names, and with something changed in each.
func derived(prefix string, change func(*class)) []class {
	all := promptClasses()
	for i := range all {
		c := &all[i]
		resource := prefix + c.resource
		c.mapping = strings.ReplaceAll(c.mapping, "/"+c.resource, "/"+resource)
		c.name, c.kind, c.resource = c.name+", "+prefix, strings.ToUpper(prefix[:1])+prefix[1:]+c.kind, resource
		change(c)
	}
	return all
}

var updateLine = regexp.MustCompile(`(?m)^    update: .*\n`)

// replacedClasses are those of servers that change nothing, so that an edit makes the object anew.
func replacedClasses() []class {
	return derived("replaced", func(c *class) {
		c.mapping, c.policy = updateLine.ReplaceAllString(c.mapping, ""), ", immutable: Replace"
	})
}

// TestKilledWhileReplacing ends the operator at every point between the delete of the old object and the create of the new.
func TestKilledWhileReplacing(t *testing.T) {
	about(t, replacedClasses)
	var list []point
	for _, name := range []string{
		"after-replacing-before-delete", "before-delete-send", "after-delete-send", "before-intent", "after-intent-before-send", "after-send-before-record",
	} {
		list = append(list, point{name, []operation{updating}})
	}
	killAt(t, "killed while replacing", list)
}

// stateOn is that of an object which must not be deleted yet.
const stateOn = "on"

// steppedClasses are those of objects that must be switched off before they are deleted.
func steppedClasses() []class {
	return derived("stepped", func(c *class) {
		step := fmt.Sprintf(`before: [{method: PATCH, path: "/%s/{id}", when: "observed.?state.orValue('') == '%s'", bodyExpression: "{'state': 'off'}"}]`, c.resource, stateOn)
		c.mapping = strings.ReplaceAll(c.mapping, "delete: {", "delete: {"+step+", ")
		c.fields = fmt.Sprintf("\n  - {to: state, value: \"'%s'\", operations: [Create], compare: Ignore}", stateOn)
	})
}

// TestKilledBeforeADelete ends the operator around the request that makes an object ready to be deleted. The server sees it
// when one is deleted that was not.
func TestKilledBeforeADelete(t *testing.T) {
	about(t, steppedClasses)
	both := []operation{deleting, deletedWhileCreating}
	killAt(t, "killed before a delete", []point{
		{"before-step-send", both}, {"after-step-send", both}, {"before-delete-send", both}, {"gone-verified-before-release", both},
	})
}

const outputOfCreate = `
  outputs:
  - {name: token, kind: Secret, nameExpression: "self.metadata.name + '-%s'", operations: [Create], data: {token: "'value-of-' + string(response.body.id)"}}`

// outputClasses are those whose create answers with a value that is kept in a Secret.
func outputClasses() []class {
	return derived("output", func(c *class) { c.mapping += fmt.Sprintf(outputOfCreate, c.resource) })
}

// TestKilledAroundAnOutput ends the operator before and after the value of a create is stored.
func TestKilledAroundAnOutput(t *testing.T) {
	about(t, outputClasses)
	both := []operation{creating, deletedWhileCreating}
	killAt(t, "killed around an output", []point{
		{"after-intent-before-send", both}, {"after-output-before-record", both}, {"after-record-before-status", []operation{creating}},
	})
}

const membersMapping = `
  parts:
  - name: members
    forEach: "['a', 'b', 'size-' + string(self.spec.size)]"
    key: part
    identifiers: [{name: member, assigned: string(response.body.id)}]
    operations:
      list: {path: "/%[1]s/{id}/members", itemKey: item.name}
      create: {path: "/%[1]s/{id}/members", safety: UniqueKey}
      update: {method: PATCH, path: "/%[1]s/{id}/members/{member}"}
      delete: {path: "/%[1]s/{id}/members/{member}"}
    fields: [{to: name, value: key}, {from: spec.size, to: size}, {to: of, value: "self.metadata.uid + '/' + key"}]
    deletion: First`

// partedClasses are those whose objects have three others that belong to them. An edit of the size changes two, deletes
// one and makes one.
func partedClasses() []class {
	return derived("parted", func(c *class) {
		c.mapping += fmt.Sprintf(membersMapping, c.resource)
		c.members = true
	})
}

func membersOf(c class) restfake.Collection {
	return restfake.Collection{Path: c.path() + "/{parent}/members", Unique: [][]string{{"name"}}, DuplicateKey: "of"}
}

// TestKilledBetweenParts ends the operator between the requests for the parts of one custom resource.
func TestKilledBetweenParts(t *testing.T) {
	about(t, partedClasses)
	all := []operation{creating, updating, deleting, deletedWhileCreating}
	killAt(t, "killed between parts", []point{
		{"before-part-record", []operation{creating, updating, deleting}},
		{"after-part-intent-before-send", []operation{creating, updating, deletedWhileCreating}},
		{"after-part-send", []operation{creating, updating, deletedWhileCreating}},
		{"before-part-update-send", []operation{updating}},
		{"before-part-delete-send", []operation{updating, deleting}},
		{"before-delete-send", []operation{deleting}},
		{"after-record-before-status", slices.DeleteFunc(all, func(o operation) bool { return o == deleting })},
	})
}

// members are the live parts of a class.
func (s *server) members(c class) []restfake.Object {
	if !c.members {
		return nil
	}
	return s.Live(membersOf(c).Path)
}

// judgeMembers says what the parts of a custom resource still lack.
func (s *scene) judgeMembers(c class, obj *unstructured.Unstructured, size int64) []string {
	if !c.members {
		return nil
	}
	var got []string
	for _, o := range s.server.members(c) {
		if uid, name, _ := strings.Cut(fmt.Sprint(o.Fields["of"]), "/"); uid == string(obj.GetUID()) {
			got = append(got, fmt.Sprintf("%s=%v", name, o.Fields["size"]))
		}
	}
	slices.Sort(got)
	if want := []string{fmt.Sprint("a=", size), fmt.Sprint("b=", size), fmt.Sprintf("size-%[1]d=%[1]d", size)}; !slices.Equal(got, want) {
		return []string{fmt.Sprintf("%s %s has the parts %v instead of %v", c.kind, obj.GetName(), got, want)}
	}
	return nil
}
