//go:build !race

package model

import "testing"

// form gives the names of the explorations that are made: all of them.
func form(names []string) []string { return names }

// TestEachRuleIsNeeded switches each rule off in turn. A model that stays green without a rule would prove nothing.
func TestEachRuleIsNeeded(t *testing.T) {
	t.Parallel()
	all := map[string]family{}
	for _, f := range families(false) {
		all[f.name] = f
	}
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			found, traces := all[m.of].violations(m.off)
			explored.without(m.name, found)
			for k, c := range all[m.of].classes {
				if found[k] != m.want[k] {
					t.Errorf("without the rule, %s gives %s, want %s\n\t%s", c.name, found[k], m.want[k], traces[k])
				}
			}
		})
	}
}
