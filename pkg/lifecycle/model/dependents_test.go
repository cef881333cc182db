package model

import "github.com/restmapping/operator/pkg/lifecycle"

// referrers are the custom resources that refer to this one: they go, sooner or later. None comes: one that refers to a
// custom resource which is being deleted waits for it.
func (m *machine) referrers(w world) {
	if w.referred != somebody {
		return
	}
	n := w
	n.referred = goneAgain
	m.emit("those who refer to it go", false, n)
}

// hear is the moment at which a process knows all who refer to the custom resource.
func (m *machine) hear(w world, i int) {
	if w.referred == nobodyRefers || w.procs[i].heard || w.procs[i].deposed {
		return
	}
	n := w
	n.procs[i].heard = true
	m.emit("knows who refers to it", false, n)
}

func (d dependents) fact() lifecycle.Dependents {
	return [...]lifecycle.Dependents{
		lifecycle.DependentsNone, lifecycle.DependentsNone, lifecycle.DependentsExist, lifecycle.DependentsUnknown,
	}[d]
}

// referred is what may happen while somebody refers to the custom resource.
func referred() budget { return budget{kills: 1, losses: 1} }
