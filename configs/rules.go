package configs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"gossiptrainer/internal/human"
	"gossiptrainer/internal/registry"
	"gossiptrainer/model"
	"gossiptrainer/topology"
)

var topologyRules = []rule{
	{[]string{"topology.kind", "topology.size", "topology.rows", "topology.cols", "topology.degree", "topology.chance",
		"topology.file"}, func(c *Config, wrong complain) {
		if c.Topology.takes("file") && c.Topology.File == "" {
			wrong("topology.file", "the kind %s needs a file of edges", c.Topology.Kind)
		} else if setting, why := c.Topology.Spec().Check(); setting != "" {
			wrong("topology."+setting, "%s", why)
		}
	}},
	{[]string{"algorithm.name", "algorithm.reduce", "topology.kind"}, checkChanging},
	{[]string{"faults.on_lost_neighbor", "topology.kind"}, func(c *Config, wrong complain) {
		if c.Reweights() && !topology.Kind(c.Topology.Kind).Static() && c.row().On.Kind == "" {
			wrong("faults.on_lost_neighbor", "no edge takes the place of a lost one on %s: must be wait or stop, "+
				"or the graph one that does not change", c.Topology.Kind)
		}
	}},
	{[]string{"topology.size", "topology.file", "topology.kind"}, func(c *Config, wrong complain) {
		if n := c.Topology.Spec().Given(); c.Topology.takes("file") && n > 0 && n != c.Topology.Size {
			wrong("topology.size", "the file of edges names workers 0 to %d, but the size is %d", n-1, c.Topology.Size)
		}
	}},
	{[]string{"peers", "topology.size", "topology.rows", "topology.cols", "topology.kind"},
		func(c *Config, wrong complain) {
			if n := len(c.Peers); n > 0 && n != c.Topology.Size {
				wrong("peers", "the roster has %s, but the %s has %s",
					human.Count(n, "entry"), c.Topology.Kind, human.Count(c.Topology.Size, "worker"))
			}
		}},
	{[]string{"peers"}, checkRoster},
}

// checkChanging refuses algorithms that need a static graph.
func checkChanging(c *Config, wrong complain) {
	on := c.row().On
	if topology.Kind(c.Topology.Kind).Static() || on.Kind != "" || on.Changing.Given {
		return
	}
	changes := func(a registry.Algorithm) bool { return a.On.Changing.Given }
	wrong("topology.kind", "%s needs a graph that does not change: ring, torus, exponential, ..., or use %s: it %s, "+
		"got %s", c.Algorithm.Name, either(registry.Names(changes)), on.Changing.Reason(), c.Topology.Kind)
}

func checkRoster(c *Config, wrong complain) {
	first := map[string]int{}
	for i, p := range c.Peers {
		at := fmt.Sprintf("peers.%d", i)
		if _, err := peer.Decode(p.ID); err != nil {
			wrong(at+".id", "%s is not a peer id: %v", show(p.ID), err)
		}
		if j, double := first[p.ID]; double {
			wrong(at+".id", "the same id as entry %d", j)
		} else {
			first[p.ID] = i
		}
		checkAddrs(at+".addrs", p.Addrs, wrong)
		for j, a := range p.Addrs {
			if all, err := multiaddr.NewMultiaddr(a); err == nil && manet.IsIPUnspecified(all) {
				wrong(fmt.Sprintf("%s.addrs.%d", at, j), "%s is no address to call: give the one at which the others reach "+
					"this machine, and all interfaces only in node.listen", show(a))
			}
		}
	}
}

func checkAddrs(key string, addrs []string, wrong complain) {
	for i, a := range addrs {
		at, err := multiaddr.NewMultiaddr(a)
		switch {
		case err != nil:
			wrong(fmt.Sprintf("%s.%d", key, i), "%s is not an address like /ip4/192.168.1.10/tcp/4001: %v", show(a), err)
		case manet.IsIP6LinkLocal(at):
			wrong(fmt.Sprintf("%s.%d", key, i), "%s is a link-local address, and peers do not connect to those: give the "+
				"machine another one, as with ip address add 192.168.77.1/24 dev eth0", show(a))
		}
	}
}

