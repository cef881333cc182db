package model

// laterClasses are the classes at a server that accepts everything and does it later.
func laterClasses() []class { return with(func(c *class) { c.later = true }) }

// laterShort are the combinations of faults that are explored completely for them.
func laterShort() map[string]budget {
	return map[string]budget{
		"two kills":                   {kills: 2},
		"a lost answer":               {kills: 1, losses: 1},
		"a job fails":                 {kills: 1, fails: 1},
		"a job is forgotten":          {kills: 1, forgets: 1},
		"fails and is forgotten":      {fails: 1, forgets: 1},
		"lost and forgotten":          {losses: 1, forgets: 1},
		"an edit":                     {kills: 1, edits: 1},
		"somebody removes the object": {kills: 1, removals: 1},
		"a failing read":              {kills: 1, readFaults: 1},
		"a job is overdue":            {kills: 1, overdue: 1},
		"a process is taken over":     {splits: 1},
	}
}
