package httpapi

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/restmapping/operator/pkg/rest"
)

var (
	errTooLarge = errors.New("the body is over the limit")
	errBadGzip  = errors.New("the body is not the gzip that its header says")
)

// badGzip: the bytes arrived, but they cannot be unpacked.
func badGzip(err error) bool {
	corrupt := flate.CorruptInputError(0)
	return errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt)
}

// head is an answer without its body.
func head(answer *http.Response) *rest.Response {
	return &rest.Response{Status: answer.StatusCode, Headers: responseHeaders(answer.Header)}
}

// receive reads the whole answer and closes it.
func (a *attempt) receive(ctx context.Context, answer *http.Response) rest.Exchange {
	response := head(answer)
	exchange := rest.Exchange{
		Response:   response,
		RetryAfter: retryAfter(answer.Header.Get("Retry-After"), a.client.now()),
	}
	data, err := a.readBody(answer)
	switch {
	case errors.Is(err, errTooLarge):
		exchange.Failure = a.failure(rest.TooLarge, err,
			"the server answered %d with a body of more than %d bytes: ask for less, or raise limits.responseBytes",
			response.Status, a.client.responseBytes)
	case badGzip(err):
		exchange.Failure = a.failure(rest.Undecodable, errBadGzip, "the server answered %d but %s", response.Status, errBadGzip.Error())
	case err != nil:
		return a.broken(ctx, err, response)
	default:
		if err := decodeBody(response, data); err != nil {
			exchange.Failure = a.failure(rest.Undecodable, err, "the server answered %d but %s", response.Status, err.Error())
		}
	}
	return exchange
}

// readBody reads to the end, so that the connection can be used again, but never more than the limit.
func (a *attempt) readBody(answer *http.Response) ([]byte, error) {
	limit := a.client.responseBytes
	// Closing after the end is a formality, and before the end it ends the connection.
	defer func() { _ = answer.Body.Close() }()
	if answer.ContentLength > limit && a.req.Method != http.MethodHead {
		return nil, errTooLarge
	}
	var data bytes.Buffer
	if _, err := data.ReadFrom(io.LimitReader(answer.Body, limit+1)); err != nil {
		return nil, err
	}
	if int64(data.Len()) > limit {
		return nil, errTooLarge
	}
	return data.Bytes(), nil
}

// decodeBody fills Body and IsJSON.
func decodeBody(response *rest.Response, data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	if coding := response.Headers["content-encoding"]; coding != "" && !strings.EqualFold(coding, "identity") {
		return errors.New("in a compression that was not asked for: only gzip is understood")
	}
	contentType := response.Headers["content-type"]
	body, err := decodeJSON(data)
	switch {
	case err == nil && (isJSON(contentType) || contentType == ""):
		response.Body, response.IsJSON = body, true
	case isJSON(contentType):
		return err
	default:
		response.Body = text(data)
	}
	return nil
}

func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		// The parameters may be wrong while the type is plain to see.
		media, _, _ = strings.Cut(strings.ToLower(contentType), ";")
		media = strings.TrimSpace(media)
	}
	return media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json")
}

// text gives the body as it is when it is text. Bytes of another kind are dropped: nothing above can use them.
func text(data []byte) string {
	if !utf8.Valid(data) {
		return ""
	}
	return string(data)
}
