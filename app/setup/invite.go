package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	libpeer "github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/peer"
	"gossiptrainer/app/setup/handover"
	"gossiptrainer/app/status"
	"gossiptrainer/configs"
	"gossiptrainer/internal/human"
	"gossiptrainer/node/identity"
)

// Valid is how long a token is valid unless the user says otherwise.
const Valid = 10 * time.Minute

// longestValid bounds the validity of tokens: a token in a shell's history should be worthless soon.
const longestValid = 24 * time.Hour

// An Invitation is the work of peer invite.
type Invitation struct {
	Screen
	File      string
	Loaded    *configs.Loaded
	Machines  int // that the token admits; 0: all others of the run
	Valid     time.Duration
	Port      int      // 0: a free one
	Addresses []string // IP addresses for the token; empty: those of the interfaces
	Roster    bool     // list the addresses of all machines in the run file
	Runs      bool     // the command takes part in the run afterwards
}

// invited is the output of peer invite.
type invited struct {
	Token    string    `json:"token"`
	Command  string    `json:"command"` // to type on the other machines
	Machines int       `json:"machines"`
	Expires  time.Time `json:"expires"`
}

// Open waits until the other machines have joined.
func (i *Invitation) Open(ctx context.Context) error {
	who, err := identity.Ephemeral()
	if err != nil {
		return err
	}
	p, err := handover.Appear(handover.Place{Identity: who, Role: handover.Host, Port: i.Port, Log: i.Log})
	if err != nil {
		return err
	}
	defer p.Close()
	return i.with(ctx, p)
}

// with is Open with a presence.
func (i *Invitation) with(ctx context.Context, p *handover.Presence) error {
	terms, err := i.terms()
	if err != nil {
		return err
	}
	invitation, err := p.Invite(ctx, terms)
	if err != nil {
		return err
	}
	token, err := invitation.Token.Marshal()
	if err != nil {
		return err
	}
	out := invited{token, i.join(token), terms.Seats, invitation.Token.Expires}
	i.say("type this on the other machines (%d), in a folder for the run, until %s:", terms.Seats,
		out.Expires.Format("15:04:05"))
	if err := i.Print(out, func(w io.Writer) error { _, err := fmt.Fprintln(w, out.Command); return err }); err != nil {
		return err
	}
	if i.Loaded.Config.Data.Own() {
		i.say("where the data lie elsewhere on a machine, change %s in its command", i.Loaded.Config.Data.FolderKey())
	}
	outcome, err := invitation.Serve()
	if err == nil && outcome.Members != nil {
		err = i.list(terms, outcome.Members)
	}
	if err == nil && i.Runs {
		return nil
	}
	if err == nil {
		why := "on every machine starts the run"
		if i.Loaded.Config.Views() {
			why = "on a machine takes part in the run, also while it goes on"
		}
		advice.Next(i.Talk, advice.Command("peer", "run", i.File), why)
		return nil
	}
	if missing := terms.Seats - outcome.Joined; outcome.Members == nil && missing > 0 {
		again := []string{"peer", "invite", i.File}
		if outcome.Joined > 0 {
			again = append(again, "--machines", strconv.Itoa(missing))
		}
		i.say("%s joined; %s makes a token for the others", human.Count(outcome.Joined, "machine"), advice.Command(again...))
	}
	return err
}

// join returns the join command for the others. It names their data where these are the user's own, as they lie on
// this machine.
func (i *Invitation) join(token string) string {
	words, d := []string{"peer", "join", token}, i.Loaded.Config.Data
	if d.Own() && i.Loaded.Config.LearnsFromData() {
		for _, f := range [][2]string{{"data.path", d.Path}, {"data.test", d.Test}, {"data.dir", d.Dir}} {
			if f[1] != "" {
				words = append(words, "--set", f[0]+"="+f[1])
			}
		}
	}
	return advice.Command(words...)
}

