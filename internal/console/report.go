package console

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine"
)

// Report is what GET /status tells.
type Report struct {
	Version string    `json:"version"`
	Time    time.Time `json:"time"`
	// Leading tells whether this replica acts; another knows mappings and endpoints, and no object. Leader names the one
	// that acts, where that is known.
	Leading   bool             `json:"leading"`
	Leader    string           `json:"leader,omitempty"`
	Mappings  []MappingReport  `json:"mappings"`
	Endpoints []EndpointReport `json:"endpoints"`
	Objects   []ObjectReport   `json:"objects"`
	// More is how many objects were left out because of the limit.
	More int `json:"more,omitempty"`
}

// MappingReport is one mapping, with how many custom resources are in which state.
type MappingReport struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"`
	Endpoint    string `json:"endpoint"`
	Ready       bool   `json:"ready"`
	Reason      string `json:"reason,omitempty"`
	Message     string `json:"message,omitempty"`
	Objects     int    `json:"objects"`
	Synced      int    `json:"readyObjects"`
	Progressing int    `json:"progressing"`
	Stalled     int    `json:"stalled"`
	Deleting    int    `json:"deleting"`
	Queued      int    `json:"queued"`
}

// EndpointReport is one endpoint.
type EndpointReport struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Ready     bool   `json:"ready"`
	Reason    string `json:"reason,omitempty"`
	Message   string `json:"message,omitempty"`
}

// ObjectReport is one custom resource.
type ObjectReport struct {
	Mapping   string     `json:"mapping"`
	Kind      string     `json:"kind"`
	Namespace string     `json:"namespace,omitempty"`
	Name      string     `json:"name"`
	State     State      `json:"state"`
	Reason    string     `json:"reason,omitempty"`
	Message   string     `json:"message,omitempty"`
	Endpoint  string     `json:"endpoint,omitempty"`
	LastPass  *time.Time `json:"lastPass,omitempty"`
	LastStep  string     `json:"lastStep,omitempty"`
	// Command shows the object.
	Command string `json:"command"`
}

// State is where a custom resource is. The order is that of urgency.
type State string

// The states of a custom resource, each excluding those before it.
const (
	Deleting    State = "Deleting"
	Stalled     State = "Stalled"
	Progressing State = "Progressing"
	Ready       State = "Ready"
)

func stateOf(v engine.View) State {
	switch {
	case v.Deleting:
		return Deleting
	case v.Stalled:
		return Stalled
	case v.Ready:
		return Ready
	default:
		return Progressing
	}
}

// urgency sorts what needs a person before what does not.
func urgency(s State) int { return slices.Index([]State{Stalled, Deleting, Progressing, Ready}, s) }

