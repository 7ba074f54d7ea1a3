package script

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"gossiptrainer/internal/bridge"
)

// Finish tells the script that the worker has done its rounds, with the final vector x, and waits until the script has
// ended. It returns the loss and the accuracy that the script has told of this vector, NaN if none.
func (c *Child) Finish(ctx context.Context, rounds, planned int, x []float32) (loss, accuracy float64, err error) {
	end := bridge.End{Why: bridge.Finished, Round: rounds, Message: fmt.Sprintf("all %d rounds are done", rounds)}
	if text := c.Stopped(); text != "" {
		end.Why, end.Message = bridge.Stopped, text
	} else if rounds < planned && !c.turns.over {
		end.Why, end.Message = bridge.Target, fmt.Sprintf("the run ends after %d rounds", rounds)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.hurry(c.allowed()) })()
	err = c.turns.conclude(ctx, end, x, func() { c.hurry(turnover) })
	return c.outcome(ctx, rounds, err)
}

// outcome waits until the script has ended, unless it has failed with err before. It returns the loss and the accuracy
// that the script has told of the vector after the last round, NaN if none.
func (c *Child) outcome(ctx context.Context, rounds int, err error) (loss, accuracy float64, _ error) {
	loss, accuracy = math.NaN(), math.NaN()
	if err == nil || ctx.Err() != nil { // an interrupted script may still end well
		err = c.script.Wait()
	}
	if err != nil {
		return loss, accuracy, fate(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.newest.Round == rounds {
		loss, accuracy = c.newest.Loss, c.newest.Accuracy
	}
	return loss, accuracy, nil
}

// Stopped returns which script has stopped the run before its rounds were over, and why; "": none has.
func (c *Child) Stopped() string {
	v, err := c.turns.states.view(0)
	if err != nil || v.stop == "" || !c.turns.over {
		return ""
	}
	return fmt.Sprintf("worker %d: %s", v.stopper, v.stop)
}

// turnover is how long a script that is to end may keep the vector before it is interrupted.
const turnover = 200 * time.Millisecond

// allowed returns how long a script that is to end may go on before it is interrupted. The checkpoint after the last
// round is worth little without the state of the script, which an interrupt may lose.
func (c *Child) allowed() time.Duration {
	if c.turns.keep != nil {
		return bridge.LastStep
	}
	return turnover
}

// hurry interrupts the script after a time, unless stop is called.
func (c *Child) hurry(allowed time.Duration) (stop func() bool) {
	return c.after(allowed, c.script.Interrupt)
}

// Stop ends the script of a worker that ends because of an error, after that many rounds with vector x, nil if it has
// none. The script hears why, may save what it has, and is killed if it takes longer than bridge.DefaultGrace.
func (c *Child) Stop(ctx context.Context, why error, rounds int, x []float32) {
	_, failed := errors.AsType[*Error](why)
	if failed {
		defer c.reveal()
	}
	defer c.Close()
	close(c.turns.stopping)
	if failed || x == nil {
		return
	}
	end := bridge.End{Why: bridge.Stopped, Message: why.Error(), Round: rounds}
	if ctx.Err() != nil {
		end.Why = bridge.Interrupted
	}
	defer c.hurry(c.allowed())()
	err := c.turns.stop(end, x)
	c.script.Interrupt()
	if err == nil {
		_ = c.script.Wait() // the worker's own error counts
	}
}
