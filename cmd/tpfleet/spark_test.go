package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

// Spark runs on this machine, without a cluster, unless it is told otherwise. The job runs what is shipped with it.
func TestSparkLocal(t *testing.T) {
	submit := needSpark(t)
	f := newFolder(t)
	good, bad := traces(t)
	dir := t.TempDir()
	planned := f.run(t, "", "plan", "--task-traces", "5", f.upload(t, append(good, bad...)...))
	if err := os.WriteFile(filepath.Join(dir, "tasks.jsonl"), []byte(planned), 0o644); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("spark/tpfleet.py")
	if err != nil {
		t.Fatal(err)
	}
	results := "file://" + filepath.Join(dir, "results") + "/"
	job := sparkJob(t, submit, "--files", self, script, "tasks.jsonl", "./"+filepath.Base(self), "work", "--results", results)
	job.Dir = dir
	if messages, err := job.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, messages)
	}
	if a := account(t, f.run(t, "", "commit", results)); a.OK != len(good) || a.Bad != len(bad) || a.Tasks != 3 {
		t.Errorf("%+v, want %d ok and %d bad", a, len(good), len(bad))
	}
}

func needSpark(t *testing.T) (submit string) {
	t.Helper()
	if submit = os.Getenv("FLEET_SPARK"); submit == "" {
		t.Skip("SPARK IS NOT TESTED: it needs Python, and Java 17 to 21")
	}
	return submit
}

// sparkJob is a command that submits a job whose program is the test itself.
func sparkJob(t *testing.T, submit string, args ...string) *exec.Cmd {
	t.Helper()
	job := exec.CommandContext(t.Context(), submit, append([]string{"--conf", "spark.ui.enabled=false"}, args...)...)
	job.Env = append(os.Environ(), asCommand+"=1", "JAVA_HOME="+os.Getenv("FLEET_SPARK_JAVA"), "SPARK_LOCAL_IP=127.0.0.1",
		"PATH="+filepath.Dir(submit)+":"+os.Getenv("PATH"))
	return job
}

// A Spark job carries out all tasks, although an executor and a worker are killed.
func TestSpark(t *testing.T) {
	f, m := newFleet(t), needMixed(t)
	submit := needSpark(t)
	dir := t.TempDir()
	planned := f.run(t, "", "plan", "--task-traces", "20", f.upload(t, append(m.good, m.bad...)...))
	tasks, self := filepath.Join(dir, "tasks.jsonl"), filepath.Join(dir, "tpfleet")
	if err := os.WriteFile(tasks, []byte(planned), 0o644); err != nil {
		t.Fatal(err)
	}
	if executable, err := os.Executable(); err != nil {
		t.Fatal(err)
	} else if err := os.Symlink(executable, self); err != nil {
		t.Fatal(err)
	}
	job := sparkJob(t, submit, "--master", "local-cluster[2,1,1024]", "spark/tpfleet.py", tasks, self, "work")
	var results bytes.Buffer
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	job.Stdout, job.Stderr = &results, log
	if err := job.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- job.Wait() }()
	said := func() string {
		text, err := os.ReadFile(log.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	isWorker := func(text string) bool { return strings.HasPrefix(text, self+" ") }
	// Nobody hears of a worker whose executor is being killed, so the job must tell of one kill before the next.
	for _, kill := range []struct {
		isVictim func(string) bool
		says     string
	}{
		{func(text string) bool { return strings.Contains(text, "CoarseGrainedExecutorBackend") }, "Lost executor"},
		{isWorker, "died with <Signals.SIGKILL: 9>"},
	} {
		told := func() bool { return strings.Contains(said(), kill.says) }
		if !killOne(job.Process.Pid, kill.isVictim, isWorker, over) || !wait(told, over) && !told() {
			t.Errorf("the job ended and does not say %q", kill.says)
		}
	}
	if err := <-over; err != nil {
		t.Fatalf("%v\n%s", err, said())
	}
	if t.Failed() {
		t.Fatal(said())
	}
	if n := len(lines[task.Result](t, results.String())); n != strings.Count(planned, "\n") {
		t.Errorf("%d results of %d tasks", n, strings.Count(planned, "\n"))
	}
	if a := account(t, f.run(t, results.String(), "commit")); a.OK != len(m.good) || a.Bad != len(m.bad) || a.Failed+a.Known+a.Again+a.Copies != 0 {
		t.Errorf("%+v, want %d ok and %d bad", a, len(m.good), len(m.bad))
	}
	checkLake(t, f, m.dataset, len(m.good), len(m.bad))
}

// wait returns true once a condition holds, and false if the job is over before.
func wait(holds func() bool, over chan error) bool {
	for !holds() {
		select {
		case err := <-over:
			over <- err
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
	return true
}

// killOne kills a process below parent, which isVictim tells by the command line, once another one is at work. It
// returns false if parent ends before.
func killOne(parent int, isVictim, isWorker func(string) bool, over chan error) bool {
	return wait(func() bool {
		victim, working := 0, false
		for pid, text := range descendants(parent) {
			working = working || isWorker(text)
			if isVictim(text) {
				victim = pid
			}
		}
		return victim != 0 && working && syscall.Kill(victim, syscall.SIGKILL) == nil
	}, over)
}

// descendants returns the command lines of the processes below a process.
func descendants(parent int) map[int]string {
	children := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil {
			continue
		}
		var state string
		var up int
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
		if _, err := fmt.Sscan(string(text[bytes.LastIndexByte(text, ')')+1:]), &state, &up); err == nil {
			children[up] = append(children[up], pid)
		}
	}
	all := map[int]string{}
	for queue := children[parent]; len(queue) > 0; queue = queue[1:] {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", queue[0]))
		all[queue[0]] = strings.ReplaceAll(string(text), "\x00", " ")
		queue = append(queue, children[queue[0]]...)
	}
	return all
}
