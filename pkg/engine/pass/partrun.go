package pass

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/lifecycle/parts"
	"github.com/restmapping/operator/pkg/mapping"
	"github.com/restmapping/operator/pkg/rest"
)

// partRun is the look at one part in one pass.
type partRun struct {
	*run
	part mapping.Part
	pass *mapping.PartPass
	// now is when the look began: what is decided on it is decided as of then.
	now      time.Time
	elements map[string]*mapping.Element
	order    []string
	memories map[string]*partMemory
	facts    parts.Facts
	// items are the objects in the list by key.
	items map[string][]mapping.Item
	// assigned are they by what the server has assigned to them.
	assigned map[string]*mapping.Item
	// tooMany tells that the record cannot hold all of them.
	tooMany error
	// unlike are the paths in which an object of ours differs, by key.
	unlike map[string][]string
	// create is the request whose intent was written, last that no other key needs one.
	create rest.Request
	last   bool
}

func (u *run) newPart(part mapping.Part) *partRun {
	p := &partRun{
		run: u, part: part, pass: u.pass.Part(part, u.observed), now: u.Clock.Now(), elements: map[string]*mapping.Element{},
		memories: u.mem.partMemories(part.Name()), items: map[string][]mapping.Item{},
		assigned: map[string]*mapping.Item{}, unlike: map[string][]string{},
		facts: parts.Facts{
			Look: lifecycle.LookNotYet, Deleting: u.facts.Deleting, Policy: u.facts.Policy, Prune: part.Prune(),
			CanCreate: part.Supports(rest.Create), CanUpdate: part.Supports(rest.Update), CanDelete: part.Supports(rest.Delete),
			ByKey: !part.AssignsIdentifiers(), Spent: u.spentOnPart,
		},
	}
	for i := range u.elements[part.Name()] {
		element := &u.elements[part.Name()][i]
		p.elements[element.Key] = element
		p.order = append(p.order, element.Key)
	}
	p.remember()
	return p
}

// remember begins a memory for each recorded object that this process does not know.
func (p *partRun) remember() {
	for key := range p.entries() {
		if p.memories[key] == nil {
			p.memories[key] = &partMemory{since: p.now}
		}
	}
}

// entries are what the record says of the part.
func (p *partRun) entries() lifecycle.PartEntries { return p.record.Parts[p.part.Name()] }

// memory gives what is known about a key.
func (p *partRun) memory(key string) *partMemory {
	if p.memories[key] == nil {
		p.memories[key] = &partMemory{}
	}
	return p.memories[key]
}

// maxPartSteps bounds the steps of one part in one pass.
const maxPartSteps = 16

// work asks for steps and carries them out until one ends the look.
func (p *partRun) work(ctx context.Context) parts.Step {
	for range maxPartSteps {
		if p.facts.Look == lifecycle.LookFound {
			p.facts.Keys = p.keys(ctx)
		}
		step := parts.Next(p.facts)
		if step.Key != "" && step.Action != parts.Create { // the intent of a create has told
			p.last = step.Last
		}
		if p.plans && step.Action != parts.List && step.Action != parts.End {
			p.foreseen = append(p.foreseen, foreseenPart(p.part.Name(), step))
			return parts.Step{Action: parts.End}
		}
		switch step.Action {
		case parts.List:
			p.lookAgain()
			p.list(ctx)
		case parts.Write:
			p.write(ctx, step)
		case parts.Create:
			p.sendCreate(ctx, step.Key)
		case parts.Update:
			p.sendUpdate(ctx, step.Key)
		case parts.Delete:
			p.sendDelete(ctx, step.Key)
		case parts.End:
			return step
		}
		switch {
		case p.writeErr != nil:
			return parts.Step{Action: parts.End}
		case p.tooMany != nil:
			return parts.Step{Action: parts.End, Problems: []parts.Problem{{Reason: v1alpha1.ReasonRuleViolated, Message: p.tooMany.Error()}}}
		}
	}
	return parts.Step{Action: parts.End, Again: true}
}

