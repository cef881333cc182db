package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"golang.org/x/time/rate"
)

// object is a widget as the REST API shows it.
type object struct {
	Name  string   `json:"name"`
	Size  int64    `json:"size"`
	Color string   `json:"color"`
	Note  string   `json:"note"`
	Tags  []string `json:"tags"`
}

func objectOf(w *Widget) object {
	return object{Name: w.Name, Size: w.Spec.Size, Color: w.Spec.Color, Note: w.Spec.Note, Tags: w.Spec.Tags}
}

// same compares what is ours; the order of tags does not matter.
func (o object) same(other object) bool {
	return o.Name == other.Name && o.Size == other.Size && o.Color == other.Color && o.Note == other.Note &&
		slices.Equal(slices.Sorted(slices.Values(o.Tags)), slices.Sorted(slices.Values(other.Tags)))
}

// errAbsent says that the server knows no such object.
var errAbsent = errors.New("not found")

// maxAnswer bounds an answer that is read.
const maxAnswer = 4 << 20

// server is the REST API.
type server struct {
	base    string
	client  *http.Client
	limiter *rate.Limiter
}

func (s *server) get(ctx context.Context, name string) (object, error) {
	var got object
	err := s.do(ctx, http.MethodGet, "/widgets/"+url.PathEscape(name), nil, &got)
	return got, err
}

func (s *server) create(ctx context.Context, o object) (object, error) {
	var created object
	err := s.do(ctx, http.MethodPost, "/widgets", o, &created)
	return created, err
}

func (s *server) update(ctx context.Context, o object) (object, error) {
	var updated object
	err := s.do(ctx, http.MethodPut, "/widgets/"+url.PathEscape(o.Name), o, &updated)
	return updated, err
}

// remove deletes an object; one that is not there is no error.
func (s *server) remove(ctx context.Context, name string) error {
	err := s.do(ctx, http.MethodDelete, "/widgets/"+url.PathEscape(name), nil, nil)
	if errors.Is(err, errAbsent) {
		return nil
	}
	return err
}

// do sends one request and decodes the answer into out, unless that is nil.
func (s *server) do(ctx context.Context, method, path string, in, out any) error {
	body := io.Reader(http.NoBody)
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
		body = bytes.NewReader(text)
	}
	if err := s.limiter.Wait(ctx); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	req.Header.Set("Accept", "application/json")
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: %w", method, path, err)
	case resp.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%s %s: %w", method, path, errAbsent)
	case resp.StatusCode >= http.StatusMultipleChoices:
		return fmt.Errorf("%s %s: the server answered %s", method, path, resp.Status)
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s %s: decode the answer: %w", method, path, err)
	}
	return nil
}
