package model

// Effect says what a count means for the dataset.
type Effect uint8

const (
	// NoEffect means that nothing is missing.
	NoEffect Effect = iota
	// Noticed means that nothing is missing, but the reader of the dataset should know.
	Noticed
	// NotRead counts parts of a known kind that no table has.
	NotRead
	// Damaged counts parts that were read in part, or without what they refer to.
	Damaged
	// Lost counts rows of the trace that the dataset does not have, in recording or conversion.
	Lost
)

var effectNames = [...]string{"none", "notice", "not_read", "damaged", "lost"}

func (e Effect) String() string { return effectNames[e] }

// Effect returns what the count means for the dataset. Trace Processor's severity tells little about that: it calls
// packets that it skipped a notice, and slices that are on another track an error.
func (s Stat) Effect() Effect {
	if e, ok := effects[s]; ok {
		return e
	}
	switch s.info().severity {
	case Info:
		return NoEffect
	case Notice:
		return Noticed
	}
	return Lost
}

// CountsEvents reports whether the value is a number of events. Other values are bytes, times, or numbers of gaps of
// unknown size.
func (s Stat) CountsEvents() bool { return !gaps[s] }

// effects are the stats whose effect is not the one that their severity suggests.
var effects = merge(map[Effect][]Stat{
	Lost: {
		StatAndroidInputEventParseErrors, StatCompactSchedSwitchSkipped, StatCompactSchedWakingSkipped,
		StatFrameTimelineEventParserErrors, StatFtraceMissingEventID, StatGraphicsFrameEventParserErrors,
		StatNetworkTraceParseErrors, StatPacketSkippedSeqNeedsIncrementalStateInvalid, StatRSSStatNegativeSize,
		StatRSSStatUnknownThreadForMmID, StatStraceParseFailure, StatThreadDescriptorSkippedIncrementalStateInvalid,
		StatTrackEventParserErrors, StatTrackEventSkippedThreadInstructionDeltaWithoutValidState,
		StatTrackEventSkippedThreadTimeDeltaWithoutValidState, StatTrackEventSkippedTimestampDeltaWithoutValidState,
		StatTrackEventTokenizerErrors,
	},
	Damaged: {
		StatClockSyncMixedClockSources, StatConfigWriteIntoFileNoFlush, StatDeobfuscateLocationParseError,
		StatFilterErrors, StatFtraceGenericDescriptorErrors, StatGameInterventionHasParseErrors,
		StatGameInterventionHasReadErrors, StatHeapGraphInvalidStringID, StatHeapGraphMalformedPacket,
		StatHeapGraphMissingPacket, StatHeapGraphNonFinalizedGraph, StatHeapprofdMissingPacket,
		StatHeapprofdNonFinalizedProfile, StatHprofClassErrors, StatHprofFieldValueErrors, StatHprofHeaderErrors,
		StatHprofHeapDumpErrors, StatHprofPrimitiveArrayParsingErrors, StatHprofReferenceErrors,
		StatIncompleteFile, StatJSONRepaired, StatJSONUnescapedBackslash, StatIncrementalStateClearedMissingSequenceID, StatInstrumentsRowMissingBacktrace,
		StatInstrumentsRowMissingFrame, StatInternedDataMissingSequenceID, StatInternedDataSkippedIncrementalStateInvalid,
		StatInternedDataTokenizerErrors, StatInvalidClockSnapshots, StatInvalidUTF8, StatJitUnknownFrame,
		StatLegacyV8CPUProfileInvalidCallsite, StatMismatchedSchedSwitchTIDs, StatMisplacedEndEvent,
		StatNamespacedThreadMissingProcess, StatNetworkTraceInternErrors, StatPackagesListHasParseErrors,
		StatPackagesListHasReadErrors, StatPerfNoTscData, StatPerfSamplesCPUModeUnknown, StatPprofParseErrors, StatOTLPProfileErrors,
		StatPreviousPacketDroppedMissingSequenceID, StatProcessTrackerErrors, StatR8MappingParseErrors,
		StatSimpleperfMissingFileMapping, StatSPENoTimestamp, StatSpanInvalidEnd, StatStackprofileEmptyCallstack,
		StatStackprofileInvalidCallstackID, StatStackprofileInvalidFrameID, StatStackprofileInvalidMappingID,
		StatStackprofileInvalidStringID, StatTaskStateInvalid, StatTracePacketDefaultsMissingSequenceID,
		StatTracedBufPatchesFailed, StatTrackDescriptorConflictingReservation, StatTrackDescriptorDefaultTrackWithParent,
		StatTrackDescriptorInvalidChildOrdering, StatTrackDescriptorMissingUUID, StatTrackDescriptorProcessMissingPID,
		StatTrackDescriptorThreadMissingPIDTID, StatTrackEventTrackHierarchyLoop, StatTrackEventTrackHierarchyTooDeep,
		StatTruncatedInput, StatUserListErrors, StatV8CodeLoadMissingCodeRange, StatV8InternErrors,
		StatV8IsolateHasNoCodeRange, StatV8NoCodeRange, StatV8NoDefaults, StatV8UnknownCodeType,
		StatWinscopeProtologGroupTagMissing, StatWinscopeProtologMessageDecodingFailed,
		StatWinscopeProtologMissingInternedArgParseErrors, StatWinscopeProtologMissingInternedStacktraceParseErrors,
		StatWinscopeProtologParamMismatch,
	},
	NotRead: {
		StatETMNoImporter, StatFuchsiaSkippedRecord, StatMaliUnknownMcuStateID, StatMeminfoUnknownKeys,
		StatMmUnknownType, StatPerfAuxIgnored, StatPerfFeaturesSkipped, StatPerfUnknownAuxData,
		StatPerfUnknownRecordType, StatProcStatUnknownCounters, StatPsiUnknownResource, StatRSSStatUnknownKeys,
		StatThreadTimeInStateUnknownCPUFreq, StatUnknownExtensionFields, StatUnreadEvent, StatUnreadFact,
		StatUnsupportedEmbeddedFormat, StatUnsupportedPacket, StatVmstatUnknownKeys,
	},
	Noticed: {
		StatConfigWriteIntoFileDiscard, StatEmptyChromeMetadata, StatFtracePacketBeforeTracingStart,
		StatSliceSpillOverlappingCompleteEvent, StatSymbolizationTmpBuildIDNotFound, StatTrailingGarbage,
	},
})

