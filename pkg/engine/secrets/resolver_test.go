package secrets_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/restmapping/operator/pkg/engine/secrets"
)

func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("no"))
	cases := map[string]struct {
		err  error
		want []string
	}{
		"a missing Secret is to be created with the label": {
			&secrets.NotFoundError{Namespace: "team-a", Name: "token"},
			[]string{"team-a/token", "create it", "restmapping.dev/allow-read=true"},
		},
		"a missing key is to be added": {
			&secrets.NotFoundError{Namespace: "team-a", Name: "token", Key: "password"},
			[]string{"team-a/token", `no key "password"`, "add the key"},
		},
		"a closed Secret is opened by one command": {
			&secrets.NotAllowedError{Namespace: "team-a", Name: "token"},
			[]string{"kubectl label secret -n team-a token restmapping.dev/allow-read=true"},
		},
		"another namespace is to be given to the operator": {
			&secrets.NamespaceNotWatchedError{Namespace: "team-b"},
			[]string{`"team-b"`, "add this one"},
		},
		"missing rights are named": {
			&secrets.UnavailableError{Doing: "get Secret team-a/token", Err: forbidden},
			[]string{"get Secret team-a/token", "get, list and watch on secrets"},
		},
		"another failure speaks of no rights": {
			&secrets.UnavailableError{Doing: "get Secret team-a/token", Err: errors.New("connection refused")},
			[]string{"get Secret team-a/token: connection refused"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, want := range tc.want {
				if !strings.Contains(tc.err.Error(), want) {
					t.Errorf("%q does not say %q", tc.err, want)
				}
			}
		})
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.put("team-a", "token", open, "password", "s3cret")
	c.put("team-a", "closed", nil, "password", "hidden")
	c.put("team-a", "denied", map[string]string{"restmapping.dev/allow-read": "false"}, "password", "hidden")
	c.put("team-b", "token", open, "password", "of team b")
	r := run(t, c, nil)
	cases := map[string]struct {
		namespace, name, key string
		want                 string
		err                  error
	}{
		"a key of an open Secret is read":                       {"team-a", "token", "password", "s3cret", nil},
		"a Secret of the same name elsewhere is another":        {"team-b", "token", "password", "of team b", nil},
		"a key that is not there is named":                      {"team-a", "token", "user", "", &secrets.NotFoundError{Namespace: "team-a", Name: "token", Key: "user"}},
		"a Secret that is not there is named":                   {"team-a", "other", "password", "", &secrets.NotFoundError{Namespace: "team-a", Name: "other"}},
		"a Secret without the label is refused":                 {"team-a", "closed", "password", "", &secrets.NotAllowedError{Namespace: "team-a", Name: "closed"}},
		"a Secret with another value of the label is refused":   {"team-a", "denied", "password", "", &secrets.NotAllowedError{Namespace: "team-a", Name: "denied"}},
		"a reference without namespace reaches no Secret":       {"", "token", "password", "", &secrets.NamespaceNotWatchedError{}},
		"a Secret is not found in a namespace that has no such": {"team-c", "token", "password", "", &secrets.NotFoundError{Namespace: "team-c", Name: "token"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := r.Get(t.Context(), tc.namespace, tc.name, tc.key)
			if diff := cmp.Diff(tc.err, err); diff != "" {
				t.Fatalf("error (-want +got):\n%s", diff)
			}
			if got.Reveal() != tc.want {
				t.Fatalf("got another value than %q", tc.want)
			}
		})
	}
}

func TestDataOfAClosedSecretIsNeverFetched(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.put("team-a", "closed", nil, "password", "hidden")
	r := run(t, c, nil)
	if _, err := r.Get(t.Context(), "team-a", "closed", "password"); err == nil {
		t.Fatal("a closed Secret was read")
	}
	if n := c.count("get"); n != 0 {
		t.Fatalf("the whole Secret was fetched %d times", n)
	}
}