var algorithmRules = []rule{
	{[]string{"algorithm.levels", "algorithm.bits"}, func(c *Config, wrong complain) {
		a := c.Algorithm
		switch {
		case a.Levels == 1:
			wrong("algorithm.levels", "must be 2 to 65536, or 0 for 2^bits, got 1")
		case a.Levels != 0 && a.Bits != bitsOf(a.Levels):
			wrong("algorithm.levels", "%d levels need %d bits, but bits is %d: give one of the two", a.Levels, bitsOf(a.Levels),
				a.Bits)
		}
	}},
	{[]string{"algorithm.rounding", "algorithm.bits", "algorithm.levels"}, func(c *Config, wrong complain) {
		a := c.Algorithm
		independent := a.Rounding == "stochastic" || a.Rounding == "shared"
		if independent && (a.Bits == 1 || a.Levels == 2) {
			wrong("algorithm.rounding", "%s rounding needs at least 3 levels, got 1 bit: use dither or nearest", a.Rounding)
		}
	}},
	{[]string{"algorithm.theta.value", "algorithm.theta.rule"}, func(c *Config, wrong complain) {
		t := c.Algorithm.Theta
		if t.Rule == "fixed" && t.Value == 0 {
			wrong("algorithm.theta.value", "the rule fixed needs a value above 0, got 0")
		}
	}},
	{[]string{"algorithm.theta.rule", "algorithm.name", "algorithm.codec", "algorithm.bits"},
		func(c *Config, wrong complain) {
			a := c.Algorithm
			certain := a.Theta.Rule == "certified" || a.Theta.Rule == "theorem"
			row := c.row()
			switch {
			case !c.modulo() || !certain:
			case row.Theta.Certificate == nil:
				wrong("algorithm.theta.rule", "no certificate for %s: %s: use adaptive, got %s", row,
					uncertified(row), a.Theta.Rule)
			case a.Theta.Rule == "theorem" && !row.Theta.Theorem:
				wrong("algorithm.theta.rule", "the theorem gives no constants for %s: use adaptive, certified or fixed", row)
			}
		}},
	{[]string{"algorithm.theta.bound", "algorithm.theta.rule", "model.name", "algorithm.codec", "algorithm.bits"},
		func(c *Config, wrong complain) {
			t := c.Algorithm.Theta
			certain := t.Rule == "certified" || t.Rule == "theorem"
			if c.External() && c.modulo() && certain && t.Bound == 0 {
				wrong("algorithm.theta.bound", "the rule %s needs the largest change of a parameter in a local step of the "+
					"program, such as 0.01, and larger ones are clipped: must be above 0, or the rule adaptive", t.Rule)
			}
		}},
	{[]string{"algorithm.local_steps", "algorithm.name"}, func(c *Config, wrong complain) {
		steps := c.row().Takes.LocalSteps
		if a := c.Algorithm; a.LocalSteps != 1 && !steps.Given {
			wrong("algorithm.local_steps", "%s %s: must be 1, got %d", a.Name, steps.Reason(), a.LocalSteps)
		}
	}},
	{[]string{"train.rounds", "model.name", "faults.on_lost_neighbor", "membership.mode"}, func(c *Config, wrong complain,
	) {
		switch {
		case c.Train.Rounds != ByScript:
		case !c.External():
			wrong("train.rounds", "script is for a script that trains an external model, and %s is built in: give a number",
				c.Model.Name)
		case c.Views():
			wrong("train.rounds", "where members come and go, a newcomer cannot know how many steps the scripts of others "+
				"take: give a number, or set membership.mode to fixed")
		case c.Reweights():
			wrong("train.rounds", "a run that goes on without lost workers cannot wait for the end of their scripts: "+
				"give a number, or faults.on_lost_neighbor another value")
		}
	}},
	{[]string{"algorithm.clip.radius", "algorithm.clip.liars"}, func(c *Config, wrong complain) {
		switch a := c.Algorithm; {
		case a.Clip.Radius > 0 && a.Clip.Liars > 0:
			wrong("algorithm.clip.liars",
				"the radius is given, %v, or follows from the number of liars, %d: give one of the two", a.Clip.Radius,
				a.Clip.Liars)
		}
	}},
	{[]string{"algorithm.theta.rule", "algorithm.clip.radius", "algorithm.clip.liars", "algorithm.codec",
		"algorithm.bits"}, func(c *Config, wrong complain) {
		a := c.Algorithm
		switch rule := a.Theta.Rule; {
		case !a.Clip.On() || !c.modulo() || rule == "fixed":
		case rule == "certified" || rule == "theorem":
			wrong("algorithm.theta.rule",
				"no certificate for clipped mixing: it brings models together more slowly than the graph says: must be fixed, "+
					"or the codec full, got %s", rule)
		default:
			wrong("algorithm.theta.rule",
				"with %s a Byzantine worker chooses theta for all: with clipped mixing it must be fixed, or the codec full", rule)
		}
	}},
	{[]string{"algorithm.theta.verify", "algorithm.theta.rule", "algorithm.codec", "algorithm.bits"},
		func(c *Config, wrong complain) {
			a := c.Algorithm
			if a.Theta.Rule == "adaptive" && !a.Theta.Verify && c.modulo() {
				wrong("algorithm.theta.verify", "the rule adaptive learns from verification: must be true, or the rule another")
			}
		}},
}

