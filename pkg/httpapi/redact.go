package httpapi

import (
	redaction "github.com/restmapping/operator/pkg/rest/redact"
)

// Redact takes the client's credential out of a text, and what it got for it: servers repeat what they were sent.
func (c *Client) Redact(text string) string {
	hidden := append(c.credential.secrets(), c.proxy.secrets()...)
	if c.keeper != nil {
		hidden = append(hidden, c.keeper.secrets()...)
	}
	return redact(text, hidden)
}

func redact(text string, hidden []Secret) string {
	values := make([]string, 0, len(hidden))
	for _, secret := range hidden {
		values = append(values, secret.Reveal())
	}
	return redaction.Hide(text, values)
}

// secrets are the values that must not be seen, in every form that is sent.
func (c Credential) secrets() []Secret {
	var out []Secret
	out = append(out, c.Basic.secrets()...)
	if c.Bearer != nil {
		out = append(out, c.Bearer.Token)
	}
	for _, h := range c.Headers {
		out = append(out, h.Value)
	}
	if c.APIKey != nil {
		out = append(out, c.APIKey.Value)
	}
	if c.OAuth2 != nil {
		out = append(out, c.OAuth2.secrets()...)
	}
	if c.Session != nil {
		out = append(out, c.Session.secrets()...)
	}
	return out
}
