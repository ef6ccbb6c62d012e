package fuchsia

// koids name a thread and its process.
type koids struct{ pid, tid uint64 }

// threads numbers the threads of a trace, which keeps tokens short.
type threads struct {
	all   []koids
	index map[koids]int
}

// add returns the number of a thread.
func (t *threads) add(k koids) int {
	i, ok := t.index[k]
	if !ok {
		i = len(t.all)
		t.index[k] = i
		t.all = append(t.all, k)
	}
	return i
}
