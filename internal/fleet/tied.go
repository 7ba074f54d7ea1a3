package fleet

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// RunTied runs cmd to its end. If this process dies first, the system kills cmd, on Linux only. When
// ctx ends, RunTied interrupts cmd, and kills it if it still runs after grace.
func RunTied(ctx context.Context, cmd *exec.Cmd, grace time.Duration) error {
	cmd.SysProcAttr = attributes()
	cmd.WaitDelay = grace
	ended := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // a parent-death signal comes when the thread that started the process ends
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			ended <- err
			return
		}
		stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(os.Interrupt) })
		kill := context.AfterFunc(ctx, func() {
			time.AfterFunc(grace, func() { _ = cmd.Process.Kill() })
		})
		err := cmd.Wait()
		stop()
		kill()
		ended <- err
	}()
	return <-ended
}
