package celrules

import (
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// objectFunctions are merge, omit and keys. Their arguments are untyped, since objects with a schema are no maps for CEL's checker.
func objectFunctions() []function {
	object := cel.MapType(cel.StringType, cel.DynType)
	return []function{
		{name: "merge", overload: "restmapping_merge_dyn_dyn", args: []*cel.Type{cel.DynType, cel.DynType}, result: object, factor: 1, call: merge},
		{name: "omit", overload: "restmapping_omit_dyn_list", args: []*cel.Type{cel.DynType, cel.ListType(cel.StringType)}, result: object, factor: 1, call: omit},
		{name: "keys", overload: "restmapping_keys_dyn", args: []*cel.Type{cel.DynType}, result: cel.ListType(cel.StringType), factor: 1, call: keys},
	}
}

// merge gives the fields of both objects; where both have one, the second's stands. It does not look inside the fields.
func merge(args []ref.Val) (ref.Val, error) {
	merged := map[ref.Val]ref.Val{}
	for _, arg := range args {
		object, ok := arg.(traits.Mapper)
		if !ok {
			return nil, &refusalError{"merge needs two objects"}
		}
		for it := object.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			merged[key] = object.Get(key)
		}
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, merged), nil
}

// omit gives the object without the named fields. A name that is not there is no error.
func omit(args []ref.Val) (ref.Val, error) {
	object, isObject := args[0].(traits.Mapper)
	names, isList := args[1].(traits.Lister)
	if !isObject || !isList {
		return nil, &refusalError{"omit needs an object and a list of names"}
	}
	left := map[ref.Val]ref.Val{}
	for it := object.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		left[key] = object.Get(key)
	}
	for it := names.Iterator(); it.HasNext() == types.True; {
		name, ok := it.Next().(types.String)
		if !ok {
			return nil, &refusalError{"omit needs a list of strings"}
		}
		delete(left, ref.Val(name))
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, left), nil
}

// keys gives the keys of an object, sorted. A comprehension over an object gives them in no order, and in another one each time.
func keys(args []ref.Val) (ref.Val, error) {
	object, ok := args[0].(traits.Mapper)
	if !ok {
		return nil, &refusalError{"keys needs an object"}
	}
	names := []string{}
	for it := object.Iterator(); it.HasNext() == types.True; {
		name, ok := it.Next().(types.String)
		if !ok {
			return nil, &refusalError{"keys needs an object whose keys are strings"}
		}
		names = append(names, string(name))
	}
	slices.Sort(names)
	return types.NewStringList(types.DefaultTypeAdapter, names), nil
}
