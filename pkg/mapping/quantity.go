package mapping

import (
	"math/big"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/restmapping/operator/api/v1alpha1"
)

// asQuantity reads a Kubernetes quantity, or a plain number. Nil when the value is neither, or too large for a quantity:
// the library would cap it, and two different values would be one.
func asQuantity(value any) *big.Rat {
	if number := asNumber(value, v1alpha1.CompareNumber); number != nil {
		return number
	}
	text, ok := value.(string)
	if !ok || len(text) > maxNumberText || hasLongExponent(text) {
		return nil
	}
	quantity, err := resource.ParseQuantity(strings.TrimSpace(text))
	if err != nil {
		return nil
	}
	number, ok := new(big.Rat).SetString(quantity.AsDec().String())
	if !ok || new(big.Rat).Abs(number).Cmp(maxQuantity()) >= 0 {
		return nil
	}
	return number
}

// maxQuantity is where the library caps.
func maxQuantity() *big.Rat { return new(big.Rat).SetInt64(1<<63 - 1) }

// hasLongExponent: 1e999999999 would fill the memory.
func hasLongExponent(text string) bool {
	at := strings.IndexAny(text, "eE")
	return at >= 0 && len(strings.TrimLeft(text[at+1:], "+-")) > maxExponentDigits
}