// seats returns how many machines the token admits. Where members come and go, machines may join while the run goes on.
func (i *Invitation) seats(goesOn bool) (int, error) {
	cfg := i.Loaded.Config
	others := cfg.Topology.Size - 1
	usual := others
	if cfg.Views() {
		others = cfg.Membership.Max - 1
		if goesOn || usual == 0 {
			usual = 1
		}
	}
	most := min(others, handover.MostSeats)
	asked := cmp.Or(i.Machines, usual)
	switch {
	case others < 1:
		return 0, advice.Usagef("invite: %s is a run of at most one machine", i.File)
	case asked < 1 || asked > most:
		return 0, advice.Usagef("invite: --machines %d: want 1 to %d", asked, most)
	case i.Valid < time.Second || i.Valid > longestValid:
		return 0, advice.Usagef("invite: --valid %v: want 1s to %v", i.Valid, longestValid)
	case i.Roster && cfg.Views():
		return 0, advice.Usagef("invite: --roster: members of %s come and go: name some to call in the key peers", i.File)
	case i.Roster && asked != others:
		return 0, advice.Usagef("invite: --roster gathers the addresses of all machines: leave out --machines")
	}
	return asked, nil
}

// terms returns what the invitation hands over.
func (i *Invitation) terms() (handover.Terms, error) {
	cfg := i.Loaded.Config
	self, err := ownID(cfg)
	if err != nil {
		return handover.Terms{}, err
	}
	running := seated(cfg, self, runningPeers())
	seats, err := i.seats(running != nil)
	if err != nil {
		return handover.Terms{}, err
	}
	secret, err := peer.Secret(i.Loaded)
	if err != nil {
		return handover.Terms{}, err
	}
	data, err := held(i.Loaded)
	if err != nil {
		return handover.Terms{}, err
	}
	files, err := needed(i.Loaded)
	if err != nil {
		return handover.Terms{}, err
	}
	if err := full(cfg, running); err != nil {
		return handover.Terms{}, err
	}
	terms := handover.Terms{
		Seats: seats, Valid: i.Valid, Host: hostName(), Self: self,
		Port: linkPort(cfg), QUIC: cfg.Node.Transport == "quic", Secret: secret,
		Tell: func(n handover.News) { i.say("%s", strings.TrimSpace(n.Machine+" "+n.Text)) },
		Compose: func(members []handover.Member) (string, error) {
			return i.handed(map[string]any{"peers": rosterOf(members)})
		},
		Offer: handover.Offer{
			Program: program(), Name: nameOf(i.File, cfg), Machines: cfg.Topology.Size, Data: data, Files: files,
			Open: cfg.Views(),
		},
	}
	if i.Roster {
		terms.Manner = handover.Gathered
	}
	if terms.Addrs, err = i.addrs(); err != nil {
		return terms, err
	}
	listed := map[string]any{}
	if len(cfg.Peers) > 0 {
		terms.Manner = handover.Listed
		var members []handover.Member
		if terms.Listed, members, err = i.listed(); err != nil {
			return terms, err
		}
		listed["peers"] = rosterOf(members)
	}
	if cfg.Views() { // any machine may come
		terms.Manner = handover.Called
	}
	terms.Offer.RunFile, err = i.handed(listed)
	return terms, err
}

// runningPeers asks the peers of this user. Where none can be asked, none is known.
func runningPeers() []status.Answer {
	dir, err := status.Folder()
	if err != nil {
		return nil
	}
	return status.AskAll(dir).Peers
}

// seated returns the answer of the peer on this machine that takes part in a run; nil: no such peer answers.
func seated(cfg configs.Config, self string, running []status.Answer) *status.Answer {
	for i, p := range running {
		if p.Peer == self && p.Run == cfg.Name && p.Rank >= 0 {
			return &running[i]
		}
	}
	return nil
}

// full refuses a run whose members are known: the peer of this machine has its rank, no roster says who else may come,
// and no machine joins later. A machine with a token would be refused by all.
func full(cfg configs.Config, p *status.Answer) error {
	if p == nil || len(cfg.Peers) > 0 || cfg.Views() {
		return nil
	}
	return advice.With(fmt.Errorf("invite: the run %s is full: its %d machines have met, and it is in round %d", p.Run,
		p.Peers, p.Round), "to add machines, stop the run, set topology.size in the run file of all machines, and invite; "+
		"a machine of the run that has lost its files gets them by copying")
}

