package doctor

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"gossiptrainer/app/status"
	"gossiptrainer/internal/budget"
	"gossiptrainer/internal/forecast"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/kernel"
	"gossiptrainer/internal/machine"
)

// program describes this program and this user's peers that run.
func (p *subject) program() []Row {
	b := p.Build
	text := fmt.Sprintf("peer %s, %s, %s", b.Version, b.Go, b.Platform)
	if b.Commit != "" {
		text = fmt.Sprintf("peer %s, commit %.12s, %s, %s", b.Version, b.Commit, b.Go, b.Platform)
	}
	if dirs, err := status.Folders(); err == nil {
		if n := len(status.AskAll(dirs...).Peers); n > 0 {
			text += "; " + human.Count(n, "peer") + " of yours " + human.Verb(n, "runs", "run") + " on this machine"
		}
	}
	return []Row{ok("program", "%s", text)}
}

// system checks processor, memory, open files and clock.
func (p *subject) system() []Row {
	workers := 1
	var plan budget.Plan
	least := int64(0)
	if p.run != nil {
		workers, plan, least = p.run.N(), forecast.Plan(p.run, 0), forecast.Memory(p.run)
	}
	best := kernel.Available()
	limit, known := fileLimit()
	return []Row{
		judgeProcessor(kernel.Best(), best[len(best)-1], runtime.GOARCH),
		judgeMemory(plan, least, machine.FreeMemory()),
		judgeFiles(limit, known, workers),
		judgeClock(now(), keptClock()),
	}
}

// judgeProcessor judges the vector instructions in use, and the best of the machine.
func judgeProcessor(used, best kernel.Tier, arch string) Row {
	switch {
	case used < best:
		return complaint("processor", Look, fmt.Sprintf("%s: %s=%s holds the program to fewer vector instructions than %v",
			machine.Describe(), kernel.Variable, os.Getenv(kernel.Variable), best), "unset "+kernel.Variable)
	case best == kernel.Off && arch == "amd64":
		return complaint("processor", Look, machine.Describe()+": no AVX2: gradients and codec take several times longer, "+
			"and digests differ from those of machines with AVX2",
			"let the virtual machine have the processor's own features (-cpu host), or take another machine")
	case best == kernel.Off:
		return ok("processor", "%s: plain Go kernels", machine.Describe())
	}
	return ok("processor", "%s, %v", machine.Describe(), used)
}

// ofProcess are bytes of a peer without its worker.
const ofProcess = 20 << 20

// judgeMemory compares the free memory with the plan of a worker and with the least that it takes.
func judgeMemory(plan budget.Plan, least, free int64) Row {
	switch {
	case free == 0:
		return ok("memory", "this system does not tell how much is free")
	case plan == nil:
		return ok("memory", "%s free", human.Size(free))
	case least+ofProcess > free:
		return complaint("memory", Broken, fmt.Sprintf("%s free, and the model needs %s at least", human.Size(free),
			human.Size(least+ofProcess)), "take a smaller model or batch, or end other programs on this machine")
	case plan.Total() > free:
		return complaint("memory", Look, budget.Warning([]budget.Plan{plan}, free),
			"end other programs, or take the settings that the line names; peer config check lists the owners")
	}
	return ok("memory", "%s free; a peer takes at most %s", human.Size(free), human.Size(plan.Total()))
}

// Files that a peer opens: its own, and connections while peers meet.
const (
	ownFiles  = 64
	perWorker = 4
	roomy     = 1024
)

// judgeFiles judges the limit of open files of a process in a run.
func judgeFiles(limit uint64, known bool, workers int) Row {
	need := uint64(ownFiles + perWorker*workers)
	const fix = "raise it: ulimit -n 4096, LimitNOFILE= in a systemd unit, or /etc/security/limits.conf"
	switch {
	case !known:
		return ok("files", "this system tells no limit of open files")
	case limit < need:
		return complaint("files", Broken, fmt.Sprintf("a process may open %d files, and a peer of %s needs %d", limit,
			human.Count(workers, "worker"), need), fix)
	case limit < roomy:
		return complaint("files", Look, fmt.Sprintf("a process may open %d files, which is few", limit), fix)
	}
	return ok("files", "a process may open %d", limit)
}

// A keeping says whether a service sets the clock of this machine.
type keeping string

const (
	keptUnknown keeping = ""
	kept        keeping = "kept"
	unkept      keeping = "not kept"
)

// earliest is a time before this program was written.
var earliest = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// now returns the time of the clock that is examined.
func now() time.Time { return time.Now() }

// setClock is the fix for a wrong clock.
const setClock = "set the clock, and keep it with a time service: timedatectl set-ntp true, or chronyd; a virtual " +
	"machine takes it from its host"

// judgeClock judges the clock of this machine without another one.
func judgeClock(at time.Time, by keeping) Row {
	text := at.Format("2006-01-02 15:04:05 -0700")
	switch {
	case at.Before(earliest):
		return complaint("clock", Broken, "it stands at "+text+", before this program was written", setClock)
	case by == unkept:
		return complaint("clock", Look, text+"; no time service keeps it, as far as the kernel knows", setClock)
	}
	return ok("clock", "%s", text)
}