// lookAgain forgets what was seen before the request of this pass.
func (p *partRun) lookAgain() {
	if p.facts.Sent == nil {
		return
	}
	p.facts.Sent, p.facts.Spent, p.now = nil, true, p.Clock.Now()
	p.items, p.assigned, p.unlike = map[string][]mapping.Item{}, map[string]*mapping.Item{}, map[string][]string{}
}

// list reads all objects of the part. A list that cannot be read to its end says nothing.
func (p *partRun) list(ctx context.Context) {
	p.facts.Look = lifecycle.LookFailed
	var found []any
	for page := (mapping.Page{}); ; {
		req, err := p.pass.ListRequest(ctx, page)
		if err != nil {
			p.unlisted(rest.Request{Operation: rest.List, Route: p.part.Route(rest.List)}, 0, err)
			return
		}
		x, verdict, err := p.ask(ctx, req)
		switch {
		case err != nil:
			p.unlisted(req, 0, err)
			return
		case verdict.Outcome == lifecycle.Absent: // the mapping declares that it is empty
			p.see(ctx, req, found)
			return
		case verdict.Outcome != lifecycle.Success:
			p.fail(req, x, verdict)
			p.failure.verdict.Message = "parts." + p.part.Name() + ": " + p.failure.verdict.Message
			return
		}
		objects, next, err := p.pass.ListPage(ctx, x.Response, page)
		if err != nil {
			p.unlisted(req, x.Response.Status, err)
			return
		}
		found = append(found, objects...)
		if next == nil || len(found) > mapping.MaxListedItems {
			p.see(ctx, req, found)
			return
		}
		page = *next
	}
}

func (p *partRun) unlisted(req rest.Request, status int, err error) {
	p.failure = &requestFailure{operation: rest.List, status: status, verdict: lifecycle.Verdict{
		Outcome: lifecycle.Failed, Reason: v1alpha1.ReasonObservationFailed,
		Message: p.redact(fmt.Sprintf("parts.%s: %s %s: %s", p.part.Name(), req.Method, req.Route, err.Error())),
	}}
}

func (p *partRun) ask(ctx context.Context, req rest.Request) (rest.Exchange, lifecycle.Verdict, error) {
	x := p.do(ctx, req)
	declared, err := declaredBy(ctx, p.pass.Pass, req, x)
	return x, lifecycle.Classify(req, x, declared), err
}

// see takes the objects of the part out of a list that was read to its end.
func (p *partRun) see(ctx context.Context, req rest.Request, objects []any) {
	items, err := p.pass.Items(ctx, objects)
	if err != nil {
		p.unlisted(req, 0, err)
		return
	}
	for i, item := range items {
		p.items[item.Key] = append(p.items[item.Key], item)
		p.assigned[p.part.Assigned(item.Identifiers)] = &items[i]
	}
	p.facts.Look = lifecycle.LookFound
	for key := range p.memories {
		_, recorded := p.entries()[key]
		if !recorded && p.elements[key] == nil && len(p.items[key]) == 0 {
			delete(p.memories, key)
		}
	}
	p.noteDrift(p.keys(ctx))
}

// own gives the object that the record speaks of, where the list shows it. The server's identifier tells it even where
// somebody has changed its key.
func (p *partRun) own(key string, entry lifecycle.PartEntry) *mapping.Item {
	if entry.Creating {
		return nil
	}
	if p.facts.ByKey {
		if len(p.items[key]) == 0 {
			return nil
		}
		return &p.items[key][0]
	}
	if assigned := p.part.Assigned(entry.Identifiers); assigned != "" {
		return p.assigned[assigned]
	}
	return nil
}

// keys puts together what is known of each key.
func (p *partRun) keys(ctx context.Context) []parts.Key {
	recorded := p.entries()
	names := slices.Clone(p.order)
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		if p.elements[name] == nil {
			names = append(names, name)
		}
	}
	owned := map[string]bool{}
	keys := make([]parts.Key, 0, len(names))
	for _, name := range names {
		entry, known := recorded[name]
		k := parts.Key{Name: name, Wanted: p.elements[name] != nil, Others: len(p.items[name])}
		var own *mapping.Item
		if known {
			k.State = parts.Made
			if entry.Creating {
				k.State = parts.Creating
			}
			own = p.own(name, entry)
		}
		if own != nil {
			owned[own.Key] = true
			k.Own = true
			if own.Key == name {
				k.Others--
			}
			p.compare(ctx, &k, own)
		}
		p.times(&k, known && own == nil && !entry.Creating)
		keys = append(keys, k)
	}
	return append(keys, p.foreign(names, owned)...)
}

