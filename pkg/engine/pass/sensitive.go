package pass

import (
	"context"

	"github.com/restmapping/operator/pkg/rest"
	"github.com/restmapping/operator/pkg/rest/redact"
)

// do sends a request, and notes what of the answer must not be shown before anything is made of it.
func (u *run) do(ctx context.Context, req rest.Request) rest.Exchange {
	x := u.endpoint.Do(ctx, req)
	u.sensitive = append(u.sensitive, u.pass.SensitiveValues(x.Response)...)
	return x
}

// scrubbed takes sensitive values out of what goes into the status. The mapping does not give them to its expressions; this
// is for one that the server repeats at another place.
func (u *run) scrubbed(value any) any {
	if len(u.sensitive) == 0 {
		return value
	}
	switch v := value.(type) {
	case string:
		return redact.Hide(v, u.sensitive)
	case map[string]any:
		clean := make(map[string]any, len(v))
		for key, inner := range v {
			clean[redact.Hide(key, u.sensitive)] = u.scrubbed(inner)
		}
		return clean
	case []any:
		clean := make([]any, len(v))
		for i := range v {
			clean[i] = u.scrubbed(v[i])
		}
		return clean
	default:
		return value
	}
}
