package httpapi

import (
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is a value that cannot be printed, logged or encoded by accident. The value is behind a function, because
// fmt prints the fields of an unexported struct field without asking its methods, and prints a function as an address.
type Secret struct {
	reveal func() string
}

// NewSecret hides a value.
func NewSecret(value string) Secret {
	return Secret{reveal: func() string { return value }}
}

// Reveal gives the value. Only what puts it on the wire may call this.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// Empty reports whether there is no value.
func (s Secret) Empty() bool { return s.Reveal() == "" }

// Equal compares two secrets in constant time, so that a changed credential can be noticed.
func (s Secret) Equal(other Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(other.Reveal())) == 1
}

// String implements fmt.Stringer.
func (Secret) String() string { return redacted }

// GoString implements fmt.GoStringer.
func (Secret) GoString() string { return redacted }

// Format implements fmt.Formatter, so that no verb prints the value.
func (Secret) Format(state fmt.State, _ rune) {
	// A failed write of a placeholder is of no interest to a formatter.
	_, _ = io.WriteString(state, redacted)
}

// MarshalJSON implements json.Marshaler.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText implements encoding.TextMarshaler.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue implements slog.LogValuer.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
