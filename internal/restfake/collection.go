package restfake

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// IDs says where the id of a new object comes from.
type IDs string

// The sources of ids.
const (
	// Assigned gives 1, 2, 3... as numbers on POST.
	Assigned IDs = "Assigned"
	// AssignedText gives "obj-1", "obj-2"... as strings on POST.
	AssignedText IDs = "AssignedText"
	// Chosen takes the id from the body on POST, and from the path on PUT.
	Chosen IDs = "Chosen"
)

// CreateAnswer says what a successful create answers.
type CreateAnswer string

// The answers of a create.
const (
	// AnswerObject sends 201 with the object and a Location.
	AnswerObject CreateAnswer = "Object"
	// AnswerLocation sends 201 with a Location alone.
	AnswerLocation CreateAnswer = "Location"
	// AnswerNothing sends 204: the new id can only be found by listing.
	AnswerNothing CreateAnswer = "Nothing"
)

// Collection describes one kind of object. Only Path is required.
type Collection struct {
	// Path lists and creates, such as "/orgs/{org}/repos". Each {name} but the item's id separates the objects.
	Path string
	// ItemPath reads, updates and deletes; Path + "/{id}" by default. It names the same variables, and {id}.
	ItemPath string
	// IDField is the field that holds the id, "id" by default.
	IDField string
	// IDs is Assigned by default.
	IDs IDs
	// Upsert lets PUT create what is not there.
	Upsert bool
	// NoPut and NoPatch answer 405.
	NoPut, NoPatch bool
	// Unique is a list of field lists; no two objects of one place may agree in all fields of a list.
	Unique [][]string
	// ConflictStatus is sent when a unique key or a chosen id exists; 409 by default.
	ConflictStatus int
	// Required fields of a create; 422 without one.
	Required []string
	// Answer is AnswerObject by default.
	Answer CreateAnswer
	// UpdateStatus and DeleteStatus are 200 and 204 by default; 204 sends no body.
	UpdateStatus, DeleteStatus int
	// Defaults are added by the server to a create where absent.
	Defaults map[string]any
	// WriteOnly fields are kept but never shown.
	WriteOnly []string
	// Filters are query parameters that select by the field of the same name.
	Filters []string
	Paging  Paging
	// Envelope is the field that holds the items of a list; none by default: the list is a bare array.
	Envelope string
	// DuplicateKey makes two live objects with the same value of this field a violation, reported by Duplicates. The
	// request is still served: unlike Unique this is what the test must not see happen.
	DuplicateKey string
	// Later lets the collection accept changes and make them afterwards; nil for at once.
	Later *Later
	// Idempotency lets the collection know a create again by a key; nil for not.
	Idempotency *Idempotency
}

func withDefaults(c Collection) *Collection {
	set := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	number := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	set(&c.ItemPath, strings.TrimSuffix(c.Path, "/")+"/{id}")
	set(&c.IDField, "id")
	set((*string)(&c.IDs), string(Assigned))
	set((*string)(&c.Answer), string(AnswerObject))
	number(&c.ConflictStatus, http.StatusConflict)
	number(&c.UpdateStatus, http.StatusOK)
	number(&c.DeleteStatus, http.StatusNoContent)
	c.Paging = c.Paging.withDefaults()
	return &c
}

// place is where an object lives: the collection and the values of its path variables.
type place struct {
	collection string
	vars       string
}

func newPlace(c *Collection, vars map[string]string) place {
	var values []string
	for _, segment := range segments(c.Path) {
		if name, ok := variable(segment); ok {
			values = append(values, url.PathEscape(vars[name]))
		}
	}
	return place{collection: c.Path, vars: strings.Join(values, "/")}
}

// itemPath is the escaped path of one object.
func (c *Collection) itemPath(vars map[string]string, id string) string {
	var path strings.Builder
	for _, segment := range segments(c.ItemPath) {
		path.WriteByte('/')
		switch name, ok := variable(segment); {
		case ok && name == "id":
			path.WriteString(url.PathEscape(id))
		case ok:
			path.WriteString(url.PathEscape(vars[name]))
		default:
			path.WriteString(segment)
		}
	}
	return path.String()
}

// match compares an escaped path with a pattern, segment by segment, so that %2F stays inside its segment. A pattern
// that ends in /* takes any rest.
func match(pattern, escapedPath string) (map[string]string, bool) {
	want, got := segments(pattern), segments(escapedPath)
	if n := len(want) - 1; n >= 0 && want[n] == "*" && len(got) >= n {
		want, got = want[:n], got[:n]
	}
	if len(want) != len(got) {
		return nil, false
	}
	vars := map[string]string{}
	for i := range want {
		value, err := url.PathUnescape(got[i])
		if err != nil {
			return nil, false
		}
		if name, ok := variable(want[i]); ok {
			if value == "" {
				return nil, false
			}
			vars[name] = value
		} else if value != want[i] {
			return nil, false
		}
	}
	return vars, true
}

func segments(path string) []string {
	path = strings.Trim(path, "/")
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

func variable(segment string) (string, bool) {
	if strings.HasPrefix(segment, "{") && strings.HasSuffix(segment, "}") {
		return segment[1 : len(segment)-1], true
	}
	return "", false
}

// text is a field or an id as it stands in a path or a query.
func text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}
