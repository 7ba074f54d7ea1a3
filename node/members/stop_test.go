package members

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gossiptrainer/gossip/member"
	views "gossiptrainer/gossip/view"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/topology"
)

// played lets a machine join, one leave, one die and one stop the run. It returns the founders, of which machine 3 has
// left, and those that stay to the end.
func played(t *testing.T, j job) (all, stays []*machine) {
	t.Helper()
	all = founded(t, j, 5)
	until(t, "training", func() bool { return all[1].maker.begun() > 20 })
	j.coder = entropy.Plain // machines need not have the same coder
	guest := newMachine(t, j, secret)
	joins(t, guest, all[1])
	until(t, "a join", func() bool { return guest.maker.begun() > 0 })
	close(all[3].leave)
	<-all[3].done
	all[0].kill() // it may lead
	<-all[0].done
	until(t, "one that is silent", func() bool { // no pair waits for a message of it
		return slices.Equal(all[1].seat.Vitals().Silent, []views.ID{0})
	})
	until(t, "a death", func() bool { return all[1].watch.known() >= 4 })
	before := guest.maker.begun()
	until(t, "training", func() bool { return guest.maker.begun() > before+20 })
	all[2].seat.Stop()
	return all, []*machine{all[1], all[2], all[4], guest}
}

// hasPlayed checks the reasons of the views of played.
func hasPlayed(t *testing.T, log *views.Log) {
	t.Helper()
	said := reasons(log)
	if log.Len() != 5 || !strings.Contains(said[1], "joins") || said[2] != "machine m3 left" ||
		!strings.HasPrefix(said[3], "machine m0 was silent for ") || said[4] != "machine m2 stops the run" {
		t.Errorf("views %q", said)
	}
}

// Machines join, leave, are killed, and stop the run. All that are there then end at one exchange, with the digest that
// the replay of the log has.
func TestMachinesComeGoDieAndStop(t *testing.T) {
	t.Parallel()
	for name, j := range map[string]job{
		"ring": {dim: 100, kind: topology.Ring}, "one-peer-exponential": {dim: 100, kind: topology.OnePeerExponential},
		"huff0": {dim: 5000, kind: topology.Ring, coder: entropy.Huff0},
		"zstd":  {dim: 5000, kind: topology.OnePeerExponential, coder: entropy.Zstd},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j.rounds, j.pause = 100_000, 5*time.Millisecond
			_, stays := played(t, j)
			log := finished(t, stays...)
			hasPlayed(t, log)
			for _, m := range stays {
				v := m.seat.Vitals()
				if x, ended := views.End(log); !ended || m.out.Rounds != x || v.Rounds != x || len(v.View.Members) != 4 {
					t.Errorf("member %d has done %d rounds, and the run ends at %d: %+v", m.out.ID, m.out.Rounds, x, v)
				}
				coded := m.maker.coder != entropy.Plain
				if s := m.out.Messages.Stream; coded != (s < m.out.Sent.Payload) || s == 0 {
					t.Errorf("member %d: messages of %d bytes took %d: coder %v", m.out.ID, m.out.Sent.Payload, s, m.maker.coder)
				}
			}
		})
	}
}

// A machine that hears no majority leaves nevertheless, and keeps its model.
func TestAMachineLeavesWithoutAMajority(t *testing.T) {
	t.Parallel()
	all := founded(t, job{dim: 100, rounds: 100_000, kind: topology.Ring, pause: 5 * time.Millisecond}, 3)
	until(t, "training", func() bool { return all[0].maker.begun() > 20 })
	for _, m := range all[1:] {
		m.kill()
		<-m.done
	}
	until(t, "a member that waits", func() bool { return all[0].watch.says("no majority of the voters is heard") })
	close(all[0].leave)
	<-all[0].done
	if o := all[0].out; all[0].err != nil || o.Standing != member.Left || o.Rounds < 20 || o.Log.Len() != 1 {
		t.Errorf("%+v, error %v", o, all[0].err)
	}
	if !all[0].watch.says("leaves without the others") {
		t.Error("it does not say that it leaves without the others")
	}
}

// Newcomers whose only sponsor dies before its state is here say that none has a state, and leave.
func TestMachinesWithoutAStateSaySo(t *testing.T) {
	t.Parallel()
	j := job{dim: 100, rounds: 100_000, kind: topology.Ring, pause: 5 * time.Millisecond}
	founder := founded(t, j, 1)[0]
	var guests []*machine
	for range 2 {
		guest := newMachine(t, j, secret)
		guest.mostState = 1 // it refuses all states
		joins(t, guest, founder)
		guests = append(guests, guest)
	}
	for _, guest := range guests {
		until(t, "a view of three", func() bool { return len(guest.seat.Vitals().View.Members) == 3 })
	}
	founder.kill()
	<-founder.done
	for _, guest := range guests {
		until(t, "a member that says what is missing", func() bool {
			return guest.watch.says("all members with a state are silent: machine m0; the others cannot go on without one")
		})
	}
	for _, guest := range guests {
		close(guest.leave)
	}
	for _, guest := range guests {
		<-guest.done
		if guest.err != nil || guest.out.Standing != member.Left {
			t.Errorf("%+v, error %v", guest.out, guest.err)
		}
	}
}

// A newcomer that was admitted just before the run ended hears no member, and gives up.
func TestANewcomerOfARunThatIsGoneGivesUp(t *testing.T) {
	t.Parallel()
	j := job{dim: 100, rounds: 100, kind: topology.Ring}
	gone, guest := newMachine(t, j, secret), newMachine(t, j, secret)
	at := &Place{ID: 1, Members: []views.Member{{Name: "gone", Key: gone.Host.ID().String(),
		Address: addressOf(gone.Host.Addrs())}}}
	gone.Host.Close()
	var err error
	if guest.seat, err = Join(guest.options(), at); err != nil {
		t.Fatal(err)
	}
	guest.run(t)
	<-guest.done
	if guest.err != nil || guest.out.Log != nil {
		t.Errorf("%+v, error %v", guest.out, guest.err)
	}
}
