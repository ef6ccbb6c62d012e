package mcp

import "testing"

// The numbers of tokens are the greatest of three tokenizers: o200k_base and cl100k_base in gpt-tokenizer 4.0.0, and @anthropic-ai/tokenizer 0.0.4.
func TestTokens(t *testing.T) {
	t.Parallel()
	for text, counted := range map[string]int{
		"slice\tchecksum\t\tself\t143.7 ms\t251.3 ms\t+107.6 ms\t+74.8 %\t6.5e-05\t40\t3.291 ms → 5.858 ms\t4.261 ms → 8.214 ms\n": 59,
		"slice\trows 6033\t\tBrowserMainRunnerImpl::Initialize\tdescription of a table\n":                                          19,
		"4012436825\t1217732208003\t24000\t17\t0\n4012436826\t1217732673003\t42000\t3\t12\n":                                       37,
		"1\t0\t5\t7\n0\t2\t9\t8\n3\t3\t1\t6\n":                                                                                     24,
		"A93F00C1D27E4B88AB19\n03FDE91C7B60A5D2E84F\nC0FFEE1234ABCD98765F\n":                                                       43,
		"内核调度延迟\n渲染线程\n":                                                                                                           16,
		"runtime.mallocgc\tgithub.com/tpconvert/tpconvert/ingest/json.(*Reader).scanMembers\n":                                     25,
	} {
		if got := tokens(text); got < counted*9/10 || got > counted*3/2 {
			t.Errorf("%q: %d tokens, but tokenizers make %d of it", text, got, counted)
		}
	}
}
