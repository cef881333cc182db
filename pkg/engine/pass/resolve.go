package pass

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/mapping"
	"github.com/restmapping/operator/pkg/rest"
)

// resolve finds the endpoint, the secrets and the identifiers, from caches only, and checks the rules. It gives the
// step that ends the pass when something is not there.
func (u *run) resolve(ctx context.Context) *lifecycle.Step {
	if stop := u.resolveEndpoint(ctx); stop != nil {
		return stop
	}
	if stop := u.resolveReferences(ctx); stop != nil {
		return stop
	}
	if stop := u.resolveSecrets(ctx); stop != nil {
		return stop
	}
	facts := u.endpoint.Facts()
	u.pass = u.program.NewPass(mapping.Inputs{Self: u.self, Endpoint: facts, Secrets: u.secrets, References: u.referents})
	if stop := u.checkRules(ctx); stop != nil {
		return stop
	}
	if stop := u.resolveElements(ctx); stop != nil {
		return stop
	}
	if stop := u.resolveIdentifiers(ctx); stop != nil {
		return stop
	}
	u.facts.EndpointChanged = u.hasRecord() && u.record.Endpoint != u.endpoint.Identity()
	if stop := u.holdAgain(ctx); stop != nil {
		return stop
	}
	return u.claim(ctx)
}

// holdAgain sets a finalizer that somebody removed: with an object outside, the custom resource must not go unseen. In the
// same way a record is signed that was believed without this installation's own signature.
func (u *run) holdAgain(ctx context.Context) *lifecycle.Step {
	wanted := u.hasRecord() && (!u.facts.Finalizer || u.opened.Renew) && !u.facts.Deleting
	if !wanted || u.answer.kind != lifecycle.AnswerNone || u.facts.Policy.Management == v1alpha1.ManagementObserveOnly {
		return nil
	}
	record := *u.record
	record.Of = u.subject().String()
	u.opened.Renew = false
	return u.patchRecord(ctx, record)
}

func (u *run) hasRecord() bool {
	return u.facts.Record == lifecycle.RecordCreated || u.facts.Record == lifecycle.RecordCreating
}

func (u *run) resolveEndpoint(ctx context.Context) *lifecycle.Step {
	name, err := u.program.EndpointName(ctx, u.self)
	if err != nil {
		return stall(v1alpha1.ReasonExpressionFailed, err.Error())
	}
	u.usage.noteEndpoint(u.key, name)
	u.endpoint, err = u.Endpoints.Resolve(ctx, u.program.EndpointKind(), u.key.Namespace, name)
	if err != nil {
		return unavailable(err, v1alpha1.ReasonEndpointNotReady)
	}
	return nil
}

// unavailable waits with backoff for what is missing and may be made at any time, and for a person otherwise.
func unavailable(err error, fallback string) *lifecycle.Step {
	u := (*UnavailableError)(nil)
	switch {
	case !errors.As(err, &u):
		return retry(fallback, err.Error())
	case u.Stalled:
		return stall(u.Reason, err.Error())
	default:
		return retry(u.Reason, err.Error())
	}
}

// resolveSecrets reads what the mapping refers to. A deletion goes on without them: a request that needs one says so.
func (u *run) resolveSecrets(ctx context.Context) *lifecycle.Step {
	refs, err := u.program.SecretRefs(ctx, u.self)
	if err != nil && !u.facts.Deleting {
		return stall(v1alpha1.ReasonExpressionFailed, err.Error())
	}
	if err == nil {
		names := make([]string, len(refs))
		for i, ref := range refs {
			names[i] = ref.Name
		}
		u.usage.noteSecrets(u.key, names)
	}
	u.secrets = make(map[string]string, len(refs))
	for _, ref := range refs {
		value, err := u.Secrets.Value(ctx, u.key.Namespace, ref.Name, ref.Key)
		switch {
		case err == nil:
			u.secrets[ref.Input] = value
		case !u.facts.Deleting:
			return unavailable(err, v1alpha1.ReasonSecretNotFound)
		}
	}
	return nil
}

