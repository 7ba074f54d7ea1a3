package conformance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gossiptrainer/topology"
)

// topologySpec is the form of a graph in vector files.
type topologySpec struct {
	Name          topology.Kind
	N, Rows, Cols int
	Edges         [][2]topology.Rank
	Slack         float64
	Seed          seed
	exchanges     int // to which random kinds are summed
}

// spec returns the description for package topology. A file without slack means no slack.
func (s topologySpec) spec() topology.Spec {
	return topology.Spec{Kind: s.Name, N: s.N, Rows: s.Rows, Cols: s.Cols, Edges: s.Edges, Slack: cmp.Or(s.Slack, 1),
		Seed: uint64(s.Seed), Exchanges: s.exchanges}
}

// graph builds the graph.
func (s topologySpec) graph(t *testing.T) *topology.Graph {
	t.Helper()
	g, err := topology.New(s.spec())
	if err != nil {
		t.Fatalf("%+v: %v", s, err)
	}
	return g
}

// noneIsEmpty equates nil with an empty list: JSON writes [] for the neighbours
// of a single worker, and the graph returns nil.
var noneIsEmpty = cmpopts.EquateEmpty()

func TestConformanceTopology(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(Dir(), "topology*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors of graphs: %v", err)
	}
	for _, name := range files {
		checkGraphs(t, filepath.Base(name))
	}
}

func checkGraphs(t *testing.T, name string) {
	t.Helper()
	var file struct {
		Cases []struct {
			Topology    topologySpec
			N           int
			Edges       [][2]topology.Rank
			Neighbors   [][]topology.Rank
			W           [][]float64
			Eigenvalues []float64 `json:"eigenvalues_desc"`
			Lambda2     float64
			LambdaN     float64 `json:"lambda_n"`
			Rho         float64
			Gap         float64 `json:"spectral_gap"`
			Beta        float64
			S, S1       float64
			D2Allowed   bool    `json:"d2_allowed"`
			D2MaxSlack  float64 `json:"d2_max_slack"`
		}
	}
	Load(t, name, &file)
	if len(file.Cases) == 0 {
		t.Fatalf("%s: no cases", name)
	}
	for _, c := range file.Cases {
		g := c.Topology.graph(t)
		t.Run(fmt.Sprintf("%v slack %v", g.Spec(), c.Topology.Slack), func(t *testing.T) {
			if g.N() != c.N {
				t.Fatalf("N() = %d, want %d", g.N(), c.N)
			}
			if diff := gocmp.Diff(c.Edges, g.Edges(), noneIsEmpty); diff != "" {
				t.Errorf("edges (-want +got):\n%s", diff)
			}
			w := g.W(0)
			for i := range c.N {
				if diff := gocmp.Diff(c.Neighbors[i], g.Neighbors(topology.Rank(i)), noneIsEmpty); diff != "" {
					t.Errorf("neighbours of %d (-want +got):\n%s", i, diff)
				}
				for j := range c.N {
					near(t, fmt.Sprintf("W[%d][%d]", i, j), w.At(i, j), c.W[i][j], 1e-9)
				}
			}
			s, err := g.Spectrum()
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range c.Eigenvalues {
				near(t, fmt.Sprintf("eigenvalue %d", i), s.Values[i], want, 1e-9)
			}
			near(t, "lambda2", s.Lambda2, c.Lambda2, 1e-9)
			near(t, "lambda_n", s.LambdaN, c.LambdaN, 1e-9)
			near(t, "rho", s.Rho, c.Rho, 1e-9)
			near(t, "gap", s.Gap, c.Gap, 1e-9)
			near(t, "beta", s.Beta, c.Beta, 1e-9)
			near(t, "S", s.S, c.S, 1e-6)
			near(t, "S1", s.S1, c.S1, 1e-6)
			near(t, "D2MaxSlack", s.D2MaxSlack(), c.D2MaxSlack, 1e-9)
			if s.D2Admissible() != c.D2Allowed {
				t.Errorf("D2Admissible() = %v, want %v", s.D2Admissible(), c.D2Allowed)
			}
		})
	}
}

func TestConformanceTopologyD2Series(t *testing.T) {
	var file struct {
		Cases []struct {
			Topology topologySpec
			Series   json.RawMessage `json:"d2_series"`
		}
	}
	Load(t, "theta.json", &file)
	seen := 0
	for _, c := range file.Cases {
		g := c.Topology.graph(t)
		s, err := g.Spectrum()
		if err != nil {
			t.Fatal(err)
		}
		sg, se, err := g.D2Sums(s)
		var want *struct{ Sg, Se float64 }
		if err := json.Unmarshal(c.Series, &want); err != nil {
			t.Fatal(err)
		}
		if (err != nil) != (want == nil) {
			t.Errorf("%v: D2Sums gives error %v, the vectors have %s", g.Spec(), err, c.Series)
			continue
		}
		if want != nil {
			seen++
			near(t, "Sg", sg, want.Sg, 1e-6)
			near(t, "Se", se, want.Se, 1e-6)
		}
	}
	if seen == 0 {
		t.Error("theta.json: no D² series")
	}
}

// near reports a difference beyond tolerance. The difference is relative to want, or absolute if want is below 1,
// because zeros in the vectors are zero only up to rounding.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}
