package mapping

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/restmapping/operator/api/v1alpha1"
)

// The specification that was accepted last is kept in the status, so that a bad edit does not stop what worked when the
// operator is started again: nobody else remembers what stood there before.

const (
	// maxPacked bounds what is kept in the status, maxUnpacked what is made of it: the largest object that the API server
	// takes.
	maxPacked   = 256 << 10
	maxUnpacked = 2 << 20
)

// pack writes a specification compactly; empty when it is too large to be kept.
func pack(spec *v1alpha1.RestMappingSpec) string {
	text, err := json.Marshal(spec)
	if err != nil {
		return "" // a spec came as JSON; it cannot fail
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, write := z.Write(text)
	if err := errors.Join(write, z.Close()); err != nil {
		return "" // a buffer takes everything
	}
	if packed := base64.StdEncoding.EncodeToString(b.Bytes()); len(packed) <= maxPacked {
		return packed
	}
	return ""
}

// unpack reads what pack has written.
func unpack(packed string) (*v1alpha1.RestMappingSpec, error) {
	if len(packed) > maxPacked {
		return nil, errors.New("it is too long")
	}
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader([]byte(packed))))
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	spec := &v1alpha1.RestMappingSpec{}
	if err := json.NewDecoder(io.LimitReader(z, maxUnpacked)).Decode(spec); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	return spec, nil
}

// former is the generation that was accepted last, as a mapping of its own; nil when the newest is it, or when it is not
// known. What somebody else has written there in its place is as if it had never been kept.
func former(m *v1alpha1.RestMapping) *v1alpha1.RestMapping {
	if m.Status.AcceptedSpec == "" || m.Status.AcceptedGeneration == m.Generation {
		return nil
	}
	spec, err := unpack(m.Status.AcceptedSpec)
	if err != nil || spec.Target.Group != m.Spec.Target.Group || spec.Target.Kind != m.Spec.Target.Kind {
		return nil
	}
	before := m.DeepCopy()
	before.Spec, before.Generation = *spec, m.Status.AcceptedGeneration
	return before
}

// serveFormer has the engine serve the generation that was accepted last, and tells whether it does. Where that generation
// cannot serve any more, or the operator has no rights for it, nothing changes.
func (r *Reconciler) serveFormer(ctx context.Context, m *v1alpha1.RestMapping) (served bool, err error) {
	before := former(m)
	if before == nil {
		return false, nil
	}
	c, err := r.judge(ctx, before, newReport(before))
	if err != nil || c.program == nil {
		return false, err
	}
	if state, running := r.Engine.State(m.Name); !running || state.Denied || state.WatchError != nil {
		denied, err := r.deniedOf(ctx, c.target, c.references)
		if err != nil || len(denied.rights) > 0 {
			return false, err
		}
	}
	if _, err := r.apply(ctx, c); err != nil {
		return false, err
	}
	return true, nil
}
