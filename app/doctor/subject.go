package doctor

import (
	"net/netip"
	"slices"
	"time"

	ma "github.com/multiformats/go-multiaddr"

	"gossiptrainer/app/describe"
	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/node"
	"gossiptrainer/node/socket"
)

// Wait is how long the doctor waits for the other machines unless the user says otherwise.
const Wait = 8 * time.Second

// Help texts of the command.
const (
	Short = "diagnose what stops this machine joining a run, and suggest a fix"
	Long  = Short + `

Each line begins with ok, look (a run works, with a risk) or broken. Without
FILE the doctor looks only at this machine. With a run file it also checks
secret, key, data and port, and meets the doctors of the other machines: start
it on all of them at the same time. It compares clocks, versions and settings,
and tests connections both ways, multicast and long packets. With --peers FILE
every peer must be met, and latency and rate of each pair are measured. A broken
line makes the exit code 1.`
	Example = `  peer doctor
  peer doctor lan.yaml                     on every machine, at the same time
  peer doctor --peers lan.yaml --wait 2m   with time to start it by hand`
)

// A Request says what to examine.
type Request struct {
	Load  func() (*configs.Loaded, error) // the run file; nil: only this machine
	Pairs bool                            // every worker must be met, and rates are measured
	Wait  time.Duration                   // for the other machines
	Build describe.Build
}

// A subject is what the checks share.
type subject struct {
	Request
	loaded *configs.Loaded
	run    *experiment.Run // nil: there is none
	links  node.Options    // of the run
	secret bool            // the secret can be used
	mine   ownKey
}

// An ownKey is the key of this machine.
type ownKey struct{ file, id string } // id "": the key is not made yet

// missing is the verdict if machines are missing.
func (p *subject) missing() Verdict {
	if p.Pairs {
		return Broken
	}
	return Look
}

// listed returns the IP addresses that the roster gives this machine.
func (p *subject) listed() []netip.Addr {
	if p.run == nil || p.links.Identity == nil {
		return nil
	}
	var all []netip.Addr
	for _, one := range p.run.Config().Peers {
		for _, text := range one.Addrs {
			at, err := ma.NewMultiaddr(text)
			if err != nil || one.ID != p.links.Identity.ID() {
				continue
			}
			if ip, numeric := socket.AddrOf(at); numeric && !ip.IsLoopback() {
				all = append(all, ip)
			}
		}
	}
	return all
}

// needsMulticast reports whether the run finds addresses by multicast.
func (p *subject) needsMulticast() bool {
	if p.run == nil {
		return false
	}
	roster := p.run.Config().Peers
	return p.run.N() > 1 && (len(roster) == 0 ||
		slices.ContainsFunc(roster, func(one configs.Peer) bool { return len(one.Addrs) == 0 }))
}