// foreign are the keys of objects that nobody asked for, where all of them are pruned.
func (p *partRun) foreign(known []string, owned map[string]bool) []parts.Key {
	if p.facts.Prune != v1alpha1.PruneAll {
		return nil
	}
	var keys []parts.Key
	for _, name := range slices.Sorted(maps.Keys(p.items)) {
		if owned[name] || slices.Contains(known, name) {
			continue
		}
		k := parts.Key{Name: name, Others: len(p.items[name])}
		p.times(&k, false)
		keys = append(keys, k)
	}
	return keys
}

// times fills in what this process knows of a key. lost tells that the object of the record is not in the list.
func (p *partRun) times(k *parts.Key, lost bool) {
	m := p.memory(k.Name)
	switch {
	case k.Own:
		m.unseen, m.gone, m.absentAt = false, false, noTime
	case !lost:
		m.absentAt = noTime
	}
	m.facts(k, p.now, p.timing())
	if lost && m.absentAt.IsZero() {
		m.absentAt = p.now
	}
	same := m.heldGeneration == p.obj.GetGeneration() && m.heldProgram == p.program
	k.Held = same && p.now.Before(m.heldUntil)
	k.JustWritten = m.acceptedGeneration == p.obj.GetGeneration() && m.acceptedProgram == p.program && p.now.Sub(m.lastWrite) < p.timing().Window
}

// compare finds what differs in an object of ours.
func (p *partRun) compare(ctx context.Context, k *parts.Key, own *mapping.Item) {
	if !k.Wanted || p.facts.Deleting {
		return
	}
	p.pass.At(k.Name, own.Identifiers, p.elements[k.Name])
	comparison, err := p.pass.Compare(ctx, own.Object)
	if err != nil {
		p.holdExpression(k.Name, rest.Update, err)
		return
	}
	k.Equal = len(comparison.Differences)+len(comparison.Immutable) == 0
	k.Immutable = len(comparison.Immutable) > 0
	p.unlike[k.Name] = pathsOf(slices.Concat(comparison.Differences, comparison.Immutable))
	if k.Equal {
		p.memory(k.Name).failures = 0
	}
}

// noteDrift: a difference is drift when this generation was in sync before, and nothing was sent about it.
func (p *partRun) noteDrift(keys []parts.Key) {
	if !p.settledGeneration() || p.run.facts.Deleting {
		return
	}
	for _, k := range keys {
		gone := !k.Own && k.AbsentBefore
		if k.Wanted && k.State == parts.Made && (gone || k.Own && !k.Equal) && p.memory(k.Name).failures == 0 {
			p.drifted = append(p.drifted, differencesAt(p.differing(k.Name))...)
		}
	}
}

// place names an element in messages and in status.drift.
func (p *partRun) place(key string) string {
	if key == "" {
		return "parts." + p.part.Name()
	}
	return "parts." + p.part.Name() + "[" + key + "]"
}

// differing gives the paths in which an object differs; the object as a whole where there is nothing to compare.
func (p *partRun) differing(key string) []string {
	if len(p.unlike[key]) == 0 {
		return []string{p.place(key)}
	}
	paths := make([]string, 0, len(p.unlike[key]))
	for _, path := range p.unlike[key] {
		paths = append(paths, p.place(key)+"."+path)
	}
	return paths
}

// delay says how long a key is waited for.
func (p *partRun) delay(w parts.Waiting) time.Duration {
	m, t := p.memory(w.Key), p.timing()
	switch w.Delay {
	case lifecycle.DelaySettle:
		return max(m.since.Add(t.Settle()).Sub(p.now), m.openUntil.Sub(p.now))
	case lifecycle.DelayConsistency:
		wait := m.lastWrite.Add(t.Window).Sub(p.now)
		if !m.clean {
			wait = max(wait, m.since.Add(t.Window).Sub(p.now))
		}
		return wait
	default:
		return shortDelay
	}
}