func (c *console) report(ctx context.Context, f filter) (Report, error) {
	r := Report{
		Version: c.Version, Time: c.Clock.Now().UTC().Truncate(time.Second), Leading: c.Leading(),
		Mappings: []MappingReport{}, Endpoints: []EndpointReport{}, Objects: []ObjectReport{},
	}
	r.Leader = c.Leader(ctx)
	mappings, err := c.listMappings(ctx)
	if err != nil {
		return r, err
	}
	for i := range mappings {
		if f.mapping != "" && f.mapping != mappings[i].Name {
			continue
		}
		of, objects := c.mapping(ctx, &mappings[i], f)
		r.Mappings = append(r.Mappings, of)
		r.Objects = append(r.Objects, objects...)
	}
	if r.Endpoints, err = c.endpoints(ctx, f); err != nil {
		return r, err
	}
	slices.SortFunc(r.Objects, func(a, b ObjectReport) int {
		return cmp.Or(cmp.Compare(urgency(a.State), urgency(b.State)), strings.Compare(a.Mapping, b.Mapping),
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	if len(r.Objects) > f.limit {
		r.More = len(r.Objects) - f.limit
		r.Objects = r.Objects[:f.limit]
	}
	return r, nil
}

func (c *console) listMappings(ctx context.Context) ([]v1alpha1.RestMapping, error) {
	var list v1alpha1.RestMappingList
	if err := c.Reader.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list RestMappings: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.RestMapping) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, nil
}

// mapping counts the custom resources of a mapping and gives those that the filter lets through.
func (c *console) mapping(ctx context.Context, m *v1alpha1.RestMapping, f filter) (MappingReport, []ObjectReport) {
	of := MappingReport{Name: m.Name, Kind: m.Spec.Target.Kind, Endpoint: m.Status.Endpoint}
	of.Ready, of.Reason, of.Message = readiness(m.Status.Conditions)
	if state, running := c.Engine.State(m.Name); running {
		of.Queued = state.Queue.Ready
	}
	var objects []ObjectReport
	views, running := c.Engine.Views(ctx, m.Name)
	if !running && m.Status.Objects != nil { // what the replica that acts has written down
		of.Objects, of.Synced, of.Stalled = int(m.Status.Objects.Total), int(m.Status.Objects.Ready), int(m.Status.Objects.Stalled)
		of.Progressing = max(0, of.Objects-of.Synced-of.Stalled)
	}
	for _, v := range views {
		of = of.and(stateOf(v))
		if f.shows(v) {
			objects = append(objects, objectReport(m, v))
		}
	}
	return of, objects
}

// and counts one more custom resource.
func (m MappingReport) and(s State) MappingReport {
	m.Objects++
	switch s {
	case Deleting:
		m.Deleting++
	case Stalled:
		m.Stalled++
	case Ready:
		m.Synced++
	case Progressing:
		m.Progressing++
	}
	return m
}

func objectReport(m *v1alpha1.RestMapping, v engine.View) ObjectReport {
	o := ObjectReport{
		Mapping: m.Name, Kind: m.Spec.Target.Kind, Namespace: v.Key.Namespace, Name: v.Key.Name, State: stateOf(v),
		Reason: v.Reason, Message: v.Message, Endpoint: v.Endpoint, LastStep: v.End,
	}
	if !v.LastPass.IsZero() {
		at := v.LastPass.UTC().Truncate(time.Second)
		o.LastPass = &at
	}
	// With version and group, because several groups may have a kind of this name.
	o.Command = fmt.Sprintf("kubectl describe %s.%s.%s %s", m.Spec.Target.Kind, m.Spec.Target.Version, m.Spec.Target.Group, v.Key.Name)
	if v.Key.Namespace != "" {
		o.Command += " -n " + v.Key.Namespace
	}
	return o
}

func (c *console) endpoints(ctx context.Context, f filter) ([]EndpointReport, error) {
	reports := []EndpointReport{}
	var own v1alpha1.RestEndpointList
	if err := c.Reader.List(ctx, &own); err != nil {
		return reports, fmt.Errorf("list RestEndpoints: %w", err)
	}
	var shared v1alpha1.ClusterRestEndpointList
	if err := c.Reader.List(ctx, &shared); err != nil {
		return reports, fmt.Errorf("list ClusterRestEndpoints: %w", err)
	}
	for i := range shared.Items {
		e := &shared.Items[i]
		reports = append(reports, endpointReport("ClusterRestEndpoint", &e.ObjectMeta, e.Status.Conditions))
	}
	for i := range own.Items {
		e := &own.Items[i]
		if f.namespace == "" || f.namespace == e.Namespace {
			reports = append(reports, endpointReport("RestEndpoint", &e.ObjectMeta, e.Status.Conditions))
		}
	}
	slices.SortFunc(reports, func(a, b EndpointReport) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return reports, nil
}

func endpointReport(kind string, of *metav1.ObjectMeta, conditions []metav1.Condition) EndpointReport {
	e := EndpointReport{Kind: kind, Namespace: of.Namespace, Name: of.Name}
	e.Ready, e.Reason, e.Message = readiness(conditions)
	return e
}

func readiness(conditions []metav1.Condition) (ready bool, reason, message string) {
	c := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	if c == nil {
		return false, "", ""
	}
	return c.Status == metav1.ConditionTrue, c.Reason, c.Message
}
