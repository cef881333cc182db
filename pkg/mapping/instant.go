package mapping

import (
	"math/big"
	"strings"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
)

// instant is a moment and how finely it was written.
type instant struct {
	at        time.Time
	precision time.Duration
}

// equal compares to the coarser of the two precisions: a server that keeps seconds drops the rest.
func (i *instant) equal(other *instant) bool {
	precision := max(i.precision, other.precision)
	return i.at.Truncate(precision).Equal(other.at.Truncate(precision))
}

const (
	// firstMillisecond is where numbers begin to be milliseconds. As seconds it would be the year 5138.
	firstMillisecond = 100_000_000_000
	// lastSecond is the end of the year 9999, which is as far as RFC 3339 goes.
	lastSecond = 253_402_300_799
	// maxInstantText bounds the text that is read as a moment.
	maxInstantText = 64
)

// asInstant reads a moment: RFC 3339, or seconds or milliseconds since 1970 as a number or its text. Nil when the value
// is none of these.
func asInstant(value any) *instant {
	if number := asNumber(value, v1alpha1.CompareNumber); number != nil {
		return instantOfNumber(number)
	}
	text, ok := value.(string)
	if !ok || len(text) > maxInstantText {
		return nil
	}
	text = strings.ToUpper(strings.TrimSpace(text)) // t and z may be small (RFC 3339, section 5.6)
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return nil
	}
	return &instant{at: at, precision: precisionOf(text)}
}

// precisionOf counts the digits of the fraction of a second.
func precisionOf(text string) time.Duration {
	precision := time.Second
	_, fraction, _ := strings.Cut(text, ".")
	for i := 0; i < len(fraction) && fraction[i] >= '0' && fraction[i] <= '9' && precision > time.Nanosecond; i++ {
		precision /= 10
	}
	return precision
}

func instantOfNumber(number *big.Rat) *instant {
	seconds, precision := number, time.Second
	if new(big.Rat).Abs(number).Cmp(big.NewRat(firstMillisecond, 1)) >= 0 {
		seconds, precision = new(big.Rat).Quo(number, big.NewRat(int64(time.Second/time.Millisecond), 1)), time.Millisecond
	}
	if !number.IsInt() {
		precision = time.Microsecond // as finely as a double can hold the seconds of today
	}
	if new(big.Rat).Abs(seconds).Cmp(big.NewRat(lastSecond, 1)) > 0 {
		return nil
	}
	micros := new(big.Rat).Mul(seconds, big.NewRat(int64(time.Second/time.Microsecond), 1))
	whole := new(big.Int).Div(roundedNumerator(micros), micros.Denom())
	return &instant{at: time.UnixMicro(whole.Int64()).UTC(), precision: precision}
}

// roundedNumerator adds half of the denominator, so that dividing rounds to the nearest: a double is seldom exact.
func roundedNumerator(r *big.Rat) *big.Int {
	return new(big.Int).Add(r.Num(), new(big.Int).Rsh(r.Denom(), 1))
}
