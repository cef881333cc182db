package celrules

import (
	"errors"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"
)

func (c *converter) object(value map[string]any, depth int) (any, error) {
	object := make(map[string]any, len(value))
	for key, element := range value {
		if err := c.put(object, key, element, depth); err != nil {
			return nil, err
		}
	}
	return object, nil
}

func (c *converter) mapper(value traits.Mapper, depth int) (any, error) {
	object := map[string]any{}
	for it := value.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, ok := key.(types.String)
		if !ok {
			return nil, errors.New("gave an object with a key that is not a string")
		}
		if err := c.put(object, string(name), value.Get(key), depth); err != nil {
			return nil, err
		}
	}
	return object, nil
}

// put converts one element. An absent optional leaves its key out, as {?'key': value} does.
func (c *converter) put(object map[string]any, key string, element any, depth int) error {
	if absent(element) {
		return nil
	}
	if _, err := c.text(key); err != nil {
		return err
	}
	converted, err := c.convert(element, depth+1)
	object[key] = converted
	return err
}

func (c *converter) list(value []any, depth int) (any, error) {
	list := make([]any, 0, min(len(value), c.nodes))
	for _, element := range value {
		converted, err := c.convert(element, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, converted)
	}
	return list, nil
}

func (c *converter) lister(value traits.Lister, depth int) (any, error) {
	list := []any{}
	for it := value.Iterator(); it.HasNext() == types.True; {
		element := it.Next()
		if absent(element) {
			continue
		}
		converted, err := c.convert(element, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, converted)
	}
	return list, nil
}

func absent(element any) bool {
	optional, ok := element.(*types.Optional)
	return ok && !optional.HasValue()
}
