package status

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"gossiptrainer/internal/record"
	"gossiptrainer/node"
)

// exposed are the metrics of a program with their labels, and the values that each label may have.
type exposed map[string]map[string]map[string]bool

// scrape gets an address with the header Accept.
func scrape(t *testing.T, url, accept string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply, string(text)
}

// expose asks a server for the metrics of workers in every state, in a format.
func expose(t *testing.T, accept string) (exposed, string) {
	t.Helper()
	loss := 0.5
	found, all := exposed{"up": {"job": {"gossiptrainer": true}, "instance": nil}}, ""
	sample := regexp.MustCompile(`(?m)^([a-z_:]+)(?:\{(.*)\})? `)
	label := regexp.MustCompile(`([a-z_]+)="([^"]*)"`)
	for _, state := range []record.State{record.Starting, record.Joining, record.Training, record.Waiting,
		record.Returning, record.Testing, record.Finished, record.Failed, record.Lost} {
		s := node.Status{State: state, Loss: &loss, Waiting: []int{1}, Refused: map[string]int64{"stranger": 7},
			Links: []node.LinkStatus{{Neighbour: 2}}}
		at, stop, err := serveMetrics("127.0.0.1:0", 0, &collector{"r", guest{subject{s}, &membership, nil}})
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		_, all = scrape(t, "http://"+at+"/metrics", accept)
		for _, m := range sample.FindAllStringSubmatch(all, -1) {
			if found[m[1]] == nil {
				found[m[1]] = map[string]map[string]bool{"job": {"gossiptrainer": true}, "instance": nil}
			}
			for _, l := range label.FindAllStringSubmatch(m[2], -1) {
				if found[m[1]][l[1]] == nil {
					found[m[1]][l[1]] = map[string]bool{}
				}
				found[m[1]][l[1]][l[2]] = true
			}
		}
	}
	return found, all
}

