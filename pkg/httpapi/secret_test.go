package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

const canary = "canary-s3cr3t"

func TestASecretCannotBePrinted(t *testing.T) {
	t.Parallel()
	secret := NewSecret(canary)
	inner := struct{ hidden Secret }{secret}
	encode := func(v any) string {
		out, err := json.Marshal(v)
		if err != nil {
			t.Errorf("marshal: %v", err)
		}
		return string(out)
	}
	marshalled, err := secret.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var log, logJSON bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", secret)
	slog.New(slog.NewJSONHandler(&logJSON, nil)).Info("x", "secret", secret, "group", inner)
	cases := map[string]string{
		"String":               secret.String(),
		"GoString":             secret.GoString(),
		"MarshalJSON":          encode(secret),
		"MarshalText":          string(marshalled),
		"JSON of a pointer":    encode(&secret),
		"JSON as a map key":    encode(map[Secret2]int{{}: 1}),
		"LogValue":             secret.LogValue().String(),
		"a text log":           log.String(),
		"a JSON log":           logJSON.String(),
		"%v of a pointer":      fmt.Sprintf("%v", &secret),
		"%v of a struct":       fmt.Sprintf("%v", Bearer{secret}),
		"%+v of a credential":  fmt.Sprintf("%+v", Credential{Bearer: &Bearer{secret}, Headers: []SecretHeader{{Value: secret}}}),
		"a wrapped error":      fmt.Errorf("x %v", secret).Error(),
		"JSON of a credential": encode(Credential{Basic: &Basic{secret, secret}}),
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t"} {
		cases[verb] = fmt.Sprintf(verb, secret)
		if cases[verb] != redacted {
			t.Errorf("%s prints %q", verb, cases[verb])
		}
	}
	hexed := fmt.Sprintf("%x", canary)
	for name, text := range cases {
		if strings.Contains(text, canary) || strings.Contains(text, hexed) {
			t.Errorf("%s shows the secret: %s", name, text)
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v"} {
		if text := fmt.Sprintf(verb, inner); strings.Contains(text, canary) {
			t.Errorf("%s of an unexported field shows the secret: %s", verb, text)
		}
	}
}

// Secret2 is a map key, which a Secret cannot be.
type Secret2 struct{}

// MarshalText shows that a key goes through the secret's own text.
func (Secret2) MarshalText() ([]byte, error) { return NewSecret(canary).MarshalText() }

func TestASecretGivesItsValueOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	secret := NewSecret(canary)
	if secret.Reveal() != canary || secret.Empty() {
		t.Error("the value is lost")
	}
	if (Secret{}).Reveal() != "" || !(Secret{}).Empty() {
		t.Error("the zero value is not empty")
	}
	if !secret.Equal(NewSecret(canary)) || secret.Equal(NewSecret("other")) {
		t.Error("Equal is wrong")
	}
}
