package topology

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// EdgeList is any connected simple graph.
const EdgeList Kind = "edges"

// largest returns the number of workers of a list of edges.
func largest(s Spec) (n int) {
	for _, e := range s.Edges {
		n = max(n, int(e[0])+1, int(e[1])+1)
	}
	return n
}

// Limits on an edge-list file.
const (
	maxEdges     = 1 << 20
	maxEdgeBytes = 1 << 24
)

// ReadEdges reads an edge list: two worker numbers per line, plus blank lines and comments from # to the end of the
// line. Each edge stands once, in either direction. Errors name the line. New checks that the graph is connected.
func ReadEdges(r io.Reader) ([][2]Rank, error) {
	limited := &io.LimitedReader{R: r, N: maxEdgeBytes + 1}
	lines := bufio.NewScanner(limited)
	var edges [][2]Rank
	given := map[[2]Rank]int{} // line of each edge
	number := 0
	for lines.Scan() {
		number++
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		e, err := parseEdge(fields)
		if err != nil {
			return nil, fmt.Errorf("topology: edge list: line %d: %w", number, err)
		}
		ordered := [2]Rank{min(e[0], e[1]), max(e[0], e[1])}
		if first, ok := given[ordered]; ok {
			return nil, fmt.Errorf("topology: edge list: line %d: edge %d %d: already on line %d", number, e[0], e[1], first)
		}
		if len(edges) == maxEdges {
			return nil, fmt.Errorf("topology: edge list: line %d: more than %d edges", number, maxEdges)
		}
		given[ordered] = number
		edges = append(edges, e)
	}
	switch {
	case lines.Err() != nil:
		return nil, fmt.Errorf("topology: edge list: line %d: %w", number+1, lines.Err())
	case limited.N == 0:
		return nil, fmt.Errorf("topology: edge list: more than %d bytes", maxEdgeBytes)
	case len(edges) == 0:
		return nil, fmt.Errorf("topology: edge list: no edges")
	}
	return edges, nil
}

func parseEdge(fields []string) ([2]Rank, error) {
	if len(fields) != 2 {
		return [2]Rank{}, fmt.Errorf("want two worker numbers, got %.40q", strings.Join(fields, " "))
	}
	var e [2]Rank
	for at, field := range fields {
		n, ok := parseSize(field)
		if !ok || n >= MaxWorkers {
			return e, fmt.Errorf("%.20q: want a worker number from 0 to %d", field, MaxWorkers-1)
		}
		e[at] = Rank(n)
	}
	if e[0] == e[1] {
		return e, fmt.Errorf("edge %d %d: joins a worker to itself", e[0], e[1])
	}
	return e, nil
}
