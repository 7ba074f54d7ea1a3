package seat

import (
	"context"
	"math"
	"time"

	"gossiptrainer/app/script"
	"gossiptrainer/gossip/member"
	"gossiptrainer/gossip/retrace"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/membership"
	"gossiptrainer/node"
	"gossiptrainer/node/hall"
	"gossiptrainer/node/members"
)

// enlist makes a member of a script. Its losses come late, and so the steps of the record do.
func (m *Member) enlist() {
	m.scored.loss, m.scored.accuracy = math.NaN(), math.NaN()
	if m.Script == nil {
		return
	}
	cfg := m.Run.Config()
	m.scripted = script.NewMember(m.Script, script.Plan{Run: cfg.Name, Seed: cfg.Seed, Rounds: int(cfg.Train.Rounds),
		Grace: time.Duration(cfg.Membership.Grace)})
	m.Hear = m.Script.Late.Observe(m.Hear)
}

// brief begins a life of the script as that of a member, with the start that all founders share. The caller ends it.
func (m *Member) brief(ctx context.Context, n *node.Node, at *members.Meeting) (end func(), err error) {
	if m.scripted == nil {
		return func() {}, nil
	}
	cfg := m.Run.Config()
	room := hall.Open(processOf(n, at), time.Duration(cfg.Membership.Grace)/2, m.scripted.Give)
	cancel := m.scripted.Live(room)
	end = func() {
		cancel()
		room.Close()
	}
	program := experiment.Program{Gradient: m.scripted.Gradient}
	if at.Place == nil {
		if program.Start, err = m.scripted.Found(ctx, at.Founders, at.Self); err != nil {
			end()
			return nil, err
		}
	}
	if m.maker, err = membership.NewMaker(m.Run.Programmed(program)); err != nil {
		end()
		return nil, err
	}
	m.maker.Enters = func(p retrace.Place) { m.scripted.Sees(p, cfg.Algorithm.LocalSteps) }
	return end, nil
}

// conclude ends the script, unless the machine comes back. After the last round it may call those of others.
func (m *Member) conclude(ctx context.Context, leave <-chan struct{}, out *members.Outcome) error {
	if m.scripted == nil {
		return nil
	}
	x := m.maker.Latest(out.ID).Model().X
	switch {
	case out.Standing == member.Finished:
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			select {
			case <-leave:
				cancel()
			case <-ctx.Done():
			}
		}()
		var err error
		m.scored.loss, m.scored.accuracy, err = m.scripted.Finish(ctx, out.Rounds, x)
		return err
	case out.Standing == member.Excluded && !closed(leave):
		return nil
	}
	m.scripted.Leave("this machine has left the run", out.Rounds, x)
	return nil
}

// dismiss ends the script of a machine that ends with an error.
func (m *Member) dismiss(why error) {
	if m.scripted != nil {
		m.scripted.Leave(why.Error(), 0, nil)
	}
}
