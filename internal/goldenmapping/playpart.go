package goldenmapping

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/mapping"
	"github.com/restmapping/operator/pkg/rest"
)

// partPlayer carries one part of a case from exchange to exchange.
type partPlayer struct {
	part     mapping.Part
	pass     *mapping.PartPass
	elements []mapping.Element
	// objects are those on the pages so far, items those of the whole list by key.
	objects []any
	items   map[string]mapping.Item
}

// partExchange makes a request about a part: its list, or what is done about one key.
func (p *player) partExchange(ctx context.Context, x Exchange) (rest.Request, error) {
	part, err := p.partOf(ctx, x.Part)
	if err != nil {
		return rest.Request{}, err
	}
	req, err := part.request(ctx, x, p.page)
	if err != nil {
		return rest.Request{}, err
	}
	resp := response(x)
	step, err := judge(ctx, part.pass.Pass, req, resp)
	if err != nil {
		return req, err
	}
	step.Part = x.Part
	if x.Key != "" {
		step.Part += "[" + x.Key + "]"
	}
	if step.Outcome == lifecycle.Success {
		err = p.takePart(ctx, part, x, resp, &step)
	}
	p.result.log(req, x)
	p.result.Steps = append(p.result.Steps, step)
	return req, err
}

// partOf gives the part of this name, with what the custom resource asks for.
func (p *player) partOf(ctx context.Context, name string) (*partPlayer, error) {
	if known := p.parts[name]; known != nil {
		return known, nil
	}
	for _, part := range p.kind.Program.Parts() {
		if part.Name() != name {
			continue
		}
		elements, err := p.pass.Elements(ctx, part)
		if err != nil {
			return nil, err
		}
		if p.parts == nil {
			p.parts = map[string]*partPlayer{}
		}
		p.parts[name] = &partPlayer{part: part, pass: p.pass.Part(part, p.observed), elements: elements}
		return p.parts[name], nil
	}
	return nil, fmt.Errorf("the mapping has no part %q", name)
}

func (p *partPlayer) request(ctx context.Context, x Exchange, page *mapping.Page) (rest.Request, error) {
	if x.Operation == rest.List {
		if page == nil {
			page = &mapping.Page{}
		}
		return p.pass.ListRequest(ctx, *page)
	}
	item := p.items[x.Key]
	identifiers, err := p.pass.Chosen(ctx, x.Key)
	if err != nil {
		return rest.Request{}, err
	}
	maps.Copy(identifiers, item.Identifiers)
	p.pass.At(x.Key, identifiers, p.element(x.Key))
	switch x.Operation {
	case rest.Create:
		return p.pass.CreateRequest(ctx)
	case rest.Update:
		return p.pass.UpdateRequest(ctx, item.Object)
	case rest.Delete:
		return p.pass.DeleteRequest(ctx, item.Object)
	default:
		return rest.Request{}, fmt.Errorf("%q is not an operation of a part", x.Operation)
	}
}

// element is what the custom resource asks for under a key, nil for nothing.
func (p *partPlayer) element(key string) *mapping.Element {
	i := slices.IndexFunc(p.elements, func(e mapping.Element) bool { return e.Key == key })
	if i < 0 {
		return nil
	}
	return &p.elements[i]
}

// takePart reads a successful answer.
func (p *player) takePart(ctx context.Context, part *partPlayer, x Exchange, resp *rest.Response, step *Step) error {
	switch x.Operation {
	case rest.List:
		return p.takePartPage(ctx, part, resp, step)
	case rest.Create:
		_, err := part.pass.Assigned(ctx, resp)
		return err
	default:
		return nil
	}
}

// takePartPage reads a page. After the last, each element is compared with its object.
func (p *player) takePartPage(ctx context.Context, part *partPlayer, resp *rest.Response, step *Step) error {
	current := mapping.Page{}
	if p.page != nil {
		current = *p.page
	}
	objects, next, err := part.pass.ListPage(ctx, resp, current)
	if err != nil {
		return err
	}
	part.objects = append(part.objects, objects...)
	if p.page = next; next != nil {
		return nil
	}
	items, err := part.pass.Items(ctx, part.objects)
	if err != nil {
		return err
	}
	part.items, part.objects = map[string]mapping.Item{}, nil
	for _, item := range items {
		part.items[item.Key] = item
		step.Keys = append(step.Keys, item.Key)
	}
	return part.compare(ctx, step)
}

func (p *partPlayer) compare(ctx context.Context, step *Step) error {
	for i := range p.elements {
		key := p.elements[i].Key
		item, there := p.items[key]
		if !there {
			continue
		}
		p.pass.At(key, item.Identifiers, &p.elements[i])
		comparison, err := p.pass.Compare(ctx, item.Object)
		if err != nil {
			return err
		}
		for _, path := range paths(comparison.Differences) {
			step.Differences = append(step.Differences, "["+key+"]."+path)
		}
	}
	return nil
}
