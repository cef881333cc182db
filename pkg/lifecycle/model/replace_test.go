package model

// replacing are the combinations of faults with an edit that only a new object can answer.
func replacing() map[string]budget {
	return map[string]budget{
		"an edit":                     {kills: 1, losses: 1, edits: 1},
		"two edits":                   {kills: 1, edits: 2},
		"two kills":                   {kills: 2, edits: 1},
		"edited and removed":          {kills: 1, edits: 1, removals: 1},
		"a refusal":                   {kills: 1, refusals: 1, edits: 1},
		"a delete that is not done":   {kills: 1, undone: 1, edits: 1},
		"a stale cache":               {kills: 1, stale: 1, edits: 1},
		"a failing read":              {kills: 1, readFaults: 1, edits: 1},
		"a lost scope":                {kills: 1, blackouts: 1, edits: 1},
		"a frozen process taken over": {splits: 1, edits: 1},
	}
}

// replacingClasses are the classes at a server that changes nothing, with the policy to replace what was edited.
func replacingClasses() []class { return with(func(c *class) { c.replaces = true }) }