// Parts of an expression in PromQL.
var (
	selector = regexp.MustCompile(`\b([a-z]+_[a-z_]+|up)\b(?:\{([^}]*)\})?(\()?`)
	matcher  = regexp.MustCompile(`([a-z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	grouping = regexp.MustCompile(`\b(?:by|without|on|ignoring)\s*\(([^)]*)\)`)
	shown    = regexp.MustCompile(`\{\{\s*(?:\$labels\.)?([a-z_]+)\s*\}\}`)
)

// wrong lists what an expression, and texts with labels of its result, name that the program does not have.
func (e exposed) wrong(expr string, texts ...string) (wrong []string) {
	labels := map[string]bool{}
	groups := grouping.ReplaceAllString(expr, "")
	for _, m := range selector.FindAllStringSubmatch(groups, -1) {
		if m[3] != "" {
			continue // a function
		}
		of, known := e[m[1]]
		if !known {
			wrong = append(wrong, "metric "+m[1])
			continue
		}
		for name := range of {
			labels[name] = true
		}
		for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
			values, known := of[l[1]]
			if !known {
				wrong = append(wrong, "label "+l[1]+" of "+m[1])
			}
			for value := range strings.SplitSeq(l[3], "|") {
				if !strings.HasPrefix(value, "$") && !values[value] {
					wrong = append(wrong, "value "+value+" of "+l[1]+" of "+m[1])
				}
			}
		}
	}
	for _, m := range grouping.FindAllStringSubmatch(expr, -1) {
		for name := range strings.SplitSeq(m[1], ",") {
			if name = strings.TrimSpace(name); !labels[name] {
				wrong = append(wrong, "label "+name)
			}
		}
	}
	for _, text := range texts {
		for _, m := range shown.FindAllStringSubmatch(text, -1) {
			if !labels[m[1]] {
				wrong = append(wrong, "label "+m[1])
			}
		}
	}
	return wrong
}

// deployed reads a file of deploy.
func deployed(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Every metric, label and value of a label in the alert rules is one of the program.
func TestAlertsNameMetricsOfTheProgram(t *testing.T) {
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Labels      map[string]string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.UnmarshalWithOptions(deployed(t, "prometheus/alerts.yml"), &file); err != nil {
		t.Fatal(err)
	}
	have, _ := expose(t, "")
	for _, rule := range file.Groups[0].Rules {
		if wrong := have.wrong(rule.Expr, rule.Annotations["summary"]); len(wrong) > 0 || rule.Expr == "" {
			t.Errorf("%s: there is no %s", rule.Alert, strings.Join(wrong, ", "))
		}
		if rule.Annotations["description"] == "" || rule.Labels["severity"] == "" {
			t.Errorf("%s: no description or severity", rule.Alert)
		}
	}
	if len(file.Groups[0].Rules) == 0 {
		t.Error("there are no rules")
	}
}

// The same holds for the dashboard, which shows every metric of the program.
func TestTheDashboardNamesMetricsOfTheProgram(t *testing.T) {
	var board struct {
		Templating struct{ List []struct{ Query string } }
		Panels     []struct {
			ID                 int
			Title, Description string
			Targets            []struct{ Expr, LegendFormat string }
		}
	}
	text := deployed(t, "grafana/gossiptrainer.json")
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	have, _ := expose(t, "")
	ids := map[int]bool{}
	for _, panel := range board.Panels {
		if ids[panel.ID] || panel.Description == "" || len(panel.Targets) == 0 {
			t.Errorf("%s: another panel has its id, or it lacks a description or a query", panel.Title)
		}
		ids[panel.ID] = true
		for _, target := range panel.Targets {
			if wrong := have.wrong(target.Expr, target.LegendFormat); len(wrong) > 0 {
				t.Errorf("%s: there is no %s", panel.Title, strings.Join(wrong, ", "))
			}
		}
	}
	for _, variable := range board.Templating.List {
		metric, values := strings.CutPrefix(variable.Query, "label_values(")
		if wrong := have.wrong(metric); values && len(wrong) > 0 {
			t.Errorf("variable %s: there is no %s", variable.Query, strings.Join(wrong, ", "))
		}
	}
	for name := range have {
		if strings.HasPrefix(name, "gossip_") && !strings.Contains(string(text), name+"{") {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}

// Grafana imports a dashboard with a version of its schema. Its queries go to the source that the user chooses, and its
// panels lie on 24 columns and do not overlap. A script, test/readers/metrics.sh, checks the types of all fields.
func TestTheDashboardIsForAnyDataSource(t *testing.T) {
	type source struct{ Type, UID string }
	var board struct {
		UID, Title    string
		SchemaVersion int
		Inputs        []any `json:"__inputs"`
		Templating    struct {
			List []struct {
				Name, Type, Query string
				Datasource        *source
			}
		}
		Panels []struct {
			Title      string
			Datasource source
			GridPos    struct{ X, Y, W, H int }
			Targets    []struct {
				RefID      string
				Datasource source
			}
		}
	}
	if err := json.Unmarshal(deployed(t, "grafana/gossiptrainer.json"), &board); err != nil {
		t.Fatal(err)
	}
	chosen := source{"prometheus", "${source}"}
	if v := board.Templating.List[0]; v.Name != "source" || v.Type != "datasource" || v.Query != chosen.Type {
		t.Errorf("the first variable is %+v, want the data source", v)
	}
	if board.UID == "" || board.Title == "" || board.SchemaVersion < 36 || len(board.Inputs) > 0 {
		t.Errorf("uid %q, title %q, schema %d, inputs %v", board.UID, board.Title, board.SchemaVersion, board.Inputs)
	}
	taken := map[[2]int]string{}
	for _, p := range board.Panels {
		refs := map[string]bool{}
		for _, target := range p.Targets {
			if target.Datasource != chosen || refs[target.RefID] || target.RefID == "" {
				t.Errorf("%s: query %q with source %v", p.Title, target.RefID, target.Datasource)
			}
			refs[target.RefID] = true
		}
		if at := p.GridPos; p.Datasource != chosen || at.X < 0 || at.X+at.W > 24 || at.W <= 0 || at.H <= 0 {
			t.Errorf("%s: source %v, place %v", p.Title, p.Datasource, at)
		}
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				cell := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if taken[cell] != "" {
					t.Fatalf("%s overlaps %s", p.Title, taken[cell])
				}
				taken[cell] = p.Title
			}
		}
	}
}

// The page about operations lists every metric.
func TestThePageListsEveryMetric(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	have, _ := expose(t, "")
	for name := range have {
		if strings.HasPrefix(name, "gossip_") && !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/operations.md does not list %s", name)
		}
	}
	for _, m := range regexp.MustCompile("`(gossip_[a-z_]+)`").FindAllStringSubmatch(string(page), -1) {
		if have[m[1]] == nil {
			t.Errorf("docs/operations.md lists %s, which there is not", m[1])
		}
	}
}

// The test of names finds wrong ones.
func TestWrongNamesAreFound(t *testing.T) {
	have, _ := expose(t, "")
	for expr, want := range map[string]string{
		`rate(gossip_bites_total[2m])`:                  "metric gossip_bites_total",
		`gossip_round{rang="1"}`:                        "label rang of gossip_round",
		`gossip_state{state=~"failed|lots"}`:            "value lots of state of gossip_state",
		`sum by (neighbor) (gossip_link_up)`:            "label neighbor",
		`gossip_seconds_total{of="sleep"} / 2`:          "value sleep of of of gossip_seconds_total",
		`sum without (of) (rate(gossip_loss[1m])) == 0`: "label of",
	} {
		if got := have.wrong(expr); len(got) != 1 && got[0] != want || got[0] != want {
			t.Errorf("%s: found %q, want %q", expr, got, want)
		}
	}
	got := have.wrong("gossip_round", "worker {{ $labels.neighbour }}")
	if want := []string{"label neighbour"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// With OpenMetrics, names end in their unit, and the answer says which it is.
func TestOpenMetricsHaveUnits(t *testing.T) {
	_, text := expose(t, "application/openmetrics-text;version=1.0.0")
	for _, want := range []string{
		"# UNIT gossip_seconds seconds", "# UNIT gossip_bytes bytes", "# UNIT gossip_link_bytes bytes",
		"# UNIT gossip_telemetry_bytes bytes", "# EOF",
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if got := strings.Count(text, "# UNIT gossip_"); got != 4 {
		t.Errorf("%d units, want 4", got)
	}
}

// The example asks the address of the documents for the job of the rules.
func TestTheScrapeExampleFitsTheRules(t *testing.T) {
	var file struct {
		RuleFiles []string `yaml:"rule_files"`
		Scrape    []struct {
			Job     string                       `yaml:"job_name"`
			Targets []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	if err := yaml.Unmarshal(deployed(t, "prometheus/prometheus.yml"), &file); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(file.RuleFiles, []string{"alerts.yml"}) || len(file.Scrape) != 1 ||
		file.Scrape[0].Job != "gossiptrainer" || file.Scrape[0].Targets[0].Targets[0] != "127.0.0.1:9464" {
		t.Errorf("%+v", file)
	}
}
