package script

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"strings"

	"gossiptrainer/internal/bridge"
)

// A player is a script that does one thing after the other, and prints how its calls end. Its words are step, barrier,
// reduce, broadcast (from worker 0), mean, newest, refresh (adds a tensor), finish, end (waits for END), leave, return,
// stop and die. With die-mean it dies in a mean, and with quit after BYE. Bar and lines print. With loop it steps until
// END. Bars separate workers.
type player struct {
	conn  net.Conn
	rank  int
	calls int
	ended bool // END is there
	round int  // of the last GO
	size  int  // of its vector
	views bool // it takes them
}

// errOver says that the run has ended in a call of the player.
var errOver = errors.New("the run has ended")

func play(all string) error {
	p := &player{}
	if err := p.join(); err != nil {
		return err
	}
	words := all // where members come and go each has its own
	if !p.views {
		words = strings.Split(all, "|")[p.rank]
	}
	for word := range strings.FieldsSeq(words) {
		if err := p.do(word); errors.Is(err, errOver) {
			break
		} else if err != nil {
			return err
		}
	}
	return p.send(bridge.KindBye, 0, []byte("{}"))
}

func (p *player) join() (err error) {
	if p.conn, err = net.Dial("unix", os.Getenv("PEER_SOCKET")); err != nil {
		return err
	}
	tensors := []bridge.Tensor{{Name: "w", Shape: []int{1}, Dtype: "float32"}}
	var content any = bridge.Hello{Version: bridge.Version, Client: actor, Memory: bridge.Frames,
		Outline: bridge.Outline{Tensors: tensors, Elements: 1}}
	if p.views = os.Getenv("PEER_VIEWS") != "" && os.Getenv("PLAYER_OLD") == ""; p.views {
		content = struct {
			bridge.Hello
			Views string `json:"views"`
		}{content.(bridge.Hello), "same"}
	}
	hello, err := bridge.AppendMessage(nil, bridge.KindHello, 0, content)
	if err != nil {
		return err
	}
	if _, err := p.conn.Write(hello); err != nil {
		return err
	}
	if err := p.send(bridge.KindStart, 0, make([]byte, 4)); err != nil {
		return err
	}
	for {
		h, body, err := p.read()
		if err != nil {
			return err
		}
		if h.Kind == bridge.KindWelcome {
			var w bridge.Welcome
			err := json.Unmarshal(body, &w)
			p.rank = w.Rank
			return errors.Join(err, p.turn())
		}
	}
}

// turn waits for GO or END.
func (p *player) turn() error {
	for {
		h, body, err := p.read()
		switch {
		case err != nil:
			return err
		case h.Kind == bridge.KindGo:
			return nil
		case h.Kind == bridge.KindEnd:
			p.ended = true
			p.tell(fmt.Sprintf("END %d", h.Round), body)
			return nil
		}
	}
}

func (p *player) tell(what string, body []byte) { fmt.Printf("%d: %s %s\n", p.rank, what, body) }

func (p *player) do(word string) error {
	switch word {
	case "step":
		if p.ended {
			return nil
		}
		var step []byte
		for range p.size {
			step = binary.LittleEndian.AppendUint32(step, math.Float32bits(float32(p.rank)))
		}
		if err := p.send(bridge.KindStep, 0, step); err != nil {
			return err
		}
		return p.turn()
	case "loop":
		for !p.ended {
			if err := p.do("step"); err != nil {
				return err
			}
		}
		return nil
	case "finish":
		return p.send(bridge.KindFinish, 0, nil)
	case "stop":
		if p.ended {
			return nil
		}
		if err := p.send(bridge.KindStop, 0, []byte(`{"why":"enough"}`)); err != nil {
			return err
		}
		return p.turn()
	case "bar":
		for i := range 100_000 {
			fmt.Printf("\rstep %d of 100000", i+1)
		}
		fmt.Println("\nafter")
		return nil
	case "lines": // and an error
		for i := range 50 {
			fmt.Println("line", i)
		}
		return errors.New("fails")
	case "end":
		if p.ended {
			return nil
		}
		return p.turn()
	case "leave", "return":
		if p.ended {
			return nil
		}
		if err := p.send(bridge.KindPause, 0, nil); err != nil || word == "leave" {
			return err
		}
		return p.turn()
	case "die":
		os.Exit(3)
	case "quit":
		if err := p.send(bridge.KindBye, 0, []byte("{}")); err != nil {
			return err
		}
		os.Exit(3)
	}
	if kind, dies := strings.CutPrefix(word, "die-"); dies {
		if err := p.ask(kind); err != nil {
			return err
		}
		os.Exit(3)
	}
	return p.call(word)
}

