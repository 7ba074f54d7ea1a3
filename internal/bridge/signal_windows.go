package bridge

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/windows"
)

// attributes put the script into a process group of its own, so that Ctrl-C does not reach it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// interrupt sends CTRL_BREAK to a group: the system has no other signal for one.
func interrupt(p *os.Process) error {
	return windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(p.Pid))
}

// sweep leaves the rest of a group: its number may be that of another process by now.
func sweep(*os.Process) {}

// kill ends a process and those that it has started.
func kill(p *os.Process) error {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(p.Pid)).Run() // Kill says what fails
	return p.Kill()
}

func endedBy(*os.ProcessState) string { return "" }
