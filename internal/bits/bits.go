// Package bits makes the controllers that choose the bits of messages while a run goes on, and the part of each worker
// in the choice.
package bits

import (
	"gossiptrainer/configs"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/rng"
	"gossiptrainer/quant/controller"
	"gossiptrainer/topology"
)

// controllers maps values of algorithm.controller.name to constructors, which also return the first bits. The value fix
// has no controller.
var controllers = map[string]func(c configs.Controller, seed uint64) (choose gossip.Chooser, start int, err error){
	"oland-raj": func(c configs.Controller, _ uint64) (gossip.Chooser, int, error) {
		choose, err := controller.NewOlandRaj(c.MinBits, c.MaxBits)
		return choose, c.MaxBits, err
	},
	"mqgrad": func(c configs.Controller, seed uint64) (gossip.Chooser, int, error) {
		choose, err := controller.NewMQGrad(c.MinBits, c.MaxBits, seed)
		return choose, c.MinBits, err
	},
}

// Controlled reports whether the bits change while a run goes on.
func Controlled(c configs.Controller) bool {
	_, ok := controllers[c.Name]
	return ok
}

// controllerStream separates the controller's draws from the streams of the workers.
const controllerStream = 1<<31 - 3

// Agree returns the part of worker rank in the choice of bits. Worker 0 makes the choice. The plan has the diameter of
// the graph and the steps of an exchange; its start is that of the controller where it has none.
func Agree(
	c configs.Controller, seed uint64, rank topology.Rank, plan gossip.AgreementPlan,
) (*gossip.Agreement, error) {
	choose, start, err := controllers[c.Name](c, rng.Stream(seed, controllerStream))
	if err != nil {
		return nil, err
	}
	if plan.Start > 0 {
		start = min(max(plan.Start, c.MinBits), c.MaxBits)
	}
	plan.Window, plan.Low, plan.High, plan.Start = choose.Window(), c.MinBits, c.MaxBits, start
	if rank != 0 {
		choose = nil
	}
	return gossip.NewAgreement(plan, choose)
}