// uncertified says why there is no certificate.
func uncertified(a registry.Algorithm) string {
	return cmp.Or(a.Theta.Uncertified, "none has been derived")
}

var controllerRules = []rule{
	{[]string{"algorithm.controller.min_bits", "algorithm.controller.max_bits", "algorithm.controller.name"},
		func(c *Config, wrong complain) {
			if b := c.Algorithm.Controller; b.Name != "fix" && b.MinBits > b.MaxBits {
				wrong("algorithm.controller.min_bits", "%d bits are more than the largest number, %d", b.MinBits, b.MaxBits)
			}
		}},
	{[]string{"algorithm.controller.min_bits", "algorithm.controller.name", "algorithm.rounding", "algorithm.codec",
		"algorithm.bits"}, func(c *Config, wrong complain) {
		a := c.Algorithm
		independent := a.Rounding == "stochastic" || a.Rounding == "shared"
		if a.Controller.Name != "fix" && independent && a.Controller.MinBits == 1 && c.modulo() {
			wrong("algorithm.controller.min_bits",
				"%s rounding needs at least 3 levels: must be at least 2, or the rounding dither or nearest", a.Rounding)
		}
	}},
	{[]string{"algorithm.controller.name", "algorithm.name", "algorithm.codec", "algorithm.bits", "algorithm.levels"},
		func(c *Config, wrong complain) {
			a := c.Algorithm
			switch name := a.Controller.Name; {
			case name == "fix":
			case !c.row().Takes.Controller.Given:
				wrong("algorithm.controller.name", "%s %s: must be fix, got %s", a.Name, c.row().Takes.Controller.Reason(), name)
			case a.Levels != 0:
				wrong("algorithm.controller.name",
					"%s chooses bits, but the run file gives levels: must be fix, or no levels, got %d", name, a.Levels)
			case c.row().ByCodec() && (a.Codec == "full" || a.Bits == 32):
				wrong("algorithm.controller.name",
					"%s in full precision has no bits to choose: must be fix, or the codec moniqua with fewer than 32 bits, got %s",
					a.Name, name)
			}
		}},
}