// ask begins a call.
func (p *player) ask(kind string) error {
	text, raw := fmt.Sprintf(`{"kind":%q}`, kind), []byte(nil)
	switch kind {
	case "newest", "newest1":
		text = `{"kind":"newest","seconds":5}`
		if kind == "newest1" {
			text = `{"kind":"newest","seconds":5,"ranks":[1]}`
		}
	case "mean01":
		text = `{"kind":"mean","ranks":[0,1]}`
	case "reduce":
		text = `{"kind":"reduce","op":"sum"}`
		raw = binary.LittleEndian.AppendUint64(nil, math.Float64bits(float64(p.rank+1)))
	case "broadcast":
		if p.rank == 0 {
			raw = []byte("root")
		}
	case "refresh":
		next := `{"tensors":[{"name":"w","shape":[1],"dtype":"float32"},{"name":"v","shape":[1],"dtype":"float32"}],` +
			`"elements":2,"exact":0}`
		raw = append(binary.LittleEndian.AppendUint32(nil, uint32(len(next))), next...)
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(p.rank)+0.5))
	}
	number := 0
	if !strings.HasPrefix(kind, "newest") {
		p.calls++
		number = p.calls
	}
	body := append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
	return p.send(bridge.KindCollect, number, append(body, raw...))
}

// call makes a call and prints how it ends.
func (p *player) call(kind string) error {
	if err := p.ask(kind); err != nil {
		return err
	}
	for {
		h, body, err := p.read()
		switch {
		case err != nil:
			return err
		case h.Kind == bridge.KindEnd:
			p.ended = true
			p.tell(fmt.Sprintf("END %d in %s", h.Round, kind), body)
			if strings.Contains(string(body), `"cut":true`) {
				return errOver
			}
		case h.Kind == bridge.KindResult:
			length := 4 + binary.LittleEndian.Uint32(body)
			what := kind
			switch got := body[length:]; {
			case strings.HasPrefix(kind, "mean") || strings.HasPrefix(kind, "newest") && len(got) > 0:
				what += fmt.Sprintf(" %g", math.Float32frombits(binary.LittleEndian.Uint32(got)))
			case kind == "refresh":
				what += fmt.Sprintf(" %g", math.Float32frombits(binary.LittleEndian.Uint32(got)))
			case kind == "reduce":
				what += fmt.Sprintf(" %g", math.Float64frombits(binary.LittleEndian.Uint64(got)))
			case len(got) > 0:
				what += fmt.Sprintf(" %s", got)
			}
			p.tell(what, body[4:length])
			if strings.Contains(string(body[:length]), `"moved":true`) {
				return p.turn()
			}
			return nil
		}
	}
}

// send sends a message. The round of a turn is that of the last GO.
func (p *player) send(kind bridge.Kind, number int, body []byte) error {
	if kind == bridge.KindStep || kind == bridge.KindStop || kind == bridge.KindFinish || kind == bridge.KindPause {
		number = p.round
	}
	head := make([]byte, bridge.HeaderLen)
	bridge.Header{Kind: kind, Round: uint64(number), Length: uint64(len(body))}.Put(head)
	_, err := p.conn.Write(append(head, body...))
	return err
}

func (p *player) read() (bridge.Header, []byte, error) {
	head := make([]byte, bridge.HeaderLen)
	if _, err := io.ReadFull(p.conn, head); err != nil {
		return bridge.Header{}, nil, err
	}
	h, err := bridge.ParseHeader(head)
	if err != nil {
		return h, nil, err
	}
	body := make([]byte, h.Length)
	if _, err := io.ReadFull(p.conn, body); err != nil {
		return h, nil, err
	}
	switch h.Kind {
	case bridge.KindGo:
		p.round, p.size = int(h.Round), int(h.Length)/4
	case bridge.KindView:
		var v bridge.View
		if err := json.Unmarshal(body, &v); err != nil {
			return h, nil, err
		}
		p.rank = v.ID
		p.tell(fmt.Sprintf("VIEW %d", h.Round), body)
	case bridge.KindError:
		return h, nil, fmt.Errorf("the peer refuses: %s", body)
	}
	return h, body, nil
}