// addrs returns the given addresses for the token.
func (i *Invitation) addrs() (all []netip.Addr, err error) {
	for _, text := range i.Addresses {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return nil, advice.Usagef("--address %q: want an IP address of this machine", text)
		}
		all = append(all, a)
	}
	return all, nil
}

// listed returns the roster of the run file.
func (i *Invitation) listed() (ids []libpeer.ID, members []handover.Member, err error) {
	for _, one := range i.Loaded.Config.Peers {
		id, err := libpeer.Decode(one.ID)
		if err != nil {
			return nil, nil, i.Loaded.Locate(configs.Errorf("peers", "id %q: %v", one.ID, err))
		}
		ids = append(ids, id)
		members = append(members, handover.Member{ID: one.ID, Addrs: one.Addrs})
	}
	return ids, members, nil
}

// handed returns the run file for other machines, with more values.
func (i *Invitation) handed(values map[string]any) (string, error) {
	if n := i.Loaded.Config.Node; n.JoinSecret+n.JoinSecretFile != "" {
		values[secretKey] = pathsOf(nameOf(i.File, i.Loaded.Config)).secret
	}
	text, err := i.Loaded.Handed(values)
	return string(text), err
}

// list enters the roster into the run file of this machine.
func (i *Invitation) list(terms handover.Terms, members []handover.Member) error {
	loaded, err := configs.Load(configs.Source{File: i.File})
	if err != nil {
		return err
	}
	values := map[string]any{"peers": rosterOf(members)}
	if len(loaded.Config.Node.Listen) == 0 {
		values["node.listen"] = []any{listenOn(terms.QUIC, terms.Port)}
	}
	text, err := loaded.Kept(values)
	if err != nil {
		return err
	}
	if err := replace(i.File, string(text)); err != nil {
		return err
	}
	i.say("%s now lists the addresses of all machines; this one is worker 0", i.File)
	return nil
}

// rosterOf returns members as a value of the key peers.
func rosterOf(members []handover.Member) []any {
	var list []any
	for _, m := range members {
		entry := map[string]any{"id": m.ID}
		var addrs []any
		for _, a := range m.Addrs {
			addrs = append(addrs, a)
		}
		if len(addrs) > 0 {
			entry["addrs"] = addrs
		}
		list = append(list, entry)
	}
	return list
}

// usualPort is that of links in the documents.
const usualPort = 4001

// linkPort returns the port for the links of this machine: that of node.listen, the usual one, or a free one.
func linkPort(cfg configs.Config) int {
	for _, a := range cfg.Node.Listen {
		parts := strings.Split(a, "/")
		for n, part := range parts[:len(parts)-1] {
			number, err := strconv.Atoi(parts[n+1])
			if err == nil && number > 0 && (part == "tcp" || part == "udp") {
				return number
			}
		}
	}
	for _, number := range []int{usualPort, 0} {
		if l, err := net.Listen("tcp", fmt.Sprintf(":%d", number)); err == nil {
			defer l.Close()
			return l.Addr().(*net.TCPAddr).Port
		}
	}
	return usualPort
}

// listenOn returns the multiaddr of all interfaces at a port.
func listenOn(quic bool, number int) string {
	if quic {
		return fmt.Sprintf("/ip4/0.0.0.0/udp/%d/quic-v1", number)
	}
	return fmt.Sprintf("/ip4/0.0.0.0/tcp/%d", number)
}

// ownID returns the id of this machine in a run. It makes the user's key if there is none.
func ownID(cfg configs.Config) (string, error) {
	path, err := peer.KeyPath(cfg.Node.Key)
	if err != nil {
		return "", err
	}
	who, err := identity.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		who, err = identity.Create(path)
	}
	if err != nil {
		return "", err
	}
	return who.ID(), nil
}