func TestSteadyStateReadsNothing(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.put("team-a", "token", open, "password", "s3cret")
	r := run(t, c, nil)
	reads(t, r, "team-a", "token", "password", "s3cret")
	for range 100 {
		if _, err := r.Get(t.Context(), "team-a", "token", "password"); err != nil {
			t.Fatal(err)
		}
	}
	if n := c.count("get"); n != 1 {
		t.Fatalf("the Secret was fetched %d times instead of once", n)
	}
	if n := c.count("get metadata"); n != 0 {
		t.Fatalf("metadata were read live %d times", n)
	}
	if n := c.count("list"); n != 1 {
		t.Fatalf("metadata were listed %d times", n)
	}
}

func TestSecretsThatNobodyAskedForAreNotFetched(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.put("team-a", "token", open, "password", "s3cret")
	c.put("team-a", "other", open, "password", "not asked for")
	r := run(t, c, nil)
	reads(t, r, "team-a", "token", "password", "s3cret")
	if n := c.count("get"); n != 1 {
		t.Fatalf("%d Secrets were fetched", n)
	}
}

func TestARotatedSecretIsFetchedOnce(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.put("team-a", "token", open, "password", "old")
	r := run(t, c, nil)
	reads(t, r, "team-a", "token", "password", "old")
	before, err := r.Version(t.Context(), "team-a", "token")
	if err != nil || before == "" {
		t.Fatalf("version %q, %v", before, err)
	}
	c.put("team-a", "token", open, "password", "new")
	reads(t, r, "team-a", "token", "password", "new")
	after, err := r.Version(t.Context(), "team-a", "token")
	if err != nil || after == before {
		t.Fatalf("the version is still %q, %v", after, err)
	}
	if n := c.count("get"); n != 2 {
		t.Fatalf("the Secret was fetched %d times instead of twice", n)
	}
}

func TestACopyNewerThanTheWatchIsUsed(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.put("team-a", "token", open, "password", "old")
	r := run(t, c, nil)
	if _, err := r.Version(t.Context(), "team-a", "token"); err != nil {
		t.Fatal(err)
	}
	// The watch is silent about the change; the live read shows it all the same, and is not repeated for it.
	c.mu.Lock()
	c.quiet = true
	c.mu.Unlock()
	c.put("team-a", "token", open, "password", "new")
	for range 3 {
		got, err := r.Get(t.Context(), "team-a", "token", "password")
		if err != nil || got.Reveal() != "new" {
			t.Fatalf("got another value, %v", err)
		}
	}
	if n := c.count("get"); n != 1 {
		t.Fatalf("the Secret was fetched %d times", n)
	}
}

func TestTheLabelOfTheLiveSecretCounts(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.put("team-a", "token", open, "password", "s3cret")
	r := run(t, c, nil)
	if _, err := r.Version(t.Context(), "team-a", "token"); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	c.quiet = true
	c.mu.Unlock()
	c.put("team-a", "token", nil, "password", "s3cret")
	_, err := r.Get(t.Context(), "team-a", "token", "password")
	if refused := (*secrets.NotAllowedError)(nil); !errors.As(err, &refused) {
		t.Fatalf("a Secret whose label is gone gave %v", err)
	}
}

func TestLosingTheLabelOrTheSecretEndsReading(t *testing.T) {
	t.Parallel()
	notAllowed := func(err error) bool {
		e := (*secrets.NotAllowedError)(nil)
		return errors.As(err, &e)
	}
	notFound := func(err error) bool {
		e := (*secrets.NotFoundError)(nil)
		return errors.As(err, &e)
	}
	cases := map[string]struct {
		end  func(*cluster)
		want func(error) bool
	}{
		"the label is taken away": {func(c *cluster) { c.put("team-a", "token", nil, "password", "s3cret") }, notAllowed},
		"the Secret is deleted":   {func(c *cluster) { c.remove("team-a", "token") }, notFound},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster()
			c.put("team-a", "token", open, "password", "s3cret")
			r := run(t, c, nil)
			reads(t, r, "team-a", "token", "password", "s3cret")
			tc.end(c)
			eventually(t, func() string {
				if _, err := r.Get(t.Context(), "team-a", "token", "password"); !tc.want(err) {
					return "the error is still " + describe(err)
				}
				return ""
			})
		})
	}
}

