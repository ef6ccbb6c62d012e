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

// A Spark job carries out all tasks, although an executor and a worker are killed.
func TestSpark(t *testing.T) {
	f, m := newFleet(t), needMixed(t)
	submit := os.Getenv("FLEET_SPARK")
	if submit == "" {
		t.Skip("SPARK IS NOT TESTED: it needs Python, and Java 17 to 21")
	}
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
	job := exec.CommandContext(t.Context(), submit, "--master", "local-cluster[2,1,1024]", "--conf", "spark.ui.enabled=false",
		"spark/tpfleet.py", tasks, self, "work")
	job.Env = append(os.Environ(), asCommand+"=1", "JAVA_HOME="+os.Getenv("FLEET_SPARK_JAVA"), "SPARK_LOCAL_IP=127.0.0.1",
		"PATH="+filepath.Dir(submit)+":"+os.Getenv("PATH"))
	var results, messages bytes.Buffer
	job.Stdout, job.Stderr = &results, &messages
	if err := job.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- job.Wait() }()
	isWorker := func(text string) bool { return strings.HasPrefix(text, self+" ") }
	isExecutor := func(text string) bool { return strings.Contains(text, "CoarseGrainedExecutorBackend") }
	for _, isVictim := range []func(string) bool{isExecutor, isWorker} {
		if !killOne(job.Process.Pid, isVictim, isWorker, over) {
			t.Error("the job ended before something was killed")
		}
	}
	if err := <-over; err != nil {
		t.Fatalf("%v\n%s", err, messages.String())
	}
	for _, want := range []string{"Lost executor", "died with <Signals.SIGKILL: 9>"} {
		if !strings.Contains(messages.String(), want) {
			t.Errorf("the job does not say %q: %s", want, messages.String())
		}
	}
	if n := len(lines[task.Result](t, results.String())); n != strings.Count(planned, "\n") {
		t.Errorf("%d results of %d tasks", n, strings.Count(planned, "\n"))
	}
	if a := account(t, f.run(t, results.String(), "commit")); a.OK != len(m.good) || a.Bad != len(m.bad) || a.Failed+a.Known+a.Again+a.Copies != 0 {
		t.Errorf("%+v, want %d ok and %d bad", a, len(m.good), len(m.bad))
	}
	checkLake(t, f, m.dataset, len(m.good), len(m.bad))
}

// killOne kills a process below parent, which isVictim tells by the command line, once another one is at work. It
// returns false if parent ends before.
func killOne(parent int, isVictim, isWorker func(string) bool, over chan error) bool {
	for {
		select {
		case err := <-over:
			over <- err
			return false
		case <-time.After(5 * time.Millisecond):
		}
		victim, working := 0, false
		for pid, text := range descendants(parent) {
			working = working || isWorker(text)
			if isVictim(text) {
				victim = pid
			}
		}
		if victim != 0 && working {
			return syscall.Kill(victim, syscall.SIGKILL) == nil
		}
	}
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
