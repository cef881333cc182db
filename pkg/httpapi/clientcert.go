package httpapi

import (
	"crypto/tls"
	"encoding/pem"
	"strings"
)

// ClientCertificate is a chain of PEM certificates and the private key of the first.
type ClientCertificate struct {
	Certificate Secret
	Key         Secret
}

// pair gives what crypto/tls needs. The library's own errors repeat parts of what they read, so none of them is shown.
func (c ClientCertificate) pair() (tls.Certificate, error) {
	wrong := func(message string) error {
		return &ConfigError{Field: "tls.clientCertificate", Message: message}
	}
	certificate, key := []byte(c.Certificate.Reveal()), []byte(c.Key.Reveal())
	if !hasBlock(certificate, "CERTIFICATE") {
		return tls.Certificate{}, wrong("tls.crt of the Secret holds no PEM certificate (-----BEGIN CERTIFICATE-----)")
	}
	if !hasBlock(key, "PRIVATE KEY") {
		return tls.Certificate{}, wrong("tls.key of the Secret holds no PEM private key that is not encrypted (-----BEGIN PRIVATE KEY-----)")
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return tls.Certificate{}, wrong("tls.crt and tls.key of the Secret do not belong together, or cannot be read: put the certificate and its own key there")
	}
	return pair, nil
}

// hasBlock looks for a PEM block whose type ends so: a key may be RSA, EC or PKCS #8.
func hasBlock(data []byte, suffix string) bool {
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			return false
		}
		if strings.HasSuffix(block.Type, suffix) && block.Type != "ENCRYPTED "+suffix {
			return true
		}
		data = rest
	}
}
