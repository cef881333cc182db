package pass

import (
	"slices"
	"strconv"
	"strings"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/status"
	"github.com/restmapping/operator/pkg/mapping"
)

// maxDescribed bounds the fields that are described with their values.
const maxDescribed = 6

// described names fields for people, the first of them with what is wanted and what is there.
func (u *run) described(differences []mapping.Difference) string {
	parts := make([]string, len(differences))
	for i, d := range differences {
		parts[i] = d.Path
		if i < maxDescribed {
			parts[i] = d.String()
		}
	}
	return u.redact(strings.Join(parts, ", "))
}

func pathsOf(differences []mapping.Difference) []string {
	var paths []string
	for _, d := range differences {
		paths = append(paths, d.Path)
	}
	return paths
}

// differencesAt are differences of which only the place is told.
func differencesAt(paths []string) []mapping.Difference {
	differences := make([]mapping.Difference, 0, len(paths))
	for _, path := range paths {
		differences = append(differences, mapping.Difference{Path: path})
	}
	return differences
}

// reportsAnew tells that the status says for the first time that these fields differ and are left so. A value that goes on
// changing in a field that is reported already is no news.
func (u *run) reportsAnew(wanted map[string]any) bool {
	reported := func(current map[string]any) bool {
		c := status.Find(current, v1alpha1.ConditionSynced)
		return c != nil && c["reason"] == v1alpha1.ReasonDriftReported
	}
	if !reported(wanted) {
		return false
	}
	known := u.mem.reported
	u.mem.reported = pathsOf(u.differences)
	return !reported(u.currentStatus()) || known != nil && !slices.Equal(known, u.mem.reported)
}

// wish is a short name for what the annotation asks for; empty when it asks for nothing. It says nothing of the text, which
// a person chose, and has one length.
func (u *run) wish() string {
	token := u.obj.GetAnnotations()[v1alpha1.ForceUpdateAnnotation]
	if token == "" {
		return ""
	}
	return strconv.FormatUint(hashOf(token), 36)
}
