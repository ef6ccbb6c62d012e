package sqlfuncs

import "testing"

func TestDemangle(t *testing.T) {
	for symbol, want := range map[string]string{
		"_ZN3art6Thread14CreateCallbackEPv": "art::Thread::CreateCallback(void*)",
		"_ZSt4findIPiiET_S1_S1_RKT0_":       "int* std::find<int*, int>(int*, int*, int const&)",
		"_ZNSt6vectorIS_IiSaIiEESaIS1_EED2Ev": "std::vector<std::vector<int, std::allocator<int>>, " +
			"std::allocator<std::vector<int, std::allocator<int>>>>::~vector()",
		"_ZZN3foo3barEvENKUlvE_clEv":                              "foo::bar()::'lambda'()::operator()() const",
		"_ZN3foo3barEv.llvm.123":                                  "foo::bar() (.llvm.123)",
		"_ZN4core3fmt9Formatter3pad17h1234567890abcdefE.llvm.123": "core::fmt::Formatter::pad::h1234567890abcdef (.llvm.123)",
		// c++filt confirms both; LLVM takes the lambda for the first argument of the function around it.
		"_ZZN12SkArenaAlloc4makeIN10GrPipeline17FixedDynamicStateEJRK7SkIRectEEEPT_DpOT0_ENUlPcE_4_FUNESB_": "GrPipeline::FixedDynamicState* " +
			"SkArenaAlloc::make<GrPipeline::FixedDynamicState, SkIRect const&>(SkIRect const&)::'lambda'(char*)::_FUN(char*)",
		"_ZN12SkArenaAlloc5make2IZNS_4makeI9SkPathRefJEEEPT_DpOT0_EUlPvE0_EEDaOS3_": "auto SkArenaAlloc::make2<SkPathRef* SkArenaAlloc::make<SkPathRef>()" +
			"::'lambda0'(void*)>(SkPathRef* SkArenaAlloc::make<SkPathRef>()::'lambda0'(void*)&&)",
		"__ZN3foo3barEv": "foo::bar()",
		"_RNvCskwGfYPst2Cb_3foo16example_function":       "foo::example_function",
		"_ZN4core3fmt9Formatter3pad17h1234567890abcdefE": "core::fmt::Formatter::pad::h1234567890abcdef",
		"main": "", "": "", "_": "", "_Z": "", "std::foo()": "", "_ZN3foo": "", "?foo@@YAXXZ": "",
	} {
		if got, ok := Demangle(symbol); got != want || ok != (want != "") {
			t.Errorf("Demangle(%q) = %q, %t, want %q", symbol, got, ok, want)
		}
	}
}
