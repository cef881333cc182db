package fleet

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// source lists and watches the objects of one key and keeps the health of the watch.
//
// The rule for health: an attempt is judged at its end, not by its parts. It has failed when the informer gives it up
// (see sharedWatch), and it works when a watch stands that follows a complete list. So a kind that may be listed but
// not watched is steadily in error and does not alternate.
type source struct {
	key    Key
	client dynamic.ResourceInterface
	health *health
	calls  *inflight
}

// listerWatcher adapts the source to an informer. It uses the streamed initial list where the API server offers it.
func (s *source) listerWatcher(client dynamic.Interface) cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc:  s.list,
		WatchFuncWithContext: s.watch,
	}, client)
}

// list is called by a goroutine that client-go leaves behind when it stops; counting it lets us wait for it.
func (s *source) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if !s.calls.begin() {
		return nil, context.Canceled
	}
	defer s.calls.end()
	options.LabelSelector = s.key.LabelSelector
	return s.client.List(ctx, options)
}

func (s *source) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.LabelSelector = s.key.LabelSelector
	stream, err := s.client.Watch(ctx, options)
	if options.SendInitialEvents != nil && *options.SendInitialEvents {
		if err != nil {
			return nil, listInstead(err)
		}
		return s.untilListed(stream)
	}
	if err != nil {
		s.failed(ctx, err)
		return nil, err
	}
	s.health.recovered() // a plain watch is only opened after a complete list
	return stream, nil
}

// failed records an error unless it only comes from stopping or is part of normal operation.
func (s *source) failed(ctx context.Context, err error) {
	if ctx.Err() != nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return
	}
	s.health.fail(newWatchError(s.key, err))
}

// untilListed relays a stream that begins with the list, to see the mark at the list's end.
func (s *source) untilListed(stream watch.Interface) (watch.Interface, error) {
	if !s.calls.begin() {
		stream.Stop()
		return nil, context.Canceled
	}
	r := newRelay(stream)
	go func() {
		defer s.calls.end()
		r.run(s.health.recovered)
	}()
	return r, nil
}

// errStreamRefused stands for an error that client-go would answer by a pause that cannot be interrupted.
var errStreamRefused = errors.New("the API server refused to stream the list; it is listed instead")

// listInstead makes the informer try a plain list when a streamed one is refused for lack of capacity or connection.
// Left alone, client-go would sleep here for up to a minute without looking at its context, and a watch could not be
// stopped while the API server is down. If the cause persists the list fails too, and the pause after that is
// interruptible. Everything else, above all an expired version, must reach client-go as it is.
func listInstead(err error) error {
	if apierrors.IsTooManyRequests(err) || utilnet.IsConnectionRefused(err) {
		return errStreamRefused
	}
	return err
}
