package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"gossiptrainer/internal/bridge"
)

// toy is a script without Python, for tests that need no more. It trains the mean of a square distance by momentum.
//
// An argument like raise=5 says that something goes wrong in that round: raise, exit0, exit3 or stuck. So does kill,
// which needs the file of mark and does it once. With drift, a toy that was killed takes another step. With nojoin,
// small and fork it goes wrong at the beginning, and with late at the end. With uneven worker r ends after 5 + 5r steps
// and a mean, and worker 1 says before that it has finished. With wait=FILE no round ends before that
// file is there. With pause=TIME each round takes so long.
//
// With tell=FIFO worker of=R writes into that file in round at=K, at the place=go, state or step. All workers then say
// their states at the end.
func toy() {
	t := toyScript{rank: 3, args: map[string]string{}}
	for _, arg := range os.Args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		t.args[key] = value
	}
	if err := t.train(); err != nil {
		fmt.Fprintln(os.Stderr, "toy:", err)
		os.Exit(1)
	}
}

// toySize is the length of the vector.
const toySize = 64

type toyScript struct {
	conn     net.Conn
	args     map[string]string
	rank     int
	calls    int
	x, speed []float32
}

func (t *toyScript) train() error {
	_, fork := t.args["fork"]
	if fork { // as data loaders do
		if err := exec.Command("sleep", "1000").Start(); err != nil {
			return err
		}
	}
	if _, ok := t.args["nojoin"]; ok {
		fmt.Println("toy: nothing to do")
		return nil
	}
	t.x, t.speed = make([]float32, toySize), make([]float32, toySize)
	for i := range t.x {
		t.x[i] = float32(i) / toySize
	}
	if err := t.join(); err != nil {
		return err
	}
	for {
		h, body, err := t.read()
		if err != nil {
			return err
		}
		switch h.Kind {
		case bridge.KindVector:
			t.get(t.x, body)
		case bridge.KindWelcome:
			var w bridge.Welcome
			if err := json.Unmarshal(body, &w); err != nil {
				return err
			}
			t.rank = w.Rank
			fmt.Printf("toy: worker %d of %d begins at round %d\n", w.Rank, w.Size, w.Round)
		case bridge.KindView:
			var v bridge.View
			if err := json.Unmarshal(body, &v); err != nil {
				return err
			}
			t.rank = v.ID
			fmt.Printf("toy: member %d is %d of %d in view %d: %s\n", v.ID, v.Rank, v.Size, v.View, v.Why)
		case bridge.KindState:
			if len(body) == 0 { // the peer asks while this script waits
				if err := t.send(bridge.KindState, int(h.Round), t.bytes(t.speed)); err != nil {
					return err
				}
				continue
			}
			t.get(t.speed, body)
		case bridge.KindGo:
			t.get(t.x, body)
			_, uneven := t.args["uneven"]
			if h.Flags&bridge.FlagState != 0 && uneven {
				if err := t.send(bridge.KindState, int(h.Round), t.bytes(t.speed)); err != nil {
					return err
				}
				h.Flags = 0
			}
			if uneven && t.calls == 0 && int(h.Round) >= 5+5*t.rank {
				if t.rank == 1 {
					if err := t.send(bridge.KindFinish, int(h.Round), nil); err != nil {
						return err
					}
				}
				if err := t.mean(); err != nil {
					return err
				}
				continue
			}
			if t.calls > 0 {
				return t.end(int(h.Round))
			}
			if err := t.step(int(h.Round), h.Flags&bridge.FlagState != 0); err != nil {
				return err
			}
		case bridge.KindEnd:
			if h.Flags&bridge.FlagState != 0 {
				if err := t.send(bridge.KindState, int(h.Round), t.bytes(t.speed)); err != nil {
					return err
				}
			}
			return t.end(int(h.Round))
		case bridge.KindResult:
			length := binary.LittleEndian.Uint32(body)
			sum := sha256.Sum256(body[4+length:])
			fmt.Printf("toy: worker %d has %s %x\n", t.rank, body[4:4+length], sum[:4])
			if !bytes.Contains(body, []byte(`"moved":true`)) {
				return t.end(int(h.Round))
			}
		case bridge.KindError:
			return fmt.Errorf("the peer refuses: %s", body)
		}
	}
}

// mean calls for the mean of the models.
func (t *toyScript) mean() error {
	t.calls++
	text := `{"kind":"mean"}`
	body := binary.LittleEndian.AppendUint32(nil, uint32(len(text)))
	return t.send(bridge.KindCollect, t.calls, append(body, text...))
}

