package celrules

import (
	"net/url"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// textFunctions are urlEncode and lastSegment.
func textFunctions() []function {
	text := []*cel.Type{cel.StringType}
	return []function{
		{name: "urlEncode", overload: "restmapping_url_encode_string", args: text, result: cel.StringType, factor: 1, call: urlEncode},
		{name: "lastSegment", overload: "restmapping_last_segment_string", args: text, result: cel.StringType, factor: 1, call: lastSegment},
	}
}

const hexDigits = "0123456789ABCDEF"

// urlEncode writes everything but the unreserved characters of RFC 3986 as %XX, so that the text is one path segment
// or one query value.
func urlEncode(args []ref.Val) (ref.Val, error) {
	text, ok := args[0].(types.String)
	if !ok {
		return nil, &refusalError{"urlEncode needs a string"}
	}
	if 3*len(text) > maxText {
		return nil, tooLarge("urlEncode")
	}
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if isUnreserved(c) {
			b.WriteByte(c)
			continue
		}
		b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
	}
	return types.String(b.String()), nil
}

func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// lastSegment gives the last segment of a URL or a path, percent-decoded once. It is what a Location header ends with.
// A slash at the end does not count.
func lastSegment(args []ref.Val) (ref.Val, error) {
	text, ok := args[0].(types.String)
	if !ok {
		return nil, &refusalError{"lastSegment needs a string"}
	}
	location, err := url.Parse(string(text))
	if err != nil {
		return nil, &refusalError{"lastSegment needs a URL or a path, and was given neither"}
	}
	path := strings.TrimRight(location.EscapedPath(), "/")
	segment, err := url.PathUnescape(path[strings.LastIndexByte(path, '/')+1:])
	if err != nil || segment == "" {
		return nil, &refusalError{"lastSegment was given a URL without a path"}
	}
	return types.String(segment), nil
}

// tooLarge refuses a call whose result, or whose work, would be out of proportion.
func tooLarge(name string) error {
	return &refusalError{name + " was given too much: it would take too long, or give too much"}
}
