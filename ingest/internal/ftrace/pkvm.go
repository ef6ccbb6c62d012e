package ftrace

import "github.com/tpconvert/tpconvert/model"

var hypervisor = spans("pkvm_hypervisor", "pkVM Hypervisor CPU %[1]d", "cpu")

var (
	hypEnter = begin(onCPU(hypervisor), "pkvm_hyp", named("hyp"))
	hypExit  = end(onCPU(hypervisor), "")
)

// hypReason returns a handler that adds the reason for entering the hypervisor
// to the slice.
func hypReason(reason string, args ...argument) handler {
	return func(p *Parser, e *Event) {
		list := p.list().add("hyp_enter_reason", model.StringArg(p.word(reason)))
		for _, a := range args {
			list.add(a.key, a.as(p, e, a.field))
		}
		p.Slices.AddArgs(onCPU(hypervisor)(p, e), p.word("pkvm_hyp"), p.word("hyp"), list)
	}
}

var (
	hypHcall     = hypReason("host_hcall", uints("id", "invalid")...)
	hypSMC       = hypReason("host_smc", uints("id", "forwarded")...)
	hypMemAbort  = hypReason("host_mem_abort", uints("esr", "addr")...)
	hypIommu     = hypReason("iommu_idmap", append(uints("from", "to"), ints("prot")...)...)
	hypPSCI      = hypReason("psci_mem_protect", uints("count", "was")...)
	hypFFA       = hypReason("host_ffa_call", append(uints("func_id"), ints("handled", "err")...)...)
	hypIommuDone = hypReason("iommu_idmap_complete", argument{"map", "map", asBool})
	hypTrap      = hypReason("vcpu_illegal_trap", uints("esr")...)
)
