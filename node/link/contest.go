package link

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"gossiptrainer/node/socket"
)

// A contest tries several ways to a neighbour at once. The link does not wait for ways that are certainly slower, and
// not for long for those that do not answer. If one of these turns out to be better, the link moves to it.
type contest struct {
	edge    *edge
	began   time.Time
	end     context.CancelFunc
	running sync.WaitGroup
	changed chan struct{} // signals a change of a trial

	mu     sync.Mutex
	trials []trial
}

// A trial is the attempt to use one way.
type trial struct {
	ip      netip.Addr
	conn    network.Conn // nil: not yet, or it does not answer
	dialled bool         // for this contest
	doubted bool         // the way did not answer the last time
	probing time.Time    // since when the connection is measured; zero: not yet
	took    time.Duration
	speed   socket.Speed
	over    bool
	err     error
}

const (
	dialWay    = 2 * time.Second        // bounds the dial of one way
	unanswered = 250 * time.Millisecond // for ways that have not answered yet
	// slack is how much longer than twice the time of the best way others may take until they count as slower.
	slack = 20 * time.Millisecond
)

// contend begins to measure connections, and ways that are dialled first.
func (e *edge) contend(conns []network.Conn, routes []socket.Route) *contest {
	ctx, cancel := context.WithCancel(e.ctx)
	c := &contest{edge: e, began: time.Now(), end: cancel, changed: make(chan struct{}, 1)}
	for _, conn := range conns {
		c.trials = append(c.trials, trial{ip: socket.Remote(conn), conn: conn})
	}
	for _, r := range routes {
		c.trials = append(c.trials, trial{ip: r.IP, dialled: true, doubted: e.ways.of(r.IP).gone})
	}
	for i := range c.trials {
		var r socket.Route
		if i >= len(conns) {
			r = routes[i-len(conns)]
		}
		c.running.Add(1)
		e.wg.Go(func() {
			defer c.running.Done()
			c.try(ctx, i, r)
		})
	}
	return c
}

// try dials a way if there is no connection yet, and measures it.
func (c *contest) try(ctx context.Context, i int, r socket.Route) {
	e := c.edge
	conn := c.trial(i).conn
	if conn == nil {
		dialling, cancel := context.WithTimeout(ctx, dialWay)
		defer cancel()
		var err error
		if conn, err = e.Host.Dial(dialling, e.id, r); err != nil {
			e.log.Debug("a way does not answer", "address", r.IP, "err", err)
			if ctx.Err() == nil {
				e.ways.note(r.IP, socket.Speed{}, false, 0)
			}
			c.set(i, func(t *trial) { t.over, t.err = true, err })
			return
		}
	}
	began := time.Now()
	c.set(i, func(t *trial) { t.conn, t.probing = conn, began })
	speed, bytes, err := e.Host.Probe(ctx, conn)
	c.set(i, func(t *trial) { t.speed, t.took, t.over, t.err = speed, time.Since(began), true, err })
	if err != nil {
		e.log.Debug("a way cannot be measured", "address", socket.Remote(conn), "err", err)
		return
	}
	e.ways.note(socket.Remote(conn), speed, true, bytes)
}

func (c *contest) trial(i int) trial {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trials[i]
}

func (c *contest) set(i int, change func(*trial)) {
	c.mu.Lock()
	change(&c.trials[i])
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// winner waits until one way has certainly won, and returns its connection.
func (c *contest) winner(ctx context.Context) (network.Conn, error) {
	for {
		c.mu.Lock()
		trials := slices.Clone(c.trials)
		c.mu.Unlock()
		won, wait := judge(trials, c.began, time.Now(), c.edge.Limit)
		if wait <= 0 {
			if won < 0 {
				return unmeasured(trials)
			}
			return trials[won].conn, nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-c.changed:
		case <-timer.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		timer.Stop()
	}
}

// judge returns the best trial that is over, −1 without one, and how long to wait for others that may be better.
func judge(trials []trial, began, now time.Time, bytes int) (won int, wait time.Duration) {
	won = -1
	var known []way
	for _, t := range trials {
		known = append(known, way{t.ip, t.speed, !t.over || t.err != nil})
	}
	if best, ok := fastest(known, trials[0].ip, bytes); ok {
		won = slices.IndexFunc(trials, func(t trial) bool { return t.ip == best.ip })
	}
	for _, t := range trials {
		var until time.Time
		switch {
		case t.over:
			continue
		case t.probing.IsZero() && t.doubted && won >= 0:
			continue
		case t.probing.IsZero():
			until = began.Add(unanswered)
		case won >= 0:
			until = t.probing.Add(2*trials[won].took + slack)
		default:
			until = t.probing.Add(dialWay)
		}
		wait = max(wait, until.Sub(now))
	}
	return won, wait
}

// unmeasured returns a connection that could not be measured. A neighbour that is not ready will be later.
func unmeasured(trials []trial) (network.Conn, error) {
	err := errors.New("no way answers")
	for _, t := range trials {
		if t.err != nil {
			err = t.err
		}
		if t.conn != nil && !socket.NotServed(t.err) {
			return t.conn, nil
		}
	}
	return nil, err
}

// conclude waits until all ways have been tried. It returns the connection to which the link should move from now, nil
// if it is on the best way.
func (c *contest) conclude(ctx context.Context, now network.Conn) network.Conn {
	stop := context.AfterFunc(ctx, c.end)
	defer stop()
	c.running.Wait()
	at := socket.Remote(now)
	best, ok := c.edge.ways.best(at, c.edge.Limit)
	if !ok || best.ip == at || ctx.Err() != nil {
		return nil
	}
	for _, t := range c.trials {
		if t.ip == best.ip && t.conn != nil && !t.conn.IsClosed() {
			return t.conn
		}
	}
	return nil
}

// close ends the contest and the connections that it has dialled, apart from the one in use.
func (c *contest) close(used network.Conn) {
	c.end()
	c.running.Wait()
	for _, t := range c.trials {
		if t.dialled && t.conn != nil && t.conn != used {
			c.edge.hangUp(t.conn)
		}
	}
}
