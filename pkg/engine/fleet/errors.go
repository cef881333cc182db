package fleet

import (
	"errors"
	"fmt"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ErrClosed is returned by Acquire when the fleet has been closed.
var ErrClosed = errors.New("the watches of the operator are shut down; nothing can be watched any more")

// KeyError says that a key cannot be watched because of how it is written.
type KeyError struct {
	Key     Key
	Problem string
}

// Error implements error.
func (e *KeyError) Error() string { return fmt.Sprintf("watch %s: %s", e.Key, e.Problem) }

// WatchError says why objects are not being watched at present. The informer keeps trying; the error is taken back as
// soon as a watch works.
type WatchError struct {
	Key Key
	// Err is the API server's answer. apierrors.IsForbidden and its relatives see through to it.
	Err error
}

// Error implements error. It names what is watched, what the API server said and what to do about it.
func (e *WatchError) Error() string {
	return fmt.Sprintf("watch %s: %v; %s", e.Key, e.Err, e.remedy())
}

// Unwrap gives access to the API server's answer.
func (e *WatchError) Unwrap() error { return e.Err }

// Denied reports whether the operator may not list or watch the kind.
func (e *WatchError) Denied() bool { return apierrors.IsForbidden(e.Err) }

// NotServed reports whether the API server does not serve the kind (any more, or yet).
func (e *WatchError) NotServed() bool { return apierrors.IsNotFound(e.Err) }

func (e *WatchError) remedy() string {
	switch {
	case e.Denied():
		return fmt.Sprintf("allow the operator's ServiceAccount to list and watch %s", e.Key.GVR.GroupResource())
	case e.NotServed():
		return fmt.Sprintf("check that the CustomResourceDefinition of %s exists and serves version %s",
			e.Key.GVR.GroupResource(), e.Key.GVR.Version)
	default:
		return "it is tried again"
	}
}

// newWatchError drops the request URL from transport errors: its query string is noise that changes with each attempt.
func newWatchError(key Key, err error) *WatchError {
	if transport, ok := errors.AsType[*url.Error](err); ok {
		err = fmt.Errorf("the API server cannot be reached: %w", transport.Err)
	}
	return &WatchError{Key: key, Err: err}
}

// ReleaseError says that a subscription had not ended when the context of Release did. It goes on ending; Release may
// be called again to wait for it.
type ReleaseError struct {
	Key   Key
	Owner string
	Err   error
}

// Error implements error.
func (e *ReleaseError) Error() string {
	return fmt.Sprintf("stop watching %s for %s: not finished yet (%v); release it again to wait", e.Key, e.Owner, e.Err)
}

// Unwrap gives access to the context's error.
func (e *ReleaseError) Unwrap() error { return e.Err }
