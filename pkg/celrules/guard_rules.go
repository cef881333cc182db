package celrules

import (
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// replaceFits counts how large the text becomes.
func replaceFits(args []ref.Val) bool {
	text, from, to := textOf(args[0]), textOf(args[1]), textOf(args[2])
	count := int64(strings.Count(text, from))
	return int64(len(text))+count*int64(len(to)) <= maxText
}

// joinFits counts how large the text becomes. The elements may be one long text many times.
func joinFits(args []ref.Val) bool {
	list, ok := args[0].(traits.Lister)
	if !ok {
		return true
	}
	between := 0
	if len(args) > 1 {
		between = len(textOf(args[1]))
	}
	total := 0
	for it := list.Iterator(); it.HasNext() == types.True && total <= maxText; {
		total += len(textOf(it.Next())) + between + 1
	}
	return total <= maxText
}

// weightFits bounds everything that is inside the arguments: lists that hold one large value many times look small.
func weightFits(args []ref.Val) bool {
	total := 0
	for _, arg := range args {
		total += weight(arg, maxWeight-total)
		if total > maxWeight {
			return false
		}
	}
	return true
}

// searchFits bounds a search that may compare the whole of the second text at every place of the first.
func searchFits(args []ref.Val) bool {
	return int64(len(textOf(args[0])))*int64(len(textOf(args[1]))) <= maxSteps
}

// productFits bounds the comparing of every element with every other.
func productFits(args []ref.Val) bool {
	return sizeOfList(args[0])*sizeOfList(args[1]) <= int64(ExpressionLimit) && weightFits(args)
}

func distinctFits(args []ref.Val) bool {
	return sizeOfList(args[0])*sizeOfList(args[0]) <= int64(ExpressionLimit) && weightFits(args)
}

func textOf(value ref.Val) string {
	text, _ := value.(types.String)
	return string(text)
}

func sizeOfList(value ref.Val) int64 {
	list, ok := value.(traits.Lister)
	if !ok {
		return 0
	}
	size, _ := list.Size().(types.Int)
	return int64(size)
}
