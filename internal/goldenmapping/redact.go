package goldenmapping

import (
	"fmt"
	"slices"
	"strings"

	"github.com/restmapping/operator/pkg/mapping"
)

// LeakError says that a secret has reached a place where none may be.
type LeakError struct {
	Where   string
	Secrets []string
}

// Error implements error.
func (e *LeakError) Error() string {
	return fmt.Sprintf("secrets %v have reached the %s", e.Secrets, e.Where)
}

// canaries gives each secret a value that stands nowhere else, so that it can be found wherever it went.
func canaries(refs []mapping.SecretRef) map[string]string {
	values := make(map[string]string, len(refs))
	for _, ref := range refs {
		values[ref.Input] = "canary-" + ref.Input + "-7f3b91"
	}
	return values
}

// leaks names the secrets whose value stands in a text.
func leaks(text string, secrets map[string]string) []string {
	var names []string
	for name, value := range secrets {
		if strings.Contains(text, value) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// hide writes each secret as its name.
func hide(text string, secrets map[string]string) string {
	for name, value := range secrets {
		text = strings.ReplaceAll(text, value, "[secret:"+name+"]")
	}
	return text
}
