package model

import (
	"cmp"
	"maps"
	"slices"
)

// family is what is explored of a group of classes: each exploration begins with one of its worlds.
type family struct {
	name    string
	classes []class
	// begin is by the name of what may happen.
	begin map[string]world
}

// families are all that is explored, with the longer combinations of faults if they are asked for. What a server does at
// once comes first.
func families(more bool) []family {
	budgets := short()
	if more {
		maps.Copy(budgets, longer())
	}
	return []family{
		{"done at once", classes(), worlds(budgets)},
		{"known by a key", keyedClasses(), worlds(budgets)},
		{"done later", laterClasses(), worlds(laterShort())},
		{"replaced", replacingClasses(), worlds(replacing())},
		{"referred to", classes(), map[string]world{"others refer to it": {left: referred(), referred: somebody}}},
	}
}

func worlds(budgets map[string]budget) map[string]world {
	all := map[string]world{}
	for name, left := range budgets {
		all[name] = world{left: left}
	}
	return all
}

// names are those of the explorations, always in the same order.
func (f family) names() []string { return slices.SortedFunc(maps.Keys(f.begin), cmp.Compare[string]) }

// with gives the classes of classes() with something changed in each.
func with(change func(*class)) []class {
	all := classes()
	for i := range all {
		change(&all[i])
	}
	return all
}
