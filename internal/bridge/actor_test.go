package bridge

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"gossiptrainer/gossip/pace"
	"gossiptrainer/internal/vec"
)

// The test binary is a script if its first argument begins with this.
const roleFlag = "role="

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if role, ok := strings.CutPrefix(os.Args[1], roleFlag); ok {
			play(role, os.Args[2:])
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// actor returns the command of a script that plays a role.
func actor(role string, args ...string) []string {
	return append([]string{os.Args[0], roleFlag + role}, args...)
}

// A stage is a script's end of the conversation.
type stage struct {
	c      net.Conn
	frames bool
	x      []float32 // the region
}

func must[T any](v T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, "script:", err)
		os.Exit(99)
	}
	return v
}

func call() *stage {
	if port, ok := strings.CutPrefix(os.Getenv("PEER_SOCKET"), "tcp://"); ok {
		c := must(net.Dial("tcp", port))
		must(io.WriteString(c, os.Getenv("PEER_TOKEN")))
		return &stage{c: c}
	}
	return &stage{c: must(net.Dial("unix", os.Getenv("PEER_SOCKET")))}
}

func message(kind Kind, round int, body any) []byte {
	return must(AppendMessage(nil, kind, round, body))
}

// outline is that of the tests: a matrix, a number, and two exact numbers.
func outline() Outline {
	return Outline{Tensors: []Tensor{{"w", []int{2, 2}, "float32"}, {"b", []int{}, "float32"}, {"m", []int{2}, "float32"}},
		Elements: 7, Exact: 2}
}

// plain returns an outline of n elements without names to speak of.
func plain(n int) Outline {
	return Outline{Tensors: []Tensor{{"x", []int{n}, "float32"}}, Elements: n}
}

// join says HELLO with a start vector of 1, 2, 3, ...
func (s *stage) join(memory Memory, o Outline) {
	if memory == overTCP {
		memory = Frames
	}
	s.frames = memory == Frames
	hello := message(KindHello, 0, Hello{Version, "test", memory, o})
	if s.frames {
		s.x = make([]float32, o.Elements)
	} else {
		region, fd, err := makeRegion(max(4*o.Elements, minRegion), bothSeals)
		s.x = must(region, err)[:o.Elements]
		defer release(fd)
		defer func() { must(0, sendWith(s.c.(*net.UnixConn), hello, fd)) }()
	}
	for i := range s.x {
		s.x[i] = float32(i + 1)
	}
	if s.frames {
		must(s.c.Write(hello))
		s.hand(KindStart, 0)
	}
}

// hand hands the region over.
func (s *stage) hand(kind Kind, round int) {
	var head [HeaderLen]byte
	h := Header{Kind: kind, Round: uint64(round)}
	if s.frames {
		h.Length = 4 * uint64(len(s.x))
	}
	h.Put(head[:])
	must(s.c.Write(head[:]))
	if s.frames {
		must(s.c.Write(vec.AppendLE(nil, s.x)))
	}
}

func (s *stage) say(kind Kind, round int, body any) { must(s.c.Write(message(kind, round, body))) }

// raw sends bytes as a body.
func (s *stage) raw(kind Kind, round int, body []byte) {
	var head [HeaderLen]byte
	Header{Kind: kind, Round: uint64(round), Length: uint64(len(body))}.Put(head[:])
	must(s.c.Write(append(head[:], body...)))
}

// hear reads a message. A vector is in the region afterwards.
func (s *stage) hear() (Header, []byte) {
	var head [HeaderLen]byte
	must(io.ReadFull(s.c, head[:]))
	h := must(ParseHeader(head[:]))
	body := make([]byte, h.Length)
	must(io.ReadFull(s.c, body))
	switch h.Kind {
	case KindGo, KindVector:
		if s.frames {
			vec.ReadLE(s.x, body)
		}
	case KindError:
		fmt.Println("the peer refuses:", string(body))
		os.Exit(1)
	}
	return h, body
}

