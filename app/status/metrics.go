package status

import (
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"gossiptrainer/configs"
	"gossiptrainer/internal/record"
	"gossiptrainer/node"
)

// A collector makes Prometheus metrics from the state of a node at every request.
type collector struct {
	run  string
	peer Subject
}

// Describe leaves open which metrics there are: they depend on the neighbours.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect asks the node.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s := c.peer.Status()
	m := meter{out, prometheus.Labels{"run": c.run, "rank": strconv.Itoa(s.Rank)}}
	m.gauge("gossip_round", "rounds finished", float64(s.Round))
	m.gauge("gossip_rounds", "rounds of the run, 0 where scripts decide", float64(configs.Rounds(s.Rounds).Known()))
	if s.Loss != nil {
		m.gauge("gossip_loss", "loss of the last mini-batch", *s.Loss)
	}
	m.gauge("gossip_state", "1 for what the worker is doing", 1, "state", string(s.State))
	for _, rank := range s.Waiting {
		m.gauge("gossip_waiting", "1 for a neighbour whose message is awaited", 1, "neighbour", strconv.Itoa(rank))
	}
	for _, part := range []struct {
		of   string
		took time.Duration
	}{{"compute", s.Compute}, {"wait", s.Wait}, {"codec", s.Codec}} {
		m.counter("gossip_seconds_total", "where the time of the rounds went", part.took.Seconds(), "of", part.of)
	}
	m.counter("gossip_violations_total", "messages that were recovered wrongly", float64(s.Violations))
	m.counter("gossip_repaired_total", "messages that were repaired before use", float64(s.Repaired))
	m.counter("gossip_late_links_total", "exchanges that waited for a link that was not open yet", float64(s.Late))
	m.counter("gossip_telemetry_bytes_total", "bytes of telemetry received", float64(s.Telemetry))
	for reason, n := range s.Refused {
		m.counter("gossip_refused_total", "frames and peers that were turned away", float64(n), "reason", reason)
	}
	m.bytes("gossip_bytes_total", "bytes of this worker", s.Sent, s.Received)
	for _, link := range s.Links {
		m.link(link)
	}
	if v := membershipOf(c.peer); v != nil {
		m.membership(v)
	}
}

func (m meter) membership(v *Membership) {
	m.gauge("gossip_view", "number of the newest view", float64(v.View))
	m.gauge("gossip_members", "members of the newest view", float64(len(v.Members)))
	for what, n := range map[string]int{"join": len(v.Joins), "leave": len(v.Leaves), "silent": len(v.Silent)} {
		m.gauge("gossip_changing", "members that join, leave or are silent", float64(n), "what", what)
	}
}

// A meter writes metrics with the labels of a worker and those given in pairs.
type meter struct {
	out    chan<- prometheus.Metric
	worker prometheus.Labels
}

func (m meter) gauge(name, help string, value float64, labels ...string) {
	m.write(prometheus.GaugeValue, name, help, value, labels)
}

func (m meter) counter(name, help string, value float64, labels ...string) {
	m.write(prometheus.CounterValue, name, help, value, labels)
}

func (m meter) write(kind prometheus.ValueType, name, help string, value float64, labels []string) {
	var names, values []string
	for i := 0; i < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, labels[i+1])
	}
	desc := prometheus.V2.NewDesc(name, help, prometheus.UnconstrainedLabels(names), m.worker,
		prometheus.WithUnit(unitOf(name)))
	m.out <- prometheus.MustNewConstMetric(desc, kind, value, values...)
}

// unitOf returns the unit at the end of a name, "" for a number without one. OpenMetrics wants it there.
func unitOf(name string) string {
	words := strings.Split(strings.TrimSuffix(name, "_total"), "_")
	if unit := words[len(words)-1]; unit == "seconds" || unit == "bytes" {
		return unit
	}
	return ""
}

func (m meter) bytes(name, help string, sent, received record.Bytes, labels ...string) {
	for direction, b := range map[string]record.Bytes{"sent": sent, "received": received} {
		for layer, n := range map[string]int64{"payload": b.Payload, "stream": b.Stream, "wire": b.Wire} {
			m.counter(name, help, float64(n), append([]string{"direction", direction, "layer", layer}, labels...)...)
		}
	}
}

func (m meter) link(l node.LinkStatus) {
	neighbour := []string{"neighbour", strconv.Itoa(l.Neighbour)}
	up := 0.0
	if l.Up {
		up = 1
	}
	m.gauge("gossip_link_up", "1 while there is a link", up, neighbour...)
	m.bytes("gossip_link_bytes_total", "bytes of a link", l.Sent, l.Received, neighbour...)
	m.counter("gossip_link_lost_total", "links that ended without a bye", float64(l.Lost), neighbour...)
	m.counter("gossip_link_deadlines_total", "links that were given up for silence", float64(l.Silent), neighbour...)
	m.counter("gossip_link_retries_total", "tries that made no link", float64(l.Retries), neighbour...)
}

// goCollector collects the metrics of Go itself. Those called go_memstats would make the answer invalid as OpenMetrics,
// because a gauge and a counter among them have one name there. Other metrics tell the memory.
func goCollector() prometheus.Collector {
	return collectors.NewGoCollector(collectors.WithGoCollectorMemStatsMetricsDisabled(),
		collectors.WithGoCollectorRuntimeMetrics(collectors.GoRuntimeMetricsRule{
			Matcher: regexp.MustCompile(`^/memory/classes/(heap/objects|total):bytes$`)}))
}

// serveMetrics answers at address until stop is called. In a lab rank is added to a fixed port.
func serveMetrics(address string, rank int, c *collector) (at string, stop func(), err error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", nil, fmt.Errorf("metrics: %w", err)
	}
	if number, err := strconv.Atoi(port); err == nil && number > 0 {
		port = strconv.Itoa(number + max(rank, 0))
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return "", nil, fmt.Errorf("metrics: %w", err)
	}
	registry := prometheus.NewRegistry() // libraries have theirs
	registry.MustRegister(c, goCollector())
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4,
		EnableOpenMetrics: true}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second, ReadTimeout: time.Second,
		WriteTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10}
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = server.Serve(l) // until Close
	}()
	return l.Addr().String(), func() {
		_ = server.Close()
		<-over
	}, nil
}
