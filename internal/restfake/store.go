package restfake

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

type objectKey struct {
	place place
	id    string
}

// object is what the server keeps. A deleted one stays while its deletion is hidden.
type object struct {
	place    place
	vars     map[string]string
	id       string
	sequence int64
	fields   map[string]any
	alive    bool

	// Until hiddenUntil readers see shown (nil: nothing) instead of what is true.
	hiddenUntil time.Time
	shown       map[string]any
}

// visible is what a reader sees now, nil for nothing.
func (o *object) visible(now time.Time) map[string]any {
	switch {
	case o == nil:
		return nil
	case now.Before(o.hiddenUntil):
		return o.shown
	case o.alive:
		return o.fields
	default:
		return nil
	}
}

// hide keeps what is visible now for a while. It must be called before the change.
func (o *object) hide(now time.Time, d time.Duration) {
	if d > 0 {
		o.shown = o.visible(now)
		o.hiddenUntil = now.Add(d)
	}
}

func (o *object) export(c *Collection) Object {
	return Object{Collection: c.Path, Path: c.itemPath(o.vars, o.id), ID: o.id, Fields: cloneFields(o.fields)}
}

// show is the object as an answer has it: without write-only fields.
func (c *Collection) show(fields map[string]any) map[string]any {
	shown := maps.Clone(fields)
	for _, name := range c.WriteOnly {
		delete(shown, name)
	}
	return shown
}

// inPlace lists the objects that have or had a sequence in a place, in order of creation.
func (s *Server) inPlace(where place) []*object {
	var list []*object
	for key, o := range s.objects {
		if key.place == where {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b *object) int { return cmp.Compare(a.sequence, b.sequence) })
	return list
}

// conflict names a live object of the place that agrees in all fields of a unique list, other than the one given.
func (s *Server) conflict(c *Collection, where place, fields map[string]any, self *object) bool {
	if len(c.Unique) == 0 {
		return false
	}
	for key, other := range s.objects {
		if key.place != where || other == self || !other.alive {
			continue
		}
		for _, unique := range c.Unique {
			if agree(unique, fields, other.fields) {
				return true
			}
		}
	}
	return false
}

func agree(names []string, a, b map[string]any) bool {
	for _, name := range names {
		if text(a[name]) != text(b[name]) {
			return false
		}
	}
	return len(names) > 0
}

// cloneFields copies a JSON object to its depth, so that no two owners share a map.
func cloneFields(fields map[string]any) map[string]any {
	if fields == nil {
		return nil
	}
	clone, _ := cloneValue(fields).(map[string]any)
	return clone
}

func cloneValue(value any) any {
	switch v := value.(type) {
	case map[string]any:
		clone := make(map[string]any, len(v))
		for key, inner := range v {
			clone[key] = cloneValue(inner)
		}
		return clone
	case []any:
		clone := make([]any, len(v))
		for i, inner := range v {
			clone[i] = cloneValue(inner)
		}
		return clone
	default:
		return value
	}
}

// mergePatch is RFC 7386. The result shares nothing with the patch.
func mergePatch(target, patch map[string]any) map[string]any {
	merged := cloneFields(target)
	if merged == nil {
		merged = map[string]any{}
	}
	for key, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(merged, key)
		case map[string]any:
			inner, _ := merged[key].(map[string]any)
			merged[key] = mergePatch(inner, v)
		default:
			merged[key] = cloneValue(value)
		}
	}
	return merged
}
