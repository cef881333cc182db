package goldenmapping

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/restmapping/operator/pkg/rest"
)

// Document is an API's own description, against which requests and scripted answers are checked: a golden that the
// API would not understand proves nothing.
type Document struct {
	router  routers.Router
	baseURL string
}

// origin stands for the server; nothing is sent there.
const origin = "https://server.example.com"

// LoadSwagger2 reads a Swagger 2.0 document as JSON.
func LoadSwagger2(file string) (*Document, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("API document: %w", err)
	}
	old := &openapi2.T{}
	if err := json.Unmarshal(text, old); err != nil {
		return nil, fmt.Errorf("API document %s: %w", file, err)
	}
	base := strings.TrimSuffix(old.BasePath, "/")
	doc, err := openapi2conv.ToV3(old)
	if err != nil {
		return nil, fmt.Errorf("convert %s to OpenAPI 3: %w", file, err)
	}
	doc.Servers = openapi3.Servers{{URL: origin + base}}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		return nil, fmt.Errorf("paths of %s: %w", file, err)
	}
	return &Document{router: router, baseURL: origin + base}, nil
}

// Check checks one exchange: the path, the parameters and the body of the request, and the body of the answer where
// the document describes one for its status.
func (d *Document) Check(ctx context.Context, req rest.Request, x Exchange) error {
	out, err := http.NewRequestWithContext(ctx, req.Method, d.baseURL+Target(req), bytes.NewReader(req.Body))
	if err != nil {
		return fmt.Errorf("%s %s: %w", req.Method, req.Route, err)
	}
	for _, h := range RequestHeaders(req) {
		out.Header.Set(h.Name, h.Value)
	}
	route, params, err := d.router.FindRoute(out)
	if err != nil {
		return fmt.Errorf("%s %s is not in the API's document: %w", req.Method, req.Route, err)
	}
	input := &openapi3filter.RequestValidationInput{
		Request: out, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, MultiError: true},
	}
	if err := openapi3filter.ValidateRequest(ctx, input); err != nil {
		return fmt.Errorf("%s %s: the request is not as the API's document says: %w", req.Method, req.Route, err)
	}
	if err := unknownKeys(route, req.Body); err != nil {
		return fmt.Errorf("%s %s: %w", req.Method, req.Route, err)
	}
	return d.checkAnswer(ctx, input, x)
}

func (d *Document) checkAnswer(ctx context.Context, input *openapi3filter.RequestValidationInput, x Exchange) error {
	answer := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: x.Status, Header: http.Header{}, Options: input.Options,
	}
	for name, value := range x.Headers {
		answer.Header.Set(name, value)
	}
	if x.Body != nil {
		answer.Header.Set("Content-Type", "application/json")
		answer.Body = io.NopCloser(bytes.NewReader(encode(x.Body)))
	}
	if err := openapi3filter.ValidateResponse(ctx, answer); err != nil {
		return fmt.Errorf("%s %s: the scripted answer is not as the API's document says: %w", input.Request.Method, input.Request.URL.Path, err)
	}
	return nil
}

var errUnknownKey = errors.New("the body has a key that the API's document does not know")

// unknownKeys finds what a server would silently ignore: schemas from Swagger 2 rarely forbid more keys than they list.
func unknownKeys(route *routers.Route, body []byte) error {
	if len(body) == 0 || route.Operation.RequestBody == nil || route.Operation.RequestBody.Value == nil {
		return nil
	}
	media := route.Operation.RequestBody.Value.Content.Get("application/json")
	if media == nil || media.Schema == nil || media.Schema.Value == nil || len(media.Schema.Value.Properties) == 0 {
		return nil
	}
	object := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &object); err != nil {
		return fmt.Errorf("the body is not an object: %w", err)
	}
	for key := range object {
		if _, known := media.Schema.Value.Properties[key]; !known {
			return fmt.Errorf("%w: %s", errUnknownKey, key)
		}
	}
	return nil
}