func merge(by map[Effect][]Stat) map[Stat]Effect {
	all := map[Stat]Effect{}
	for e, stats := range by {
		for _, s := range stats {
			all[s] = e
		}
	}
	return all
}

// gaps are the stats whose value is not a number of events.
var gaps = map[Stat]bool{
	StatFtraceCPUHasDataLoss: true, StatFuchsiaBufferFull: true, StatHeapprofdBufferCorrupted: true,
	StatHeapprofdBufferOverran: true, StatHeapprofdClientError: true, StatHeapprofdHitGuardrail: true,
	StatHeapprofdRejectedConcurrent: true, StatJSONTrailingData: true, StatLongTraceModeBytesOverwritten: true,
	StatArrowTarParseErrors: true, StatCTFParseErrors: true, StatCTFPacketsLost: true, StatMetatraceOverruns: true, StatPerfAuxCollision: true, StatPerfAuxLost: true, StatPerfAuxMissing: true,
	StatPerfAuxPartial: true, StatPerfAuxTruncated: true, StatPerfAuxtraceMissing: true, StatPerfGuardrailStopTS: true,
	StatTracedBufABIViolations: true, StatTracedBufDataLossChunkCorrupted: true, StatTracedBufDataLossOrphanContinuation: true,
	StatTracedBufDataLossOverwrite: true, StatTracedBufDataLossReadGap: true, StatTracedBufDataLossReassemblyBrokenChain: true,
	StatTracedBufDataLossReassemblyGap: true, StatTracedBufDataLossSmbFull: true, StatTracedBufDataLossWriterAbort: true,
	StatTracedBufIncrementalSequencesDropped: true, StatTracedBufSequencePacketLoss: true,
	StatTracedBufTraceWriterPacketLoss: true, StatTracedFinalFlushFailed: true, StatTracedFlushesFailed: true,
	StatUnreadArchiveMember: true, StatJFRBytesLost: true,
}