func describe(err error) string {
	if err == nil {
		return "none"
	}
	return err.Error()
}

func TestASecretOpenedLaterIsRead(t *testing.T) {
	t.Parallel()
	c := newCluster()
	// A clock that stands still: what was denied stays denied, unless the watch tells otherwise.
	r := run(t, c, nil, secrets.WithClock(testingclock.NewFakePassiveClock(time.Now())))
	if _, err := r.Get(t.Context(), "team-a", "token", "password"); err == nil {
		t.Fatal("a missing Secret was read")
	}
	c.put("team-a", "token", open, "password", "s3cret")
	reads(t, r, "team-a", "token", "password", "s3cret")
}

func TestDenialsAreRememberedForAMoment(t *testing.T) {
	t.Parallel()
	c := newCluster()
	now := testingclock.NewFakePassiveClock(time.Now())
	r := run(t, c, nil, secrets.WithClock(now))
	ask := func() {
		t.Helper()
		if _, err := r.Get(t.Context(), "team-a", "token", "password"); err == nil {
			t.Fatal("a missing Secret was read")
		}
	}
	for range 50 {
		ask()
	}
	if n := c.count("get metadata"); n != 1 {
		t.Fatalf("%d live reads instead of one", n)
	}
	now.SetTime(now.Now().Add(time.Minute))
	ask()
	if n := c.count("get metadata"); n != 2 {
		t.Fatalf("%d live reads after a minute instead of two", n)
	}
}

func TestAFailedReadIsNeitherMissingNorRemembered(t *testing.T) {
	t.Parallel()
	broken := apierrors.NewInternalError(errors.New("etcd is away"))
	for name, verb := range map[string]string{
		"the metadata of a Secret that the watch does not show": "get metadata",
		"the data of a Secret that the watch shows":             "get",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster()
			labels := open
			if verb == "get metadata" {
				labels = nil
			}
			c.put("team-a", "token", labels, "password", "s3cret")
			r := run(t, c, nil)
			c.failing(verb, broken)
			_, err := r.Get(t.Context(), "team-a", "token", "password")
			if e := (*secrets.UnavailableError)(nil); !errors.As(err, &e) || !errors.Is(err, broken) {
				t.Fatalf("a failed read gave %v", err)
			}
			c.failing(verb, nil)
			_, err = r.Get(t.Context(), "team-a", "token", "password")
			if e := (*secrets.UnavailableError)(nil); errors.As(err, &e) {
				t.Fatalf("the failure was remembered: %v", err)
			}
		})
	}
}

func TestOnlyTheGivenNamespacesAreRead(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.put("team-a", "token", open, "password", "a")
	c.put("team-b", "token", open, "password", "b")
	c.put("team-c", "token", open, "password", "c")
	r := run(t, c, []string{"team-a", "team-b", "team-a"})
	reads(t, r, "team-a", "token", "password", "a")
	reads(t, r, "team-b", "token", "password", "b")
	_, err := r.Get(t.Context(), "team-c", "token", "password")
	if diff := cmp.Diff(error(&secrets.NamespaceNotWatchedError{Namespace: "team-c"}), err); diff != "" {
		t.Fatalf("error (-want +got):\n%s", diff)
	}
	if n := c.count("list"); n != 2 {
		t.Fatalf("%d lists instead of one for each namespace", n)
	}
}

func TestConcurrentReadersShareOneFetch(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.hold = make(chan struct{})
	c.put("team-a", "token", open, "password", "s3cret")
	r := run(t, c, nil)
	const readers = 20
	errs := make(chan error, readers)
	for range readers {
		go func() {
			_, err := r.Get(t.Context(), "team-a", "token", "password")
			errs <- err
		}()
	}
	eventually(t, func() string {
		if c.count("get") == 0 {
			return "nobody fetches"
		}
		return ""
	})
	close(c.hold)
	for range readers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n := c.count("get"); n != 1 {
		t.Fatalf("%d fetches instead of one", n)
	}
}

