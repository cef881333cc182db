package endpoints

// Redact takes the endpoint's credential out of a text that came from the server.
func (e *Endpoint) Redact(text string) string { return e.shared.client.inner.Redact(text) }