// welcome reads WELCOME and what comes with it.
func (s *stage) welcome() (w Welcome, blob []byte) {
	h, body := s.hear()
	if h.Kind == KindVector {
		h, body = s.hear()
	}
	if h.Kind != KindWelcome {
		must(0, fmt.Errorf("%v instead of WELCOME", h.Kind))
	}
	must(0, json.Unmarshal(body, &w))
	if h.Flags&FlagState != 0 {
		_, blob = s.hear()
	}
	return w, blob
}

// collect makes a call and prints its result.
func (s *stage) collect(call int, r Request, raw []byte) {
	text := must(json.Marshal(r))
	body := binary.LittleEndian.AppendUint32(nil, uint32(len(text)))
	s.raw(KindCollect, call, append(append(body, text...), raw...))
	h, got := s.hear()
	for h.Kind != KindResult {
		h, got = s.hear()
	}
	end := 4 + binary.LittleEndian.Uint32(got)
	fmt.Printf("result %d %s %d bytes\n", h.Round, got[4:end], len(got[end:]))
}

// step takes the local step of the tests, x ← x/2, and returns false after END.
func (s *stage) step() bool {
	h, _ := s.hear()
	if h.Kind == KindVector {
		h, _ = s.hear()
	}
	if h.Flags&FlagState != 0 {
		s.raw(KindState, int(h.Round), fmt.Appendf(nil, "state %d", h.Round))
	}
	if h.Kind == KindEnd {
		return false
	}
	for i := range s.x {
		s.x[i] /= 2
	}
	loss, rate := float64(s.x[0]), 0.25
	s.say(KindLog, int(h.Round), Values{map[string]*float64{"loss": &loss, "lr": &rate}})
	s.hand(KindStep, int(h.Round))
	return true
}

// play is the script.
func play(role string, args []string) {
	if strings.HasPrefix(role, "bad ") {
		playBad(role, args)
		return
	}
	switch role {
	case "silent":
		fmt.Print("no newline")
		return
	case "relay":
		if err := Relay(func(address string) { fmt.Println(address) }); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	case "exits 3":
		fmt.Fprintln(os.Stderr, "cannot go on")
		os.Exit(3)
	case "stubborn":
		signal.Ignore(os.Interrupt)
		fmt.Println("ready")
		linger()
	case "polite":
		interrupted := make(chan os.Signal, 1)
		signal.Notify(interrupted, os.Interrupt)
		fmt.Println("ready")
		<-interrupted
		os.Exit(130)
	case "parent":
		playParent()
		return
	case "chatty":
		fmt.Print(strings.Repeat("a line of the output\n", 50_000))
		return
	case "sleeper":
		fmt.Println("ready")
		linger()
	case "environment":
		fmt.Println(os.Getenv("PYTHONPATH"), os.Getenv("PYTHONUNBUFFERED"), os.Getenv("PEER_SEED"))
		return
	}
	s := call()
	memory := Memfd
	if len(args) > 0 {
		memory = Memory(args[0])
	}
	playJoined(s, role, memory)
}

