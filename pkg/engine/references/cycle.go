package references

// maxVisited bounds the search for a cycle. What is further apart is taken for none: those who wait for each other then go
// on waiting, and their conditions name each other.
const maxVisited = 1000

// Way gives the objects on the way from one to another, both included, when the one refers to the other, directly or by
// way of others; nil when it does not. edges gives the references of an object.
func Way(from, to Object, edges func(Object) []Edge) []Object {
	before := map[Object]Object{}
	next := []Object{from}
	for len(next) > 0 && len(before) <= maxVisited {
		at := next[0]
		next = next[1:]
		for _, edge := range edges(at) {
			if _, seen := before[edge.To]; seen {
				continue
			}
			before[edge.To] = at
			if edge.To == to {
				return trace(from, to, before)
			}
			next = append(next, edge.To)
		}
	}
	return nil
}

func trace(from, to Object, before map[Object]Object) []Object {
	way := []Object{to}
	for at := before[to]; ; at = before[at] {
		way = append([]Object{at}, way...)
		if at == from {
			return way
		}
	}
}