var otherRules = []rule{
	{[]string{"model.depth", "model.name"}, func(c *Config, wrong complain) {
		kind, _ := model.Find(c.Model.Name)
		if kind.Check == nil {
			return
		}
		if setting, why := kind.Check(model.Spec{Depth: c.Model.Depth}); setting == "depth" {
			wrong("model.depth", "%s", why)
		}
	}},
	{[]string{"model.hidden"}, func(c *Config, wrong complain) {
		const widest = 65536
		for i, width := range c.Model.Hidden {
			if width < 1 || width > widest {
				wrong(fmt.Sprintf("model.hidden.%d", i), "must be 1 to %d, got %d", widest, width)
			}
		}
	}},
	{[]string{"train.slow", "topology"}, func(c *Config, wrong complain) {
		for _, rank := range slices.Sorted(maps.Keys(c.Train.Slow)) {
			i, err := strconv.Atoi(rank)
			switch at := "train.slow." + rank; {
			case err != nil || strconv.Itoa(i) != rank || i < 0 || i >= c.Topology.Size:
				wrong(at, "there is no worker %s in a %s of %d", show(rank), c.Topology.Kind, c.Topology.Size)
			case c.Train.Slow[rank] < 1 || c.Train.Slow[rank] > slowest:
				wrong(at, "must be a factor from 1 to %d, got %v", slowest, c.Train.Slow[rank])
			}
		}
	}},
	{[]string{"limit.rate", "limit.latency", "limit.jitter"}, func(c *Config, wrong complain) {
		checkLink("limit", c.Limit.Uplink(), wrong)
	}},
	{[]string{"limit.links", "topology"}, func(c *Config, wrong complain) {
		for _, key := range slices.Sorted(maps.Keys(c.Limit.Links)) {
			at := "limit.links." + key
			_, j, err := ParseLink(key)
			if err != nil {
				wrong(at, "must be two ranks like 0-1, the smaller first")
			} else if j >= c.Topology.Size {
				wrong(at, "there is no worker %d in a %s of %d", j, c.Topology.Kind, c.Topology.Size)
			}
			checkLink(at, c.Limit.Links[key], wrong)
		}
	}},
	{[]string{"node.join_secret", "node.join_secret_file"}, func(c *Config, wrong complain) {
		if c.Node.JoinSecret != "" && c.Node.JoinSecretFile != "" {
			wrong("node.join_secret_file", "there is one join secret: either join_secret or join_secret_file")
		}
	}},
	{[]string{"node.detect"}, func(c *Config, wrong complain) {
		if d := time.Duration(c.Node.Detect); d < time.Second || d > 10*time.Minute {
			wrong("node.detect", "must be 1s to 10m, got %v", d)
		}
	}},
	{[]string{"node.metrics"}, func(c *Config, wrong complain) {
		if c.Node.Metrics == "" {
			return
		}
		_, port, err := net.SplitHostPort(c.Node.Metrics)
		if _, wild := strconv.ParseUint(port, 10, 16); err != nil || wild != nil {
			wrong("node.metrics", "must be host:port like 127.0.0.1:9464, got %s", show(c.Node.Metrics))
		}
	}},
	{[]string{"node.listen"}, func(c *Config, wrong complain) { checkAddrs("node.listen", c.Node.Listen, wrong) }},
	{[]string{"node.trusted"}, func(c *Config, wrong complain) {
		_, err := c.Node.Nets()
		if bad, ok := errors.AsType[*netError](err); ok {
			wrong(fmt.Sprintf("node.trusted.%d", bad.index), "%s %s", show(bad.text), bad.why)
		}
	}},
	{[]string{"node.listen", "node.security", "node.trusted"}, func(c *Config, wrong complain) {
		checkOpen("node.listen", c.Node.Listen, c, wrong)
	}},
	{[]string{"peers", "node.security", "node.trusted"}, func(c *Config, wrong complain) {
		for i, p := range c.Peers {
			checkOpen(fmt.Sprintf("peers.%d.addrs", i), p.Addrs, c, wrong)
		}
	}},
}

// slowest bounds the factors of train.slow.
const slowest = 1000

func checkLink(at string, l LinkLimit, wrong complain) {
	const longest = 10 * time.Second
	if _, err := ParseRate(l.Rate); err != nil {
		wrong(at+".rate", "must be a rate of at least 1kbit like 100mbit, 1gbit or 500kbit, got %s", show(l.Rate))
	}
	if way := time.Duration(l.Latency); way >= time.Minute {
		wrong(at+".latency", "must be at most %v one way, got %v: m means minutes; did you mean %v?", longest, way,
			way/60_000)
	} else if way > longest {
		wrong(at+".latency", "must be at most %v one way, got %v", longest, way)
	}
	if l.Jitter > l.Latency {
		wrong(at+".jitter", "must be at most the latency, %s, got %s", time.Duration(l.Latency), time.Duration(l.Jitter))
	}
}
