package mapping

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"mime"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strings"
	"unicode/utf8"
)

// file is a part with a name and a type of its own.
type file struct{ content, filename, contentType string }

const defaultFileType = "application/octet-stream"

// encodeMultipart writes an object as multipart/form-data (RFC 7578), its keys sorted. A list repeats its key; null leaves
// it out; an object is a file. field is the operation's place in the mapping.
//
// The boundary is made from the content, so that the same object is the same request: then it can be compared and shown.
// What is sent cannot hold it, because it is a hash of what is sent.
func encodeMultipart(field string, value any) (body []byte, contentType string, err error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, "", &ExpressionError{Field: field, Problem: "a multipart form is made of an object, and the body is " + kindOf(value)}
	}
	canonical, err := encodeJSON(object)
	if err != nil {
		return nil, "", fmt.Errorf("%s: the body cannot be written: %w", field, err)
	}
	sum := sha256.Sum256(canonical)
	var out bytes.Buffer
	writer := multipart.NewWriter(&out)
	if err := writer.SetBoundary(hex.EncodeToString(sum[:])); err != nil {
		return nil, "", fmt.Errorf("%s: make the boundary: %w", field, err)
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if err := writeParts(writer, field, key, object[key]); err != nil {
			return nil, "", err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, "", fmt.Errorf("%s: write the body: %w", field, err)
	}
	return out.Bytes(), writer.FormDataContentType(), nil
}

func writeParts(writer *multipart.Writer, field, key string, value any) error {
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	for _, element := range list {
		if element == nil {
			continue
		}
		if err := writePart(writer, field, key, element); err != nil {
			return err
		}
	}
	return nil
}

func writePart(writer *multipart.Writer, field, key string, value any) error {
	wrong := func(problem string) error {
		return &ExpressionError{Field: field, Problem: "the part " + cut(key) + " " + problem}
	}
	if !isHeaderValue(key) || !utf8.ValidString(key) || key == "" {
		return wrong("has no name that can stand in a header")
	}
	f := file{}
	header := textproto.MIMEHeader{}
	disposition := map[string]string{"name": key}
	if object, isFile := value.(map[string]any); isFile {
		var problem string
		if f, problem = fileOf(object); problem != "" {
			return wrong(problem)
		}
		if f.filename != "" {
			disposition["filename"] = f.filename
		}
		header.Set("Content-Type", f.contentType)
	} else {
		text, ok := formatScalar(value)
		if !ok {
			return wrong("is or holds " + kindOf(value) + ": a part is text, a number, a boolean, a file {content or base64, filename, contentType}, or a list of these")
		}
		f.content = text
	}
	header.Set("Content-Disposition", formData(disposition))
	part, err := writer.CreatePart(header)
	if err == nil {
		_, err = part.Write([]byte(f.content))
	}
	if err != nil {
		return fmt.Errorf("%s: write a part: %w", field, err)
	}
	return nil
}

// fileOf reads a file, or says what is wrong with it.
func fileOf(object map[string]any) (f file, problem string) {
	for name := range object {
		if !slices.Contains([]string{"content", "base64", "filename", "contentType"}, name) {
			return f, "has the member " + cut(name) + ": a file has content or base64, filename and contentType"
		}
	}
	if f.content, problem = contentOf(object); problem != "" {
		return f, problem
	}
	f.contentType = defaultFileType
	for name, into := range map[string]*string{"filename": &f.filename, "contentType": &f.contentType} {
		if object[name] == nil {
			continue
		}
		text, ok := object[name].(string)
		if !ok || !isHeaderValue(text) || !utf8.ValidString(text) {
			return f, "is a file whose " + name + " is not a text that can stand in a header"
		}
		*into = text
	}
	if _, _, err := mime.ParseMediaType(f.contentType); err != nil {
		return f, "is a file whose contentType is not a media type such as text/plain"
	}
	return f, ""
}

// contentOf gives what is in a file: text, or bytes, which stand in CEL's JSON as base64.
func contentOf(object map[string]any) (content, problem string) {
	text, isText := object["content"].(string)
	encoded, isBytes := object["base64"].(string)
	switch {
	case isText == isBytes:
		return "", "is a file without content: give exactly one of content (text) and base64 (bytes, or their base64)"
	case isText:
		return text, ""
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "", "is a file whose base64 is none"
	}
	return string(decoded), ""
}

// formData writes the disposition as browsers do: UTF-8 as it is, and what would end the value escaped (RFC 7578 section
// 4.2, and the WHATWG's HTML standard).
func formData(parameters map[string]string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	var out strings.Builder
	out.WriteString("form-data")
	for _, name := range []string{"name", "filename"} {
		if value, given := parameters[name]; given {
			out.WriteString("; " + name + `="` + escape.Replace(value) + `"`)
		}
	}
	return out.String()
}
