package engine

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	"github.com/restmapping/operator/pkg/engine/fleet"
	"github.com/restmapping/operator/pkg/engine/pass"
)

// EventsOf lets passes record events. The recorder sends them by itself and drops what is too much.
func EventsOf(recorder events.EventRecorder) pass.Events { return eventsAdapter{recorder} }

type eventsAdapter struct{ recorder events.EventRecorder }

// maxNote is the longest note of an event that the API accepts.
const maxNote = 1024

// Normal implements pass.Events.
func (a eventsAdapter) Normal(obj *fleet.Object, reason, action, message string) {
	a.record(obj, corev1.EventTypeNormal, reason, action, message)
}

// Warning implements pass.Events.
func (a eventsAdapter) Warning(obj *fleet.Object, reason, action, message string) {
	a.record(obj, corev1.EventTypeWarning, reason, action, message)
}

func (a eventsAdapter) record(obj *fleet.Object, kind, reason, action, message string) {
	if runes := []rune(message); len(message) > maxNote {
		message = string(runes[:min(len(runes), maxNote/4-1)]) + "…"
	}
	a.recorder.Eventf(obj, nil, kind, reason, action, "%s", message)
}
