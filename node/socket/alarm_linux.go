package socket

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A kernelAlarm is a timer of the kernel, which wakes a sleeper within 0.1 ms. The latency of fast
// links is not much longer.
type kernelAlarm struct {
	file *os.File // becomes readable when the time has come
	fd   int      // descriptor of file
}

// newAlarm returns a runtimeAlarm if the kernel has no timer left.
func newAlarm() alarm {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return newRuntimeAlarm()
	}
	return &kernelAlarm{os.NewFile(uintptr(fd), "timer"), fd}
}

func (a *kernelAlarm) sleep(until time.Time) bool {
	left := time.Until(until)
	if left <= 0 {
		return true
	}
	once := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(left))}
	if err := unix.TimerfdSettime(a.fd, 0, &once, nil); err != nil {
		return false
	}
	var times [8]byte
	_, err := a.file.Read(times[:])
	return err == nil
}

func (a *kernelAlarm) ring() { a.file.SetReadDeadline(time.Unix(1, 0)) }

func (a *kernelAlarm) stop() { a.file.Close() }
