package dashboard

import (
	"encoding/json"
	"fmt"
)

// Grafana's model of a dashboard, as far as it is used here (schema 39).
type (
	board struct {
		UID           string     `json:"uid"`
		Title         string     `json:"title"`
		Description   string     `json:"description"`
		Tags          []string   `json:"tags"`
		SchemaVersion int        `json:"schemaVersion"`
		Refresh       string     `json:"refresh"`
		Time          timeRange  `json:"time"`
		Templating    templating `json:"templating"`
		Panels        []panel    `json:"panels"`
	}
	timeRange struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
	templating struct {
		List []variable `json:"list"`
	}
	variable struct {
		Name       string      `json:"name"`
		Label      string      `json:"label"`
		Type       string      `json:"type"`
		Query      string      `json:"query"`
		Datasource *datasource `json:"datasource,omitempty"`
		Multi      bool        `json:"multi"`
		IncludeAll bool        `json:"includeAll"`
		AllValue   string      `json:"allValue,omitempty"`
		Refresh    int         `json:"refresh,omitempty"`
	}
	datasource struct {
		Type string `json:"type"`
		UID  string `json:"uid"`
	}
	panel struct {
		ID          int          `json:"id"`
		Type        string       `json:"type"`
		Title       string       `json:"title"`
		Description string       `json:"description,omitempty"`
		GridPos     place        `json:"gridPos"`
		Datasource  *datasource  `json:"datasource,omitempty"`
		FieldConfig *fieldConfig `json:"fieldConfig,omitempty"`
		Targets     []target     `json:"targets,omitempty"`
	}
	place struct {
		H int `json:"h"`
		W int `json:"w"`
		X int `json:"x"`
		Y int `json:"y"`
	}
	fieldConfig struct {
		Defaults fieldDefaults `json:"defaults"`
		// Overrides must be there, and is empty.
		Overrides []struct{} `json:"overrides"`
	}
	fieldDefaults struct {
		Unit string   `json:"unit"`
		Min  *float64 `json:"min,omitempty"`
	}
	target struct {
		RefID        string      `json:"refId"`
		Expr         string      `json:"expr"`
		LegendFormat string      `json:"legendFormat"`
		Datasource   *datasource `json:"datasource"`
	}
)

// query is one line of a panel.
type query struct{ expr, legend string }

// graph is what a panel shows.
type graph struct {
	title, description, unit string
	// kind is Grafana's type of panel; timeseries when it is empty.
	kind    string
	queries []query
}

// row is a heading with its panels.
type row struct {
	title  string
	graphs []graph
}

// The size of panels: three in a row of 24 columns.
const (
	columns = 24
	width   = 8
	height  = 8
)

// JSON gives the dashboard as Grafana reads it.
func JSON() ([]byte, error) {
	source := &datasource{Type: "prometheus", UID: "${datasource}"}
	b := board{
		UID: "restmapping-operator", Title: "RestMapping operator",
		Description: "Custom resources that are kept in sync with REST APIs. Made from the metrics in docs/metrics.md.",
		Tags:        []string{"restmapping", "kubernetes"}, SchemaVersion: 39, Refresh: "1m", Time: timeRange{"now-3h", "now"},
		Templating: templating{[]variable{
			{Name: "datasource", Label: "Data source", Type: "datasource", Query: "prometheus"},
			choice("mapping", "Mapping", `label_values(restmapping_mapping_condition, mapping)`, source),
			choice("endpoint", "Endpoint", `label_values(restmapping_endpoint_condition, endpoint)`, source),
		}},
	}
	y, id := 0, 0
	next := func() int { id++; return id }
	least := 0.0
	for _, r := range rows() {
		b.Panels = append(b.Panels, panel{ID: next(), Type: "row", Title: r.title, GridPos: place{H: 1, W: columns, Y: y}})
		y++
		for i, g := range r.graphs {
			p := panel{
				ID: next(), Type: g.kind, Title: g.title, Description: g.description, Datasource: source,
				GridPos:     place{H: height, W: width, X: i % (columns / width) * width, Y: y + i/(columns/width)*height},
				FieldConfig: &fieldConfig{Defaults: fieldDefaults{Unit: g.unit, Min: &least}, Overrides: []struct{}{}},
			}
			if p.Type == "" {
				p.Type = "timeseries"
			}
			for n, q := range g.queries {
				p.Targets = append(p.Targets, target{RefID: string(rune('A' + n)), Expr: q.expr, LegendFormat: q.legend, Datasource: source})
			}
			b.Panels = append(b.Panels, p)
		}
		y += (len(r.graphs) + columns/width - 1) / (columns / width) * height
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the dashboard: %w", err)
	}
	return append(text, '\n'), nil
}

func choice(name, label, values string, source *datasource) variable {
	return variable{Name: name, Label: label, Type: "query", Query: values, Datasource: source, Multi: true, IncludeAll: true, AllValue: ".*", Refresh: 2}
}
