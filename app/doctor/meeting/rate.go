package meeting

import (
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"time"

	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
)

const (
	chunkBytes = 1 << 16
	mostChunks = 512                    // of a burst: 32 MiB
	enough     = 100 * time.Millisecond // a burst that takes so long tells the rate
	leastTime  = time.Second            // left of the meeting, for a measurement to begin
)

// A plan asks for a measurement, or answers.
type plan struct {
	Measure bool `json:"measure"` // of the leader: false ends the asking
	Ready   bool `json:"ready"`   // of the follower: it measures nothing else now
}

// leadRate measures the rate to the other end, and lets it measure the way back. It returns 0 if nothing was measured.
// A machine measures one pair at a time, because pairs share its interface.
func (m *meeting) leadRate(t *handshake.Talk, latency time.Duration) (float64, error) {
	for m.c.Rates && m.hasTime() {
		if !m.wire.TryLock() {
			socket.Sleep(m.ctx, pause())
			continue
		}
		answer, err := ask(t, plan{Measure: true})
		if err != nil || !answer.Ready {
			m.wire.Unlock()
			if err != nil {
				return 0, err
			}
			socket.Sleep(m.ctx, pause())
			continue
		}
		defer m.wire.Unlock()
		rate, err := sendBursts(t, latency)
		if err != nil {
			return 0, err
		}
		return rate, receiveBursts(t)
	}
	_, err := ask(t, plan{})
	return 0, err
}

// hasTime reports whether the meeting lasts long enough for a measurement.
func (m *meeting) hasTime() bool {
	end, _ := m.ctx.Deadline()
	return m.ctx.Err() == nil && time.Until(end) > leastTime
}

// pause returns a random time, so that machines that wait for each other do not stay in step.
func pause() time.Duration { return 20*time.Millisecond + rand.N(40*time.Millisecond) }

func ask(t *handshake.Talk, p plan) (answer plan, err error) {
	text, err := json.Marshal(p)
	if err != nil {
		return answer, err
	}
	return answer, swap(t, aboutPlan, text, &answer)
}

// followRate is the other end of leadRate.
func (m *meeting) followRate(t *handshake.Talk) (float64, error) {
	for {
		body, err := t.Expect(aboutPlan, mostWords)
		if err != nil {
			return 0, err
		}
		var theirs plan
		if json.Unmarshal(body, &theirs) != nil {
			return 0, errForm
		}
		ready := theirs.Measure && m.wire.TryLock()
		text, err := json.Marshal(plan{Ready: ready})
		if err == nil {
			err = t.Say(aboutPlan, text)
		}
		if ready {
			defer m.wire.Unlock()
		}
		if err != nil || !theirs.Measure {
			return 0, err
		}
		if !ready {
			continue
		}
		if err := receiveBursts(t); err != nil {
			return 0, err
		}
		return sendBursts(t, 0)
	}
}

// sendBursts sends bursts of doubling length until one takes long enough, and returns the rate of the last one in
// bit/s. A slow link so has little to carry, and a fast one is filled.
func sendBursts(t *handshake.Talk, latency time.Duration) (rate float64, err error) {
	chunk := make([]byte, chunkBytes)
	for chunks := 1; ; chunks *= 2 {
		began := time.Now()
		if err := t.Say(aboutBurst, binary.LittleEndian.AppendUint32(nil, uint32(chunks))); err != nil {
			return 0, err
		}
		for range chunks {
			if err := t.Say(aboutChunk, chunk); err != nil {
				return 0, err
			}
		}
		if _, err := t.Expect(aboutArrival, 0); err != nil {
			return 0, err
		}
		if took := time.Since(began); took >= enough || chunks == mostChunks {
			rate = 8 * float64(chunks*chunkBytes) / max(took-latency, took/2).Seconds()
			return rate, t.Say(aboutBurst, make([]byte, 4))
		}
	}
}

// receiveBursts is the other end of sendBursts.
func receiveBursts(t *handshake.Talk) error {
	for {
		body, err := t.Expect(aboutBurst, 4)
		if err != nil {
			return err
		}
		if len(body) != 4 || binary.LittleEndian.Uint32(body) > mostChunks {
			return errForm
		}
		chunks := binary.LittleEndian.Uint32(body)
		if chunks == 0 {
			return nil
		}
		for range chunks {
			if _, err := t.Expect(aboutChunk, chunkBytes); err != nil {
				return err
			}
		}
		if err := t.Say(aboutArrival, nil); err != nil {
			return err
		}
	}
}