func TestMissingRightsAreSaidAtOnce(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.failing("list", apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("no rule")))
	r := run(t, c, nil)
	eventually(t, func() string {
		if r.Healthy() == nil {
			return "the resolver says that it is healthy"
		}
		return ""
	})
	_, err := r.Get(t.Context(), "team-a", "token", "password")
	e := (*secrets.UnavailableError)(nil)
	if !errors.As(err, &e) || !apierrors.IsForbidden(err) {
		t.Fatalf("got %v", err)
	}
	if r.Synced() {
		t.Error("it says that its first listing is complete")
	}
}

func TestBeforeStartAReaderWaitsNoLongerThanItsContext(t *testing.T) {
	t.Parallel()
	c := newCluster()
	r, err := secrets.New(secrets.Config{Metadata: c, Secrets: c})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = r.Get(ctx, "team-a", "token", "password")
	if e := (*secrets.UnavailableError)(nil); !errors.As(err, &e) {
		t.Fatalf("got %v", err)
	}
}

func TestStartedTwiceIsAnError(t *testing.T) {
	t.Parallel()
	c := newCluster()
	r := run(t, c, nil)
	eventually(t, func() string {
		if !r.Synced() {
			return "the first listing does not come"
		}
		return ""
	})
	if err := r.Start(t.Context()); err == nil {
		t.Fatal("the second start gave no error")
	}
}

func TestStoppingEndsAFetchUnderWay(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.hold = make(chan struct{})
	c.put("team-a", "token", open, "password", "s3cret")
	r, err := secrets.New(secrets.Config{Metadata: c, Secrets: c})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Start(ctx) }()
	got := make(chan error, 1)
	go func() {
		_, err := r.Get(t.Context(), "team-a", "token", "password")
		got <- err
	}()
	eventually(t, func() string {
		if c.count("get") == 0 {
			return "nobody fetches"
		}
		return ""
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	err = <-got
	if e := (*secrets.UnavailableError)(nil); !errors.As(err, &e) || !errors.Is(err, context.Canceled) {
		t.Errorf("the fetch that was stopped gave %v", err)
	}
	_, err = r.Get(t.Context(), "team-a", "token", "password")
	if e := (*secrets.UnavailableError)(nil); !errors.As(err, &e) {
		t.Errorf("a read after the stop gave %v", err)
	}
}

func TestSubscribersHearOfOpenSecretsOnly(t *testing.T) {
	t.Parallel()
	c := newCluster()
	r := run(t, c, nil)
	heard := make(chan string, 100)
	unsubscribe := r.Subscribe(func(namespace, name string) { heard <- namespace + "/" + name })
	next := func(want string) {
		t.Helper()
		select {
		case got := <-heard:
			if got != want {
				t.Fatalf("heard of %s instead of %s", got, want)
			}
		case <-time.After(patience):
			t.Fatalf("heard nothing of %s", want)
		}
	}
	c.put("team-a", "closed", nil, "password", "x")
	c.put("team-a", "one", open, "password", "x")
	next("team-a/one")
	c.put("team-a", "one", open, "password", "y")
	next("team-a/one")
	c.put("team-a", "one", nil, "password", "y")
	next("team-a/one")
	c.put("team-a", "two", open, "password", "x")
	next("team-a/two")
	c.remove("team-a", "two")
	next("team-a/two")
	unsubscribe()
	second := make(chan struct{}, 10)
	defer r.Subscribe(func(string, string) { second <- struct{}{} })()
	c.put("team-a", "three", open, "password", "x")
	<-second
	if len(heard) != 0 {
		t.Fatalf("heard of %s after the subscription ended", <-heard)
	}
}