func (t *toyScript) join() (err error) {
	if t.conn, err = net.Dial("unix", os.Getenv("PEER_SOCKET")); err != nil {
		return err
	}
	shape := []bridge.Tensor{{Name: "w", Shape: []int{8, 8}, Dtype: "float32"}}
	var hello any = bridge.Hello{Version: bridge.Version, Client: "toy", Memory: bridge.Frames,
		Outline: bridge.Outline{Tensors: shape, Elements: toySize}}
	if os.Getenv("PEER_VIEWS") != "" {
		same := cmp.Or(t.args["same"], "toy")
		if same == "rank" { // frozen values differ from process to process
			same = os.Getenv("PEER_LOCAL_RANK")
		}
		hello = struct {
			bridge.Hello
			Views string `json:"views"`
		}{hello.(bridge.Hello), same}
	}
	if err := t.say(bridge.KindHello, 0, hello); err != nil {
		return err
	}
	if _, ok := t.args["small"]; ok {
		return t.send(bridge.KindStart, 0, make([]byte, 8))
	}
	return t.send(bridge.KindStart, 0, t.bytes(t.x))
}

// step takes the local step of a round, or does what goes wrong in it.
func (t *toyScript) step(k int, save bool) error {
	t.tell(k, "go")
	if save {
		if err := t.send(bridge.KindState, k, t.bytes(t.speed)); err != nil {
			return err
		}
	}
	t.tell(k, "state")
	if pause, err := time.ParseDuration(t.args["pause"]); err == nil {
		<-time.After(pause)
	}
	if file, ok := t.args["wait"]; ok {
		if pipe, err := os.Open(file); err == nil { // a fifo, that opens when the test does
			pipe.Close()
		}
	}
	for name := range t.args {
		if at, err := strconv.Atoi(t.args[name]); err != nil || at != k || t.rank != 3 {
			continue
		}
		switch name {
		case "raise":
			if err := t.say(bridge.KindError, k, bridge.Failure{Message: "ValueError: toys have no values"}); err != nil {
				return err
			}
			os.Exit(1)
		case "stop":
			return t.send(bridge.KindStop, k, []byte(`{"why":"enough"}`))
		case "exit0":
			os.Exit(0)
		case "exit3":
			os.Exit(3)
		case "stuck":
			select {}
		case "drift":
			if _, err := os.Stat(t.args["mark"]); err == nil {
				for i := range t.x {
					t.x[i] += 5
				}
			}
		case "kill":
			mark, err := os.OpenFile(t.args["mark"], os.O_CREATE|os.O_EXCL, 0o600)
			if err == nil {
				mark.Close()
				if own, err := os.FindProcess(os.Getpid()); err == nil {
					_ = own.Kill()
				}
				select {}
			}
		}
	}
	loss := 0.0
	for i, v := range t.x {
		gap := v - float32(t.rank)
		loss += float64(gap*gap) / toySize
		t.speed[i] = 0.9*t.speed[i] + gap
		t.x[i] = v - 0.02*t.speed[i]
	}
	if err := t.send(bridge.KindStep, k, t.bytes(t.x)); err != nil {
		return err
	}
	t.tell(k, "step")
	return t.say(bridge.KindLog, k, bridge.Values{Values: map[string]*float64{"loss": &loss}})
}

// tell opens the file of a test that waits for this place.
func (t *toyScript) tell(k int, place string) {
	if t.args["at"] != strconv.Itoa(k) || t.args["of"] != strconv.Itoa(t.rank) || t.args["place"] != place {
		return
	}
	if pipe, err := os.OpenFile(t.args["tell"], os.O_WRONLY, 0); err == nil {
		fmt.Fprintln(pipe, k)
		pipe.Close()
	}
}

func (t *toyScript) end(rounds int) error {
	if _, ok := t.args["late"]; ok && t.rank == 3 {
		return fmt.Errorf("no room for the model")
	}
	if _, ok := t.args["tell"]; ok {
		fmt.Printf("toy: worker %d ends with %x\n", t.rank, sha256.Sum256(t.bytes(t.speed)))
	}
	accuracy, loss := 0.25*float64(t.rank), float64(t.x[0])
	score := bridge.Values{Values: map[string]*float64{"accuracy": &accuracy, "loss": &loss}}
	if err := t.say(bridge.KindScore, rounds, score); err != nil {
		return err
	}
	return t.say(bridge.KindBye, rounds, struct{}{})
}

func (t *toyScript) say(kind bridge.Kind, round int, body any) error {
	message, err := bridge.AppendMessage(nil, kind, round, body)
	if err != nil {
		return err
	}
	_, err = t.conn.Write(message)
	return err
}

func (t *toyScript) send(kind bridge.Kind, round int, body []byte) error {
	head := make([]byte, bridge.HeaderLen)
	bridge.Header{Kind: kind, Round: uint64(round), Length: uint64(len(body))}.Put(head)
	_, err := t.conn.Write(append(head, body...))
	return err
}

func (t *toyScript) read() (bridge.Header, []byte, error) {
	head := make([]byte, bridge.HeaderLen)
	if _, err := io.ReadFull(t.conn, head); err != nil {
		return bridge.Header{}, nil, err
	}
	h, err := bridge.ParseHeader(head)
	if err != nil {
		return h, nil, err
	}
	body := make([]byte, h.Length)
	_, err = io.ReadFull(t.conn, body)
	return h, body, err
}

func (t *toyScript) bytes(x []float32) []byte {
	var b []byte
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func (t *toyScript) get(x []float32, b []byte) {
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
}