func playJoined(s *stage, role string, memory Memory) {
	switch role {
	case "raises at once":
		s.say(KindError, 0, Failure{Message: "Traceback:\n  in join\nValueError: no parameters\n"})
		os.Exit(1)
	case "replies":
		s.join(memory, plain(must(atoi(os.Args[3]))))
		s.welcome()
		for {
			h, _ := s.hear()
			if h.Kind == KindEnd {
				return
			}
			s.hand(KindStep, int(h.Round))
		}
	}
	s.join(memory, outline())
	w, blob := s.welcome()
	fmt.Printf("rank %d of %d, rounds %d to %d, seed %d, blob %q, start %v\n", w.Rank, w.Size, w.Round, w.Rounds, w.Seed,
		blob, s.x)
	switch role {
	case "trains":
		for s.step() {
		}
		fmt.Println("final", s.x)
		s.collect(1, Request{Kind: pace.Mean}, nil)
		half := 0.5
		s.say(KindScore, 0, Values{map[string]*float64{"accuracy": &half}})
		s.say(KindBye, 0, struct{}{})
		return
	case "forks", "escapes":
		worker := exec.Command(os.Args[0], roleFlag+"sleeper")
		worker.Stdout = os.Stdout
		file := must(s.c.(*net.UnixConn).File())
		worker.ExtraFiles = []*os.File{file}
		if role == "escapes" {
			detach(worker)
		}
		must(0, worker.Start())
		fmt.Println("worker", worker.Process.Pid)
	}
	s.step()
	switch role {
	case "calls":
		s.hear()
		s.collect(4, Request{Kind: pace.Reduce, Op: "sum"}, make([]byte, 16))
		s.collect(5, Request{Kind: pace.Barrier}, nil)
		s.step()
		s.hear()
		s.raw(KindFinish, 2, nil)
		s.collect(6, Request{Kind: pace.Mean}, nil)
		s.say(KindBye, 0, struct{}{})
		return
	case "raises":
		s.say(KindError, 0, Failure{"RuntimeError: shapes differ", "look at layer 3"})
		os.Exit(1)
	case "leaves", "forks", "escapes":
	case "says bye":
		s.say(KindBye, 0, struct{}{})
		linger()
	case "stops in a body", "stops in a header":
		text, cut := message(KindLog, 0, Values{}), HeaderLen+2
		if role == "stops in a header" {
			cut = 5
		}
		must(s.c.Write(text[:cut]))
	case "is killed":
		_ = must(os.FindProcess(os.Getpid())).Kill()
		linger()
	case "hangs up":
		_ = s.c.Close()
		linger()
	case "steps twice":
		s.hand(KindStep, 0)
		s.hear()
	}
}

// linger waits until the process is killed. A select of nothing would be a deadlock where no thread of C runs.
func linger() { <-time.After(time.Hour) }

// playBad joins in a wrong way and prints the answer.
func playBad(role string, args []string) {
	s := call()
	hello := Hello{Version, "test", Memfd, plain(5000)}
	size, seals, fds := 4*hello.Elements, bothSeals, 1
	switch strings.TrimPrefix(role, "bad ") {
	case "size":
		size = minRegion
	case "seals":
		seals = 0
	case "version":
		hello.Version = 1
	case "outline":
		hello.Elements--
	case "descriptors":
		fds = 2
	case "descriptor":
		fds = 0
	case "memory":
		hello.Memory = "mmap"
	}
	region, fd, err := makeRegion(size, seals)
	must(region, err)
	if strings.HasSuffix(role, "file") {
		file := must(os.CreateTemp(args[0], ""))
		must(0, file.Truncate(int64(size)))
		fd = int(file.Fd())
	}
	text := message(KindHello, 0, hello)
	if strings.HasSuffix(role, "key") {
		text = message(KindHello, 0, map[string]any{"version": 2, "colour": "red"})
	}
	if fds == 0 {
		must(s.c.Write(text))
	} else {
		must(0, sendWith(s.c.(*net.UnixConn), text, []int{fd, fd}[:fds]...))
	}
	s.hear()
}

// playParent is a peer that starts a script and waits to be killed.
func playParent() {
	script := must(Start(context.Background(), Options{Command: actor("sleeper"), Rank: -1, Out: os.Stdout}))
	_ = script.Wait()
}

func atoi(text string) (n int, err error) {
	_, err = fmt.Sscan(text, &n)
	return n, err
}

// gone reports whether a process has ended; its parent may not have asked for its end yet.
func gone(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return true
	}
	_, after, _ := strings.Cut(string(text), ") ")
	return strings.HasPrefix(after, "Z") || strings.HasPrefix(after, "X")
}
