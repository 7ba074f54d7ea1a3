package status

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// openMetrics lists the lines of a text that break the rules of OpenMetrics 1.0 for families. The lines of a family
// stand together. They begin with its metadata, each at most once. Samples of counters end in _total, names end in
// their unit, and the last line is # EOF.
func openMetrics(text string) (wrong []string) {
	type family struct{ kind, unit string }
	complain := func(n int, format string, args ...any) {
		wrong = append(wrong, fmt.Sprintf("line %d: ", n+1)+fmt.Sprintf(format, args...))
	}
	families, current, sampled, said := map[string]*family{}, "", false, map[string]bool{}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for n, line := range lines {
		if (line == "# EOF") != (n == len(lines)-1) {
			complain(n, "%q: # EOF is the last line, and no other", line)
		}
		if word, rest, ok := strings.Cut(strings.TrimPrefix(line, "# "), " "); ok && strings.HasPrefix(line, "# ") {
			name, value, _ := strings.Cut(rest, " ")
			if name != current {
				if families[name] != nil {
					complain(n, "%s begins again", name)
				}
				families[name], current, sampled, said = &family{}, name, false, map[string]bool{}
			}
			if sampled || said[word] {
				complain(n, "%s of %s after its samples, or twice", word, name)
			}
			said[word] = true
			switch word {
			case "TYPE":
				families[name].kind = value
			case "UNIT":
				if families[name].unit = value; !strings.HasSuffix(name, "_"+value) {
					complain(n, "%s does not end in its unit %s", name, value)
				}
			}
		} else if line != "# EOF" {
			sampled = true
			name := line[:strings.IndexAny(line, "{ ")]
			of := families[current]
			switch {
			case of == nil || !strings.HasPrefix(name, current):
				complain(n, "a sample of %s among those of %s", name, current)
			case of.kind == "counter" && name != current+"_total":
				complain(n, "the counter %s does not end in _total", name)
			case of.kind == "gauge" && name != current:
				complain(n, "the gauge %s is not named %s", name, current)
			}
		}
	}
	return wrong
}

// The linter of Prometheus, which has a parser of its own, finds nothing in the metrics of the program.
func TestTheLinterOfPrometheusFindsNothing(t *testing.T) {
	_, text := expose(t, "")
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "gossip_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

func TestTheAnswerIsOpenMetrics(t *testing.T) {
	_, text := expose(t, openMetricsType)
	for _, line := range openMetrics(text) {
		t.Error(line)
	}
	if !strings.Contains(text, "gossip_link_bytes_total{") || !strings.Contains(text, "go_goroutines ") {
		t.Errorf("families are missing in\n%s", text)
	}
}

const openMetricsType = "application/openmetrics-text;version=1.0.0"

// All metrics of Go are not OpenMetrics: a gauge and a counter have one name. Other faults are found as well.
func TestFaultsOfAnAnswerAreFound(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector())
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	defer server.Close()
	_, text := scrape(t, server.URL, openMetricsType)
	if wrong := openMetrics(text); len(wrong) == 0 {
		t.Errorf("nothing is wrong in\n%s", text)
	}
	for text, want := range map[string]string{
		"# TYPE a counter\na 1\n# EOF\n":                                  "line 2: the counter a does not end in _total",
		"# TYPE a gauge\nb 1\n# EOF\n":                                    "line 2: a sample of b among those of a",
		"# TYPE a gauge\n# UNIT a seconds\na 1\n# EOF\n":                  "line 2: a does not end in its unit seconds",
		"# TYPE a gauge\na 1\n":                                           `line 2: "a 1": # EOF is the last line, and no other`,
		"# TYPE a gauge\na 1\n# TYPE b gauge\n# TYPE a gauge\na 1\n# EOF": "line 4: a begins again",
	} {
		if got := openMetrics(text); !slices.Equal(got, []string{want}) {
			t.Errorf("%q: found %q, want %q", text, got, want)
		}
	}
}

// Scrapers get the format that they ask for, and the text format if they ask for none that there is.
func TestScrapersChooseTheFormat(t *testing.T) {
	at, stop, err := serveMetrics("127.0.0.1:0", 0, &collector{"r", subject{}})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for accept, want := range map[string]string{
		"":              "text/plain; version=0.0.4",
		"*/*":           "text/plain; version=0.0.4",
		"text/html":     "text/plain; version=0.0.4",
		openMetricsType: "application/openmetrics-text; version=1.0.0",
		"application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.9": "text/plain; version=0.0.4",
	} {
		reply, text := scrape(t, "http://"+at+"/metrics", accept)
		if got := reply.Header.Get("Content-Type"); !strings.HasPrefix(got, want) {
			t.Errorf("Accept %q: Content-Type %q, want %q", accept, got, want)
		}
		if ends := strings.HasSuffix(text, "# EOF\n"); ends != strings.HasPrefix(want, "application") {
			t.Errorf("Accept %q: the answer ends with %q", accept, text[max(0, len(text)-20):])
		}
	}
	if reply, _ := scrape(t, "http://"+at+"/", ""); reply.StatusCode != http.StatusNotFound {
		t.Errorf("another path: %s", reply.Status)
	}
}