func (u *run) checkRules(ctx context.Context) *lifecycle.Step {
	if u.facts.Deleting {
		return nil
	}
	violations, err := u.pass.Rules(ctx)
	if err != nil {
		return stall(v1alpha1.ReasonExpressionFailed, err.Error())
	}
	if len(violations) == 0 {
		return nil
	}
	messages := make([]string, len(violations))
	for i, v := range violations {
		messages[i] = v.Message
	}
	return stall(violations[0].Reason, strings.Join(messages, "; "))
}

// resolveIdentifiers takes them from the record once there is one: the object keeps the name that it was made with.
func (u *run) resolveIdentifiers(ctx context.Context) *lifecycle.Step {
	chosen, err := u.pass.Identifiers(ctx)
	recorded := u.facts.Deleting && u.hasRecord()
	if err != nil && !recorded {
		return stall(v1alpha1.ReasonExpressionFailed, err.Error())
	}
	u.ids = chosen
	if u.hasRecord() {
		u.ids = map[string]string{}
		maps.Copy(u.ids, u.record.Identifiers)
		if !u.facts.Deleting {
			u.facts.IdentityChanged = differ(chosen, u.ids)
			u.renamed = renamed(chosen, u.ids)
		}
	}
	switch {
	case u.facts.Stored:
		maps.Copy(u.ids, u.stored)
	case u.answer.kind == lifecycle.AnswerAdopt:
		u.adoptAnswer()
	}
	u.pass.SetIdentifiers(u.ids)
	return nil
}

// adoptAnswer fills in the one identifier that the server assigns.
func (u *run) adoptAnswer() {
	for _, name := range u.program.AssignedIdentifiers() {
		if u.ids[name] == "" {
			u.ids[name] = u.answer.id
			return
		}
	}
}

func differ(chosen, recorded map[string]string) bool {
	return renamed(chosen, recorded) != ""
}

// renamed names the identifiers that are not as recorded, for people; empty when all are.
func renamed(chosen, recorded map[string]string) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(chosen)) {
		if was, is := recorded[name], chosen[name]; was != is {
			names = append(names, fmt.Sprintf("%s (created with %q, now %q)", name, was, is))
		}
	}
	return strings.Join(names, ", ")
}

// identified tells that every identifier is known.
func (u *run) identified() bool {
	for _, name := range u.program.IdentifierNames() {
		if u.ids[name] == "" {
			return false
		}
	}
	return true
}

// claim keeps another custom resource from managing the same object. Deletions do not claim: they act on what the
// record says is theirs.
func (u *run) claim(ctx context.Context) *lifecycle.Step {
	if u.facts.Deleting || !u.identified() || u.facts.Policy.Management == v1alpha1.ManagementObserveOnly {
		return nil
	}
	identity, err := u.identity(ctx)
	if err != nil {
		return stall(v1alpha1.ReasonExpressionFailed, err.Error())
	}
	holder, ok := u.Claims.Take(identity, u.obj.GetUID(), u.describe(), u.facts.Record == lifecycle.RecordCreated)
	if ok {
		return nil
	}
	_, what, _ := strings.Cut(identity, " ")
	return stall(v1alpha1.ReasonIdentityConflict, fmt.Sprintf("%s manages the object %s already; choose other identifiers, or delete one of the two", holder, what))
}

// identity names the object: the server, the path, and every identifier, since several objects can stand behind one path.
func (u *run) identity(ctx context.Context) (string, error) {
	path := u.program.Route(rest.List)
	if u.program.Supports(rest.Read) {
		req, err := u.pass.ReadRequest(ctx)
		if err != nil {
			return "", err
		}
		path = req.Path
	}
	names := slices.Sorted(maps.Keys(u.ids))
	values := url.Values{}
	for _, name := range names {
		values.Set(name, u.ids[name])
	}
	return u.endpoint.Identity() + " " + path + " " + values.Encode(), nil
}

func (u *run) describe() string {
	return u.obj.GroupVersionKind().Kind + " " + u.key.String()
}
