package model

// stats lists the stats by their number in Trace Processor v58: name, whether
// it counts by index, severity, source. The numbers are the stat_key of
// import_log.
var stats = [...]statInfo{
	StatAndroidAflagsErrors:                                      {"android_aflags_errors", false, Error, FromTrace},
	StatAndroidBrParseErrors:                                     {"android_br_parse_errors", false, Error, FromTrace},
	StatAndroidLogNumFailed:                                      {"android_log_num_failed", false, Error, FromTrace},
	StatAndroidLogFormatInvalid:                                  {"android_log_format_invalid", false, Error, FromTrace},
	StatAndroidLogNumSkipped:                                     {"android_log_num_skipped", false, Info, FromTrace},
	StatAndroidLogNumTotal:                                       {"android_log_num_total", false, Info, FromTrace},
	StatAndroidVideoSizeCapHit:                                   {"android_video_size_cap_hit", false, DataLoss, FromTrace},
	StatAndroidVideoCodecError:                                   {"android_video_codec_error", false, Error, FromTrace},
	StatAndroidVideoDisplayGone:                                  {"android_video_display_gone", false, Error, FromTrace},
	StatAndroidVideoNoEncoder:                                    {"android_video_no_encoder", false, Error, FromTrace},
	StatAndroidVideoDisplayNotFound:                              {"android_video_display_not_found", false, Error, FromTrace},
	StatAndroidVideoEncoderSetupFailed:                           {"android_video_encoder_setup_failed", false, Error, FromTrace},
	StatAndroidVideoVirtualDisplayFailed:                         {"android_video_virtual_display_failed", false, Error, FromTrace},
	StatAndroidVideoParseSizeCapHit:                              {"android_video_parse_size_cap_hit", false, DataLoss, FromTrace},
	StatDeobfuscateLocationParseError:                            {"deobfuscate_location_parse_error", false, Error, FromAnalysis},
	StatEnergyBreakdownMissingValues:                             {"energy_breakdown_missing_values", false, Error, FromAnalysis},
	StatEnergyDescriptorInvalid:                                  {"energy_descriptor_invalid", false, Error, FromAnalysis},
	StatEntityStateDescriptorInvalid:                             {"entity_state_descriptor_invalid", false, Error, FromAnalysis},
	StatEntityStateResidencyInvalid:                              {"entity_state_residency_invalid", false, Error, FromAnalysis},
	StatEntityStateResidencyLookupFailed:                         {"entity_state_residency_lookup_failed", false, Error, FromAnalysis},
	StatEnergyUIDBreakdownMissingValues:                          {"energy_uid_breakdown_missing_values", false, Error, FromAnalysis},
	StatFrameTimelineEventParserErrors:                           {"frame_timeline_event_parser_errors", false, Info, FromAnalysis},
	StatFrameTimelineUnpairedEndEvent:                            {"frame_timeline_unpaired_end_event", false, Info, FromAnalysis},
	StatFtraceBundleTokenizerErrors:                              {"ftrace_bundle_tokenizer_errors", false, Error, FromAnalysis},
	StatFtraceCPUBytesBegin:                                      {"ftrace_cpu_bytes_begin", true, Info, FromTrace},
	StatFtraceCPUBytesEnd:                                        {"ftrace_cpu_bytes_end", true, Info, FromTrace},
	StatFtraceCPUBytesDelta:                                      {"ftrace_cpu_bytes_delta", true, Info, FromTrace},
	StatFtraceCPUCommitOverrunBegin:                              {"ftrace_cpu_commit_overrun_begin", true, Info, FromTrace},
	StatFtraceCPUCommitOverrunEnd:                                {"ftrace_cpu_commit_overrun_end", true, Info, FromTrace},
	StatFtraceCPUCommitOverrunDelta:                              {"ftrace_cpu_commit_overrun_delta", true, Error, FromTrace},
	StatFtraceCPUDroppedEventsBegin:                              {"ftrace_cpu_dropped_events_begin", true, Info, FromTrace},
	StatFtraceCPUDroppedEventsEnd:                                {"ftrace_cpu_dropped_events_end", true, Info, FromTrace},
	StatFtraceCPUDroppedEventsDelta:                              {"ftrace_cpu_dropped_events_delta", true, Error, FromTrace},
	StatFtraceCPUEntriesBegin:                                    {"ftrace_cpu_entries_begin", true, Info, FromTrace},
	StatFtraceCPUEntriesEnd:                                      {"ftrace_cpu_entries_end", true, Info, FromTrace},
	StatFtraceCPUEntriesDelta:                                    {"ftrace_cpu_entries_delta", true, Info, FromTrace},
	StatFtraceCPUNowTSBegin:                                      {"ftrace_cpu_now_ts_begin", true, Info, FromTrace},
	StatFtraceCPUNowTSEnd:                                        {"ftrace_cpu_now_ts_end", true, Info, FromTrace},
	StatFtraceCPUOldestEventTSBegin:                              {"ftrace_cpu_oldest_event_ts_begin", true, Info, FromTrace},
	StatFtraceCPUOldestEventTSEnd:                                {"ftrace_cpu_oldest_event_ts_end", true, Info, FromTrace},
	StatFtraceCPUOverrunBegin:                                    {"ftrace_cpu_overrun_begin", true, Info, FromTrace},
	StatFtraceCPUOverrunEnd:                                      {"ftrace_cpu_overrun_end", true, Info, FromTrace},
	StatFtraceCPUOverrunDelta:                                    {"ftrace_cpu_overrun_delta", true, Info, FromTrace},
	StatFtraceCPUReadEventsBegin:                                 {"ftrace_cpu_read_events_begin", true, Info, FromTrace},
	StatFtraceCPUReadEventsEnd:                                   {"ftrace_cpu_read_events_end", true, Info, FromTrace},
	StatFtraceCPUReadEventsDelta:                                 {"ftrace_cpu_read_events_delta", true, Info, FromTrace},
	StatFtraceCPUHasDataLoss:                                     {"ftrace_cpu_has_data_loss", true, DataLoss, FromTrace},
	StatFtraceKprobeHitsBegin:                                    {"ftrace_kprobe_hits_begin", false, Info, FromTrace},
	StatFtraceKprobeHitsEnd:                                      {"ftrace_kprobe_hits_end", false, Info, FromTrace},
	StatFtraceKprobeHitsDelta:                                    {"ftrace_kprobe_hits_delta", false, Info, FromTrace},
	StatFtraceKprobeMissesBegin:                                  {"ftrace_kprobe_misses_begin", false, Info, FromTrace},
	StatFtraceKprobeMissesEnd:                                    {"ftrace_kprobe_misses_end", false, Info, FromTrace},
	StatFtraceKprobeMissesDelta:                                  {"ftrace_kprobe_misses_delta", false, DataLoss, FromTrace},
	StatFtraceSetupErrors:                                        {"ftrace_setup_errors", false, Notice, FromTrace},
	StatFtraceAbiErrorsSkippedZeroDataLength:                     {"ftrace_abi_errors_skipped_zero_data_length", false, Info, FromAnalysis},
	StatFtraceGenericDescriptorErrors:                            {"ftrace_generic_descriptor_errors", false, Error, FromAnalysis},
	StatFtraceThermalExynosAcpmUnknownTzID:                       {"ftrace_thermal_exynos_acpm_unknown_tz_id", false, Error, FromAnalysis},
	StatFuchsiaNonNumericCounters:                                {"fuchsia_non_numeric_counters", false, Error, FromAnalysis},
	StatFuchsiaTimestampOverflow:                                 {"fuchsia_timestamp_overflow", false, Error, FromAnalysis},
	StatFuchsiaRecordReadError:                                   {"fuchsia_record_read_error", false, Error, FromAnalysis},
	StatFuchsiaInvalidEvent:                                      {"fuchsia_invalid_event", false, Error, FromAnalysis},
	StatFuchsiaInvalidEventArgType:                               {"fuchsia_invalid_event_arg_type", false, Error, FromAnalysis},
	StatFuchsiaInvalidEventArgName:                               {"fuchsia_invalid_event_arg_name", false, Error, FromAnalysis},
	StatFuchsiaUnknownEventArg:                                   {"fuchsia_unknown_event_arg", false, Error, FromAnalysis},
	StatFuchsiaInvalidStringRef:                                  {"fuchsia_invalid_string_ref", false, Error, FromAnalysis},
	StatGenericTaskStateInvalidOrder:                             {"generic_task_state_invalid_order", false, Error, FromAnalysis},
	StatGPUCountersInvalidSpec:                                   {"gpu_counters_invalid_spec", false, Error, FromAnalysis},
	StatGPUCountersMissingSpec:                                   {"gpu_counters_missing_spec", false, Error, FromAnalysis},
	StatGPUCountersMissingTimestamp:                              {"gpu_counters_missing_timestamp", false, Error, FromTrace},
	StatGPURenderStageParserErrors:                               {"gpu_render_stage_parser_errors", false, Error, FromAnalysis},
	StatGraphicsFrameEventParserErrors:                           {"graphics_frame_event_parser_errors", false, Info, FromAnalysis},
	StatGuessTraceTypeDurationNs:                                 {"guess_trace_type_duration_ns", false, Info, FromAnalysis},
	StatInstrumentsRowMissingThread:                              {"instruments_row_missing_thread", false, Error, FromAnalysis},
	StatInstrumentsRowMissingProcess:                             {"instruments_row_missing_process", false, Error, FromAnalysis},
	StatInstrumentsRowMissingBacktrace:                           {"instruments_row_missing_backtrace", false, Error, FromAnalysis},
	StatInstrumentsRowMissingFrame:                               {"instruments_row_missing_frame", false, Error, FromAnalysis},
	StatInternedDataTokenizerErrors:                              {"interned_data_tokenizer_errors", false, Info, FromAnalysis},
	StatInvalidClockSnapshots:                                    {"invalid_clock_snapshots", false, Error, FromAnalysis},
	StatInvalidCPUTimes:                                          {"invalid_cpu_times", false, Error, FromAnalysis},
	StatKernelWakelockReusedID:                                   {"kernel_wakelock_reused_id", false, Error, FromAnalysis},
	StatKernelWakelockUnknownID:                                  {"kernel_wakelock_unknown_id", false, Error, FromAnalysis},
	StatKernelWakelockZeroValueReported:                          {"kernel_wakelock_zero_value_reported", false, Info, FromTrace},
	StatKernelWakelockNonMonotonicValueReported:                  {"kernel_wakelock_non_monotonic_value_reported", false, Info, FromTrace},
	StatKernelWakelockImplausiblyLargeValueReported:              {"kernel_wakelock_implausibly_large_value_reported", false, Info, FromTrace},
	StatKernelTrackeventFormatError:                              {"kernel_trackevent_format_error", false, Error, FromAnalysis},
	StatAppWakelockParseError:                                    {"app_wakelock_parse_error", false, Error, FromAnalysis},
	StatAppWakelockUnknownID:                                     {"app_wakelock_unknown_id", false, Error, FromAnalysis},
	StatConcurrentSessionEventUnknownState:                       {"concurrent_session_event_unknown_state", false, Error, FromAnalysis},
	StatMeminfoUnknownKeys:                                       {"meminfo_unknown_keys", false, Error, FromAnalysis},
	StatCPUInfoUnknownCPUFeatures:                                {"cpu_info_unknown_cpu_features", false, Info, FromAnalysis},
	StatMissingDiskIOEventName:                                   {"missing_disk_io_event_name", false, Error, FromAnalysis},
	StatCPUInfoEmpty:                                             {"cpu_info_empty", false, Error, FromAnalysis},
	StatMismatchedSchedSwitchTids:                                {"mismatched_sched_switch_tids", false, Error, FromAnalysis},
	StatMmUnknownType:                                            {"mm_unknown_type", false, Error, FromAnalysis},
	StatParseTraceDurationNs:                                     {"parse_trace_duration_ns", false, Info, FromAnalysis},
	StatPowerRailEmptyPacket:                                     {"power_rail_empty_packet", false, Error, FromAnalysis},
	StatPowerRailUnknownIndex:                                    {"power_rail_unknown_index", false, Error, FromTrace},
	StatProcStatUnknownCounters:                                  {"proc_stat_unknown_counters", false, Error, FromAnalysis},
	StatRssStatUnknownKeys:                                       {"rss_stat_unknown_keys", false, Error, FromAnalysis},
	StatRssStatNegativeSize:                                      {"rss_stat_negative_size", false, Info, FromAnalysis},
	StatRssStatUnknownThreadForMmID:                              {"rss_stat_unknown_thread_for_mm_id", false, Info, FromAnalysis},
	StatFilterInputBytes:                                         {"filter_input_bytes", false, Info, FromTrace},
	StatFilterInputPackets:                                       {"filter_input_packets", false, Info, FromTrace},
	StatFilterOutputBytes:                                        {"filter_output_bytes", false, Info, FromTrace},
	StatFilterTimeTakenNs:                                        {"filter_time_taken_ns", false, Info, FromTrace},
	StatFilterErrors:                                             {"filter_errors", false, Error, FromTrace},
	StatFlowDuplicateID:                                          {"flow_duplicate_id", false, Error, FromTrace},
	StatFlowNoEnclosingSlice:                                     {"flow_no_enclosing_slice", false, Error, FromTrace},
	StatFlowStepWithoutStart:                                     {"flow_step_without_start", false, Info, FromTrace},
	StatFlowEndWithoutStart:                                      {"flow_end_without_start", false, Info, FromTrace},
	StatFlowInvalidID:                                            {"flow_invalid_id", false, Error, FromTrace},
	StatFlowWithoutDirection:                                     {"flow_without_direction", false, Error, FromTrace},
	StatStackprofileEmptyCallstack:                               {"stackprofile_empty_callstack", false, Error, FromTrace},
	StatStackprofileInvalidStringID:                              {"stackprofile_invalid_string_id", false, Error, FromTrace},
	StatStackprofileInvalidMappingID:                             {"stackprofile_invalid_mapping_id", false, Error, FromTrace},
	StatStackprofileInvalidFrameID:                               {"stackprofile_invalid_frame_id", false, Error, FromTrace},
	StatStackprofileInvalidCallstackID:                           {"stackprofile_invalid_callstack_id", false, Error, FromTrace},
	StatStackprofileParserError:                                  {"stackprofile_parser_error", false, Error, FromTrace},
	StatSmapsParserErrors:                                        {"smaps_parser_errors", false, Error, FromTrace},
	StatSystemdJournalNumFailed:                                  {"systemd_journal_num_failed", false, Error, FromTrace},
	StatSystemdJournalNumTotal:                                   {"systemd_journal_num_total", false, Info, FromTrace},
	StatSystraceParseFailure:                                     {"systrace_parse_failure", false, Error, FromAnalysis},
	StatTaskStateInvalid:                                         {"task_state_invalid", false, Error, FromAnalysis},
	StatTracedBufAbiViolations:                                   {"traced_buf_abi_violations", true, DataLoss, FromTrace},
	StatTracedBufBufferSize:                                      {"traced_buf_buffer_size", true, Info, FromTrace},
	StatTracedBufBytesOverwritten:                                {"traced_buf_bytes_overwritten", true, Info, FromTrace},
	StatTracedBufBytesRead:                                       {"traced_buf_bytes_read", true, Info, FromTrace},
	StatTracedBufBytesFilteredOut:                                {"traced_buf_bytes_filtered_out", true, Info, FromTrace},
	StatTracedBufBytesWritten:                                    {"traced_buf_bytes_written", true, Info, FromTrace},
	StatTracedBufCloneDoneTimestampNs:                            {"traced_buf_clone_done_timestamp_ns", true, Info, FromTrace},
	StatTracedBufChunksDiscarded:                                 {"traced_buf_chunks_discarded", true, Info, FromTrace},
	StatTracedBufChunksOverwritten:                               {"traced_buf_chunks_overwritten", true, Info, FromTrace},
	StatTracedBufChunksRead:                                      {"traced_buf_chunks_read", true, Info, FromTrace},
	StatTracedBufChunksRelocated:                                 {"traced_buf_chunks_relocated", true, Info, FromTrace},
	StatTracedBufChunksRewritten:                                 {"traced_buf_chunks_rewritten", true, Info, FromTrace},
	StatTracedBufChunksWritten:                                   {"traced_buf_chunks_written", true, Info, FromTrace},
	StatTracedBufChunksCommittedOutOfOrder:                       {"traced_buf_chunks_committed_out_of_order", true, Info, FromTrace},
	StatTracedBufPaddingBytesCleared:                             {"traced_buf_padding_bytes_cleared", true, Info, FromTrace},
	StatTracedBufPaddingBytesWritten:                             {"traced_buf_padding_bytes_written", true, Info, FromTrace},
	StatTracedBufPatchesFailed:                                   {"traced_buf_patches_failed", true, DataLoss, FromTrace},
	StatTracedBufPatchesSucceeded:                                {"traced_buf_patches_succeeded", true, Info, FromTrace},
	StatTracedBufReadaheadsFailed:                                {"traced_buf_readaheads_failed", true, Info, FromTrace},
	StatTracedBufReadaheadsSucceeded:                             {"traced_buf_readaheads_succeeded", true, Info, FromTrace},
	StatTracedBufTraceWriterPacketLoss:                           {"traced_buf_trace_writer_packet_loss", true, DataLoss, FromTrace},
	StatTracedBufSequencePacketLoss:                              {"traced_buf_sequence_packet_loss", true, DataLoss, FromAnalysis},
	StatTracedBufIncrementalSequencesDropped:                     {"traced_buf_incremental_sequences_dropped", true, DataLoss, FromAnalysis},
	StatTracedBufDataLossReadGap:                                 {"traced_buf_data_loss_read_gap", true, DataLoss, FromTrace},
	StatTracedBufDataLossChunkCorrupted:                          {"traced_buf_data_loss_chunk_corrupted", true, DataLoss, FromTrace},
	StatTracedBufDataLossOrphanContinuation:                      {"traced_buf_data_loss_orphan_continuation", true, DataLoss, FromTrace},
	StatTracedBufDataLossReassemblyGap:                           {"traced_buf_data_loss_reassembly_gap", true, DataLoss, FromTrace},
	StatTracedBufDataLossReassemblyBrokenChain:                   {"traced_buf_data_loss_reassembly_broken_chain", true, DataLoss, FromTrace},
	StatTracedBufDataLossOverwrite:                               {"traced_buf_data_loss_overwrite", true, DataLoss, FromTrace},
	StatTracedBufDataLossWriterAbort:                             {"traced_buf_data_loss_writer_abort", true, DataLoss, FromTrace},
	StatTracedBufDataLossSmbFull:                                 {"traced_buf_data_loss_smb_full", true, DataLoss, FromTrace},
	StatTracedBufWriteWrapCount:                                  {"traced_buf_write_wrap_count", true, Info, FromTrace},
	StatTracedCloneStartedTimestampNs:                            {"traced_clone_started_timestamp_ns", false, Info, FromTrace},
	StatTracedCloneTriggerTimestampNs:                            {"traced_clone_trigger_timestamp_ns", false, Info, FromTrace},
	StatTracedChunksDiscarded:                                    {"traced_chunks_discarded", false, Info, FromTrace},
	StatTracedDataSourcesRegistered:                              {"traced_data_sources_registered", false, Info, FromTrace},
	StatTracedDataSourcesSeen:                                    {"traced_data_sources_seen", false, Info, FromTrace},
	StatTracedFinalFlushFailed:                                   {"traced_final_flush_failed", false, DataLoss, FromTrace},
	StatTracedFinalFlushSucceeded:                                {"traced_final_flush_succeeded", false, Info, FromTrace},
	StatTracedFlushesFailed:                                      {"traced_flushes_failed", false, DataLoss, FromTrace},
	StatTracedFlushesRequested:                                   {"traced_flushes_requested", false, Info, FromTrace},
	StatTracedFlushesSucceeded:                                   {"traced_flushes_succeeded", false, Info, FromTrace},
	StatTracedPatchesDiscarded:                                   {"traced_patches_discarded", false, Info, FromTrace},
	StatTracedProducersConnected:                                 {"traced_producers_connected", false, Info, FromTrace},
	StatTracedProducersSeen:                                      {"traced_producers_seen", false, Info, FromTrace},
	StatTracedTotalBuffers:                                       {"traced_total_buffers", false, Info, FromTrace},
	StatTracedTracingSessions:                                    {"traced_tracing_sessions", false, Info, FromTrace},
	StatTrackEventParserErrors:                                   {"track_event_parser_errors", false, Info, FromAnalysis},
	StatTrackEventDroppedPacketsOutsideOfRangeOfInterest:         {"track_event_dropped_packets_outside_of_range_of_interest", false, Info, FromAnalysis},
	StatTrackEventTokenizerErrors:                                {"track_event_tokenizer_errors", false, Info, FromAnalysis},
	StatTrackHierarchyMissingUuid:                                {"track_hierarchy_missing_uuid", false, Info, FromAnalysis},
	StatTrackEventThreadInvalidEnd:                               {"track_event_thread_invalid_end", false, Error, FromTrace},
	StatTokenizerSkippedPackets:                                  {"tokenizer_skipped_packets", false, Info, FromAnalysis},
	StatVmstatUnknownKeys:                                        {"vmstat_unknown_keys", false, Error, FromAnalysis},
	StatPsiUnknownResource:                                       {"psi_unknown_resource", false, Error, FromAnalysis},
	StatVulkanAllocationsInvalidStringID:                         {"vulkan_allocations_invalid_string_id", false, Error, FromTrace},
	StatClockSyncFailure:                                         {"clock_sync_failure", false, Error, FromAnalysis},
	StatClockSyncFailureUnknownSourceClock:                       {"clock_sync_failure_unknown_source_clock", false, Error, FromAnalysis},
	StatClockSyncFailureUnknownTargetClock:                       {"clock_sync_failure_unknown_target_clock", false, Error, FromAnalysis},
	StatClockSyncFailureNoPath:                                   {"clock_sync_failure_no_path", false, Error, FromAnalysis},
	StatClockSyncUnrelatableClockDomains:                         {"clock_sync_unrelatable_clock_domains", false, Error, FromAnalysis},
	StatClockSyncMixedClockSources:                               {"clock_sync_mixed_clock_sources", false, Error, FromAnalysis},
	StatClockSyncFailureUndeferrablePacketLoss:                   {"clock_sync_failure_undeferrable_packet_loss", false, DataLoss, FromAnalysis},
	StatClockSyncCacheMiss:                                       {"clock_sync_cache_miss", false, Info, FromAnalysis},
	StatProcessTrackerErrors:                                     {"process_tracker_errors", false, Error, FromAnalysis},
	StatProcessTrackerParentPIDChanged:                           {"process_tracker_parent_pid_changed", false, Info, FromAnalysis},
	StatNamespacedThreadMissingProcess:                           {"namespaced_thread_missing_process", false, Error, FromAnalysis},
	StatJSONTokenizerFailure:                                     {"json_tokenizer_failure", false, Error, FromTrace},
	StatJSONParserFailure:                                        {"json_parser_failure", false, Error, FromTrace},
	StatJSONDisplayTimeUnit:                                      {"json_display_time_unit", false, Info, FromTrace},
	StatHeapGraphInvalidStringID:                                 {"heap_graph_invalid_string_id", true, Error, FromTrace},
	StatHeapGraphMalformedPacket:                                 {"heap_graph_malformed_packet", true, Error, FromTrace},
	StatHeapGraphMissingPacket:                                   {"heap_graph_missing_packet", true, Error, FromTrace},
	StatHeapprofdBufferCorrupted:                                 {"heapprofd_buffer_corrupted", true, Error, FromTrace},
	StatHeapprofdHitGuardrail:                                    {"heapprofd_hit_guardrail", true, Error, FromTrace},
	StatHeapprofdBufferOverran:                                   {"heapprofd_buffer_overran", true, DataLoss, FromTrace},
	StatHeapprofdClientError:                                     {"heapprofd_client_error", true, Error, FromTrace},
	StatHeapprofdClientDisconnected:                              {"heapprofd_client_disconnected", true, Info, FromTrace},
	StatHeapprofdMalformedPacket:                                 {"heapprofd_malformed_packet", true, Error, FromTrace},
	StatHeapprofdMissingPacket:                                   {"heapprofd_missing_packet", false, Error, FromTrace},
	StatHeapprofdRejectedConcurrent:                              {"heapprofd_rejected_concurrent", true, Error, FromTrace},
	StatHeapprofdNonFinalizedProfile:                             {"heapprofd_non_finalized_profile", false, Error, FromTrace},
	StatHeapprofdSamplingIntervalAdjusted:                        {"heapprofd_sampling_interval_adjusted", true, Info, FromTrace},
	StatHeapprofdUnwindTimeUs:                                    {"heapprofd_unwind_time_us", true, Info, FromTrace},
	StatHeapprofdUnwindSamples:                                   {"heapprofd_unwind_samples", true, Info, FromTrace},
	StatHeapprofdClientSpinlockBlocked:                           {"heapprofd_client_spinlock_blocked", true, Info, FromTrace},
	StatHeapprofdLastProfileTimestamp:                            {"heapprofd_last_profile_timestamp", true, Info, FromTrace},
	StatSymbolizationTmpBuildIDNotFound:                          {"symbolization_tmp_build_id_not_found", false, Error, FromAnalysis},
	StatMetatraceOverruns:                                        {"metatrace_overruns", false, Error, FromTrace},
	StatPackagesListHasParseErrors:                               {"packages_list_has_parse_errors", false, Error, FromTrace},
	StatPackagesListHasReadErrors:                                {"packages_list_has_read_errors", false, Error, FromTrace},
	StatUserListErrors:                                           {"user_list_errors", false, Error, FromTrace},
	StatGameInterventionHasParseErrors:                           {"game_intervention_has_parse_errors", false, Error, FromTrace},
	StatGameInterventionHasReadErrors:                            {"game_intervention_has_read_errors", false, Error, FromTrace},
	StatCompactSchedHasParseErrors:                               {"compact_sched_has_parse_errors", false, Error, FromTrace},
	StatMisplacedEndEvent:                                        {"misplaced_end_event", false, DataLoss, FromAnalysis},
	StatTruncatedSysWriteDuration:                                {"truncated_sys_write_duration", false, Info, FromAnalysis},
	StatCompactSchedSwitchSkipped:                                {"compact_sched_switch_skipped", false, Info, FromAnalysis},
	StatCompactSchedWakingSkipped:                                {"compact_sched_waking_skipped", false, Info, FromAnalysis},
	StatEmptyChromeMetadata:                                      {"empty_chrome_metadata", false, Error, FromTrace},
	StatNinjaParseErrors:                                         {"ninja_parse_errors", false, Error, FromTrace},
	StatPerfCPULostRecords:                                       {"perf_cpu_lost_records", true, DataLoss, FromTrace},
	StatPerfProcessShardCount:                                    {"perf_process_shard_count", true, Info, FromTrace},
	StatPerfChosenProcessShard:                                   {"perf_chosen_process_shard", true, Info, FromTrace},
	StatPerfGuardrailStopTS:                                      {"perf_guardrail_stop_ts", true, DataLoss, FromTrace},
	StatPerfUnknownRecordType:                                    {"perf_unknown_record_type", true, Info, FromAnalysis},
	StatPerfRecordSkipped:                                        {"perf_record_skipped", true, Error, FromAnalysis},
	StatPerfSamplesSkipped:                                       {"perf_samples_skipped", false, Error, FromAnalysis},
	StatPerfFeaturesSkipped:                                      {"perf_features_skipped", true, Info, FromAnalysis},
	StatPerfSamplesCPUModeUnknown:                                {"perf_samples_cpu_mode_unknown", false, Error, FromAnalysis},
	StatPerfSamplesSkippedDataloss:                               {"perf_samples_skipped_dataloss", false, DataLoss, FromTrace},
	StatPerfDummyMappingUsed:                                     {"perf_dummy_mapping_used", false, Info, FromAnalysis},
	StatPerfAuxMissing:                                           {"perf_aux_missing", false, DataLoss, FromTrace},
	StatPerfAuxIgnored:                                           {"perf_aux_ignored", false, Info, FromTrace},
	StatPerfAuxLost:                                              {"perf_aux_lost", false, DataLoss, FromTrace},
	StatPerfAuxTruncated:                                         {"perf_aux_truncated", false, DataLoss, FromTrace},
	StatPerfAuxPartial:                                           {"perf_aux_partial", false, DataLoss, FromTrace},
	StatPerfAuxCollision:                                         {"perf_aux_collision", false, DataLoss, FromTrace},
	StatPerfAuxtraceMissing:                                      {"perf_auxtrace_missing", false, DataLoss, FromTrace},
	StatPerfUnknownAuxData:                                       {"perf_unknown_aux_data", true, DataLoss, FromTrace},
	StatPerfNoTscData:                                            {"perf_no_tsc_data", false, Info, FromTrace},
	StatSPENoTimestamp:                                           {"spe_no_timestamp", false, Info, FromTrace},
	StatETMNoImporter:                                            {"etm_no_importer", false, Error, FromAnalysis},
	StatMemorySnapshotParserFailure:                              {"memory_snapshot_parser_failure", false, Error, FromAnalysis},
	StatThreadTimeInStateUnknownCPUFreq:                          {"thread_time_in_state_unknown_cpu_freq", false, Error, FromAnalysis},
	StatFtracePacketBeforeTracingStart:                           {"ftrace_packet_before_tracing_start", false, Info, FromAnalysis},
	StatSorterPushEventOutOfOrder:                                {"sorter_push_event_out_of_order", false, Error, FromTrace},
	StatUnknownExtensionFields:                                   {"unknown_extension_fields", false, Error, FromTrace},
	StatNetworkTraceInternErrors:                                 {"network_trace_intern_errors", false, Info, FromAnalysis},
	StatNetworkTraceParseErrors:                                  {"network_trace_parse_errors", false, Info, FromAnalysis},
	StatAtomTimestampMissing:                                     {"atom_timestamp_missing", false, Error, FromTrace},
	StatAtomUnknown:                                              {"atom_unknown", false, Info, FromAnalysis},
	StatV8InternErrors:                                           {"v8_intern_errors", false, DataLoss, FromAnalysis},
	StatV8IsolateHasNoCodeRange:                                  {"v8_isolate_has_no_code_range", false, Error, FromAnalysis},
	StatV8NoDefaults:                                             {"v8_no_defaults", false, DataLoss, FromAnalysis},
	StatV8NoCodeRange:                                            {"v8_no_code_range", false, Error, FromAnalysis},
	StatV8UnknownCodeType:                                        {"v8_unknown_code_type", false, Error, FromAnalysis},
	StatV8CodeLoadMissingCodeRange:                               {"v8_code_load_missing_code_range", false, Error, FromAnalysis},
	StatWinscopeInputmethodClientsParseErrors:                    {"winscope_inputmethod_clients_parse_errors", false, Error, FromAnalysis},
	StatWinscopeInputmethodManagerServiceParseErrors:             {"winscope_inputmethod_manager_service_parse_errors", false, Error, FromAnalysis},
	StatWinscopeInputmethodServiceParseErrors:                    {"winscope_inputmethod_service_parse_errors", false, Error, FromAnalysis},
	StatWinscopeSfLayersParseErrors:                              {"winscope_sf_layers_parse_errors", false, Error, FromAnalysis},
	StatWinscopeSfTransactionsParseErrors:                        {"winscope_sf_transactions_parse_errors", false, Error, FromAnalysis},
	StatWinscopeShellTransitionsParseErrors:                      {"winscope_shell_transitions_parse_errors", false, Error, FromAnalysis},
	StatWinscopeProtologInvalidInterpolationParseErrors:          {"winscope_protolog_invalid_interpolation_parse_errors", false, Info, FromAnalysis},
	StatWinscopeProtologMissingInternedArgParseErrors:            {"winscope_protolog_missing_interned_arg_parse_errors", false, Info, FromAnalysis},
	StatWinscopeProtologMissingInternedStacktraceParseErrors:     {"winscope_protolog_missing_interned_stacktrace_parse_errors", false, Info, FromAnalysis},
	StatWinscopeProtologMessageDecodingFailed:                    {"winscope_protolog_message_decoding_failed", false, Info, FromAnalysis},
	StatWinscopeProtologMessageCollision:                         {"winscope_protolog_message_collision", false, Info, FromAnalysis},
	StatWinscopeProtologMessageCollisionResolved:                 {"winscope_protolog_message_collision_resolved", false, Info, FromAnalysis},
	StatWinscopeProtologGroupTagCollision:                        {"winscope_protolog_group_tag_collision", false, Info, FromAnalysis},
	StatWinscopeProtologGroupTagMissing:                          {"winscope_protolog_group_tag_missing", false, Info, FromAnalysis},
	StatWinscopeProtologParamMismatch:                            {"winscope_protolog_param_mismatch", false, Info, FromAnalysis},
	StatWinscopeViewcaptureParseErrors:                           {"winscope_viewcapture_parse_errors", false, Error, FromAnalysis},
	StatWinscopeViewcaptureMissingInternedStringParseErrors:      {"winscope_viewcapture_missing_interned_string_parse_errors", false, Error, FromAnalysis},
	StatWinscopeWindowmanagerParseErrors:                         {"winscope_windowmanager_parse_errors", false, Error, FromAnalysis},
	StatJitUnknownFrame:                                          {"jit_unknown_frame", false, DataLoss, FromTrace},
	StatFtraceMissingEventID:                                     {"ftrace_missing_event_id", false, Info, FromAnalysis},
	StatAndroidInputEventParseErrors:                             {"android_input_event_parse_errors", false, Info, FromAnalysis},
	StatMaliUnknownMcuStateID:                                    {"mali_unknown_mcu_state_id", false, Error, FromAnalysis},
	StatPixelModemNegativeTimestamp:                              {"pixel_modem_negative_timestamp", false, Error, FromAnalysis},
	StatLegacyV8CPUProfileInvalidCallsite:                        {"legacy_v8_cpu_profile_invalid_callsite", false, Error, FromTrace},
	StatLegacyV8CPUProfileInvalidSample:                          {"legacy_v8_cpu_profile_invalid_sample", false, Error, FromTrace},
	StatConfigWriteIntoFileNoFlush:                               {"config_write_into_file_no_flush", false, Error, FromTrace},
	StatConfigWriteIntoFileDiscard:                               {"config_write_into_file_discard", true, DataLoss, FromTrace},
	StatLongTraceModeBytesOverwritten:                            {"long_trace_mode_bytes_overwritten", true, DataLoss, FromTrace},
	StatHprofStringCounter:                                       {"hprof_string_counter", false, Info, FromAnalysis},
	StatHprofClassCounter:                                        {"hprof_class_counter", false, Info, FromAnalysis},
	StatHprofHeapDumpCounter:                                     {"hprof_heap_dump_counter", false, Info, FromAnalysis},
	StatHprofInstanceCounter:                                     {"hprof_instance_counter", false, Info, FromAnalysis},
	StatHprofObjectArrayCounter:                                  {"hprof_object_array_counter", false, Info, FromAnalysis},
	StatHprofPrimitiveArrayCounter:                               {"hprof_primitive_array_counter", false, Info, FromAnalysis},
	StatHprofRootCounter:                                         {"hprof_root_counter", false, Info, FromAnalysis},
	StatHprofReferenceCounter:                                    {"hprof_reference_counter", false, Info, FromAnalysis},
	StatHprofRecordCounter:                                       {"hprof_record_counter", false, Info, FromAnalysis},
	StatHprofSegmentOvershootCounter:                             {"hprof_segment_overshoot_counter", false, Info, FromAnalysis},
	StatHprofFieldValueErrors:                                    {"hprof_field_value_errors", false, Error, FromAnalysis},
	StatHprofClassErrors:                                         {"hprof_class_errors", false, Error, FromAnalysis},
	StatHprofHeaderErrors:                                        {"hprof_header_errors", false, Error, FromAnalysis},
	StatHprofHeapDumpErrors:                                      {"hprof_heap_dump_errors", false, Error, FromAnalysis},
	StatHprofPrimitiveArrayParsingErrors:                         {"hprof_primitive_array_parsing_errors", false, Error, FromAnalysis},
	StatHprofReferenceErrors:                                     {"hprof_reference_errors", false, Error, FromAnalysis},
	StatTraceSorterNegativeTimestampDropped:                      {"trace_sorter_negative_timestamp_dropped", false, Error, FromTrace},
	StatSliceDropOverlappingCompleteEvent:                        {"slice_drop_overlapping_complete_event", false, Error, FromAnalysis},
	StatSliceSpillOverlappingCompleteEvent:                       {"slice_spill_overlapping_complete_event", false, Error, FromAnalysis},
	StatPerfTextImporterSampleNoFrames:                           {"perf_text_importer_sample_no_frames", false, Error, FromTrace},
	StatStraceParseFailure:                                       {"strace_parse_failure", false, Info, FromTrace},
	StatStraceUnsupportedTimestampFormat:                         {"strace_unsupported_timestamp_format", false, Error, FromTrace},
	StatStraceMissingPID:                                         {"strace_missing_pid", false, Error, FromTrace},
	StatSimpleperfMissingFileMapping:                             {"simpleperf_missing_file_mapping", false, DataLoss, FromTrace},
	StatSliceNegativeDuration:                                    {"slice_negative_duration", false, Error, FromAnalysis},
	StatSliceMaxDepthExceeded:                                    {"slice_max_depth_exceeded", false, Error, FromAnalysis},
	StatGPUWorkPeriodNegativeDuration:                            {"gpu_work_period_negative_duration", false, Error, FromAnalysis},
	StatTrackDescriptorMissingUuid:                               {"track_descriptor_missing_uuid", false, Error, FromAnalysis},
	StatTrackDescriptorThreadMissingPIDTID:                       {"track_descriptor_thread_missing_pid_tid", false, Error, FromAnalysis},
	StatTrackDescriptorProcessMissingPID:                         {"track_descriptor_process_missing_pid", false, Error, FromAnalysis},
	StatTrackEventMissingSequenceID:                              {"track_event_missing_sequence_id", false, Error, FromAnalysis},
	StatTrackEventMissingTimestamp:                               {"track_event_missing_timestamp", false, Error, FromAnalysis},
	StatTrackEventInvalidTimestamp:                               {"track_event_invalid_timestamp", false, Error, FromAnalysis},
	StatStreamingProfileInvalidTimestamp:                         {"streaming_profile_invalid_timestamp", false, Error, FromAnalysis},
	StatThreadDescriptorMissingSequenceID:                        {"thread_descriptor_missing_sequence_id", false, Error, FromAnalysis},
	StatIncrementalStateClearedMissingSequenceID:                 {"incremental_state_cleared_missing_sequence_id", false, Error, FromAnalysis},
	StatPreviousPacketDroppedMissingSequenceID:                   {"previous_packet_dropped_missing_sequence_id", false, Error, FromAnalysis},
	StatTracePacketDefaultsMissingSequenceID:                     {"trace_packet_defaults_missing_sequence_id", false, Error, FromAnalysis},
	StatInternedDataMissingSequenceID:                            {"interned_data_missing_sequence_id", false, Error, FromAnalysis},
	StatTrackEventTrackHierarchyLoop:                             {"track_event_track_hierarchy_loop", false, Error, FromAnalysis},
	StatTrackEventTrackHierarchyTooDeep:                          {"track_event_track_hierarchy_too_deep", false, Error, FromAnalysis},
	StatTrackDescriptorDefaultTrackWithParent:                    {"track_descriptor_default_track_with_parent", false, Error, FromAnalysis},
	StatTrackDescriptorConflictingReservation:                    {"track_descriptor_conflicting_reservation", false, Error, FromAnalysis},
	StatTrackEventRangeOfInterestMissingStartUs:                  {"track_event_range_of_interest_missing_start_us", false, Error, FromAnalysis},
	StatTrackDescriptorInvalidChildOrdering:                      {"track_descriptor_invalid_child_ordering", false, Error, FromAnalysis},
	StatTrackEventCounterMissingTrackUuid:                        {"track_event_counter_missing_track_uuid", false, Error, FromAnalysis},
	StatTrackEventCounterMissingValue:                            {"track_event_counter_missing_value", false, Error, FromAnalysis},
	StatTrackEventCounterInvalidTrackUuid:                        {"track_event_counter_invalid_track_uuid", false, Error, FromAnalysis},
	StatTrackEventExtraCounterMissingTrackUuids:                  {"track_event_extra_counter_missing_track_uuids", false, Error, FromAnalysis},
	StatTrackEventStateMissingTrackUuid:                          {"track_event_state_missing_track_uuid", false, Error, FromAnalysis},
	StatTrackEventExtraCounterTrackUuidMismatch:                  {"track_event_extra_counter_track_uuid_mismatch", false, Error, FromAnalysis},
	StatTrackEventExtraCounterExceedsMax:                         {"track_event_extra_counter_exceeds_max", false, Error, FromAnalysis},
	StatTrackEventExtraCounterInvalidTrack:                       {"track_event_extra_counter_invalid_track", false, Error, FromAnalysis},
	StatThreadDescriptorSkippedIncrementalStateInvalid:           {"thread_descriptor_skipped_incremental_state_invalid", false, Notice, FromAnalysis},
	StatTrackEventSkippedTimestampDeltaWithoutValidState:         {"track_event_skipped_timestamp_delta_without_valid_state", false, Notice, FromAnalysis},
	StatTrackEventSkippedThreadTimeDeltaWithoutValidState:        {"track_event_skipped_thread_time_delta_without_valid_state", false, Notice, FromAnalysis},
	StatTrackEventSkippedThreadInstructionDeltaWithoutValidState: {"track_event_skipped_thread_instruction_delta_without_valid_state", false, Notice, FromAnalysis},
	StatPacketSkippedSeqNeedsIncrementalStateInvalid:             {"packet_skipped_seq_needs_incremental_state_invalid", false, Notice, FromAnalysis},
	StatInternedDataSkippedIncrementalStateInvalid:               {"interned_data_skipped_incremental_state_invalid", false, Notice, FromAnalysis},
	StatHeapGraphNonFinalizedGraph:                               {"heap_graph_non_finalized_graph", false, DataLoss, FromTrace},
	StatPrimesUnknownEdgeType:                                    {"primes_unknown_edge_type", false, DataLoss, FromAnalysis},
	StatPrimesExecutorNotFound:                                   {"primes_executor_not_found", false, DataLoss, FromAnalysis},
	StatPrimesEndWithoutMatchingBegin:                            {"primes_end_without_matching_begin", false, Info, FromAnalysis},
	StatPrimesMissingEntityDetails:                               {"primes_missing_entity_details", false, Info, FromAnalysis},
	StatPrimesMissingParentID:                                    {"primes_missing_parent_id", false, Info, FromAnalysis},
	StatPrimesMalformedTimestamp:                                 {"primes_malformed_timestamp", false, DataLoss, FromAnalysis},
	StatProtovmAbort:                                             {"protovm_abort", false, Error, FromAnalysis},
	StatProtovmRegistrationError:                                 {"protovm_registration_error", false, Error, FromAnalysis},
	StatExtraParsingDescriptorsError:                             {"extra_parsing_descriptors_error", false, Error, FromAnalysis},
}

// The stats, named as in the table.
const (
	StatAndroidAflagsErrors Stat = iota
	StatAndroidBrParseErrors
	StatAndroidLogNumFailed
	StatAndroidLogFormatInvalid
	StatAndroidLogNumSkipped
	StatAndroidLogNumTotal
	StatAndroidVideoSizeCapHit
	StatAndroidVideoCodecError
	StatAndroidVideoDisplayGone
	StatAndroidVideoNoEncoder
	StatAndroidVideoDisplayNotFound
	StatAndroidVideoEncoderSetupFailed
	StatAndroidVideoVirtualDisplayFailed
	StatAndroidVideoParseSizeCapHit
	StatDeobfuscateLocationParseError
	StatEnergyBreakdownMissingValues
	StatEnergyDescriptorInvalid
	StatEntityStateDescriptorInvalid
	StatEntityStateResidencyInvalid
	StatEntityStateResidencyLookupFailed
	StatEnergyUIDBreakdownMissingValues
	StatFrameTimelineEventParserErrors
	StatFrameTimelineUnpairedEndEvent
	StatFtraceBundleTokenizerErrors
	StatFtraceCPUBytesBegin
	StatFtraceCPUBytesEnd
	StatFtraceCPUBytesDelta
	StatFtraceCPUCommitOverrunBegin
	StatFtraceCPUCommitOverrunEnd
	StatFtraceCPUCommitOverrunDelta
	StatFtraceCPUDroppedEventsBegin
	StatFtraceCPUDroppedEventsEnd
	StatFtraceCPUDroppedEventsDelta
	StatFtraceCPUEntriesBegin
	StatFtraceCPUEntriesEnd
	StatFtraceCPUEntriesDelta
	StatFtraceCPUNowTSBegin
	StatFtraceCPUNowTSEnd
	StatFtraceCPUOldestEventTSBegin
	StatFtraceCPUOldestEventTSEnd
	StatFtraceCPUOverrunBegin
	StatFtraceCPUOverrunEnd
	StatFtraceCPUOverrunDelta
	StatFtraceCPUReadEventsBegin
	StatFtraceCPUReadEventsEnd
	StatFtraceCPUReadEventsDelta
	StatFtraceCPUHasDataLoss
	StatFtraceKprobeHitsBegin
	StatFtraceKprobeHitsEnd
	StatFtraceKprobeHitsDelta
	StatFtraceKprobeMissesBegin
	StatFtraceKprobeMissesEnd
	StatFtraceKprobeMissesDelta
	StatFtraceSetupErrors
	StatFtraceAbiErrorsSkippedZeroDataLength
	StatFtraceGenericDescriptorErrors
	StatFtraceThermalExynosAcpmUnknownTzID
	StatFuchsiaNonNumericCounters
	StatFuchsiaTimestampOverflow
	StatFuchsiaRecordReadError
	StatFuchsiaInvalidEvent
	StatFuchsiaInvalidEventArgType
	StatFuchsiaInvalidEventArgName
	StatFuchsiaUnknownEventArg
	StatFuchsiaInvalidStringRef
	StatGenericTaskStateInvalidOrder
	StatGPUCountersInvalidSpec
	StatGPUCountersMissingSpec
	StatGPUCountersMissingTimestamp
	StatGPURenderStageParserErrors
	StatGraphicsFrameEventParserErrors
	StatGuessTraceTypeDurationNs
	StatInstrumentsRowMissingThread
	StatInstrumentsRowMissingProcess
	StatInstrumentsRowMissingBacktrace
	StatInstrumentsRowMissingFrame
	StatInternedDataTokenizerErrors
	StatInvalidClockSnapshots
	StatInvalidCPUTimes
	StatKernelWakelockReusedID
	StatKernelWakelockUnknownID
	StatKernelWakelockZeroValueReported
	StatKernelWakelockNonMonotonicValueReported
	StatKernelWakelockImplausiblyLargeValueReported
	StatKernelTrackeventFormatError
	StatAppWakelockParseError
	StatAppWakelockUnknownID
	StatConcurrentSessionEventUnknownState
	StatMeminfoUnknownKeys
	StatCPUInfoUnknownCPUFeatures
	StatMissingDiskIOEventName
	StatCPUInfoEmpty
	StatMismatchedSchedSwitchTids
	StatMmUnknownType
	StatParseTraceDurationNs
	StatPowerRailEmptyPacket
	StatPowerRailUnknownIndex
	StatProcStatUnknownCounters
	StatRssStatUnknownKeys
	StatRssStatNegativeSize
	StatRssStatUnknownThreadForMmID
	StatFilterInputBytes
	StatFilterInputPackets
	StatFilterOutputBytes
	StatFilterTimeTakenNs
	StatFilterErrors
	StatFlowDuplicateID
	StatFlowNoEnclosingSlice
	StatFlowStepWithoutStart
	StatFlowEndWithoutStart
	StatFlowInvalidID
	StatFlowWithoutDirection
	StatStackprofileEmptyCallstack
	StatStackprofileInvalidStringID
	StatStackprofileInvalidMappingID
	StatStackprofileInvalidFrameID
	StatStackprofileInvalidCallstackID
	StatStackprofileParserError
	StatSmapsParserErrors
	StatSystemdJournalNumFailed
	StatSystemdJournalNumTotal
	StatSystraceParseFailure
	StatTaskStateInvalid
	StatTracedBufAbiViolations
	StatTracedBufBufferSize
	StatTracedBufBytesOverwritten
	StatTracedBufBytesRead
	StatTracedBufBytesFilteredOut
	StatTracedBufBytesWritten
	StatTracedBufCloneDoneTimestampNs
	StatTracedBufChunksDiscarded
	StatTracedBufChunksOverwritten
	StatTracedBufChunksRead
	StatTracedBufChunksRelocated
	StatTracedBufChunksRewritten
	StatTracedBufChunksWritten
	StatTracedBufChunksCommittedOutOfOrder
	StatTracedBufPaddingBytesCleared
	StatTracedBufPaddingBytesWritten
	StatTracedBufPatchesFailed
	StatTracedBufPatchesSucceeded
	StatTracedBufReadaheadsFailed
	StatTracedBufReadaheadsSucceeded
	StatTracedBufTraceWriterPacketLoss
	StatTracedBufSequencePacketLoss
	StatTracedBufIncrementalSequencesDropped
	StatTracedBufDataLossReadGap
	StatTracedBufDataLossChunkCorrupted
	StatTracedBufDataLossOrphanContinuation
	StatTracedBufDataLossReassemblyGap
	StatTracedBufDataLossReassemblyBrokenChain
	StatTracedBufDataLossOverwrite
	StatTracedBufDataLossWriterAbort
	StatTracedBufDataLossSmbFull
	StatTracedBufWriteWrapCount
	StatTracedCloneStartedTimestampNs
	StatTracedCloneTriggerTimestampNs
	StatTracedChunksDiscarded
	StatTracedDataSourcesRegistered
	StatTracedDataSourcesSeen
	StatTracedFinalFlushFailed
	StatTracedFinalFlushSucceeded
	StatTracedFlushesFailed
	StatTracedFlushesRequested
	StatTracedFlushesSucceeded
	StatTracedPatchesDiscarded
	StatTracedProducersConnected
	StatTracedProducersSeen
	StatTracedTotalBuffers
	StatTracedTracingSessions
	StatTrackEventParserErrors
	StatTrackEventDroppedPacketsOutsideOfRangeOfInterest
	StatTrackEventTokenizerErrors
	StatTrackHierarchyMissingUuid
	StatTrackEventThreadInvalidEnd
	StatTokenizerSkippedPackets
	StatVmstatUnknownKeys
	StatPsiUnknownResource
	StatVulkanAllocationsInvalidStringID
	StatClockSyncFailure
	StatClockSyncFailureUnknownSourceClock
	StatClockSyncFailureUnknownTargetClock
	StatClockSyncFailureNoPath
	StatClockSyncUnrelatableClockDomains
	StatClockSyncMixedClockSources
	StatClockSyncFailureUndeferrablePacketLoss
	StatClockSyncCacheMiss
	StatProcessTrackerErrors
	StatProcessTrackerParentPIDChanged
	StatNamespacedThreadMissingProcess
	StatJSONTokenizerFailure
	StatJSONParserFailure
	StatJSONDisplayTimeUnit
	StatHeapGraphInvalidStringID
	StatHeapGraphMalformedPacket
	StatHeapGraphMissingPacket
	StatHeapprofdBufferCorrupted
	StatHeapprofdHitGuardrail
	StatHeapprofdBufferOverran
	StatHeapprofdClientError
	StatHeapprofdClientDisconnected
	StatHeapprofdMalformedPacket
	StatHeapprofdMissingPacket
	StatHeapprofdRejectedConcurrent
	StatHeapprofdNonFinalizedProfile
	StatHeapprofdSamplingIntervalAdjusted
	StatHeapprofdUnwindTimeUs
	StatHeapprofdUnwindSamples
	StatHeapprofdClientSpinlockBlocked
	StatHeapprofdLastProfileTimestamp
	StatSymbolizationTmpBuildIDNotFound
	StatMetatraceOverruns
	StatPackagesListHasParseErrors
	StatPackagesListHasReadErrors
	StatUserListErrors
	StatGameInterventionHasParseErrors
	StatGameInterventionHasReadErrors
	StatCompactSchedHasParseErrors
	StatMisplacedEndEvent
	StatTruncatedSysWriteDuration
	StatCompactSchedSwitchSkipped
	StatCompactSchedWakingSkipped
	StatEmptyChromeMetadata
	StatNinjaParseErrors
	StatPerfCPULostRecords
	StatPerfProcessShardCount
	StatPerfChosenProcessShard
	StatPerfGuardrailStopTS
	StatPerfUnknownRecordType
	StatPerfRecordSkipped
	StatPerfSamplesSkipped
	StatPerfFeaturesSkipped
	StatPerfSamplesCPUModeUnknown
	StatPerfSamplesSkippedDataloss
	StatPerfDummyMappingUsed
	StatPerfAuxMissing
	StatPerfAuxIgnored
	StatPerfAuxLost
	StatPerfAuxTruncated
	StatPerfAuxPartial
	StatPerfAuxCollision
	StatPerfAuxtraceMissing
	StatPerfUnknownAuxData
	StatPerfNoTscData
	StatSPENoTimestamp
	StatETMNoImporter
	StatMemorySnapshotParserFailure
	StatThreadTimeInStateUnknownCPUFreq
	StatFtracePacketBeforeTracingStart
	StatSorterPushEventOutOfOrder
	StatUnknownExtensionFields
	StatNetworkTraceInternErrors
	StatNetworkTraceParseErrors
	StatAtomTimestampMissing
	StatAtomUnknown
	StatV8InternErrors
	StatV8IsolateHasNoCodeRange
	StatV8NoDefaults
	StatV8NoCodeRange
	StatV8UnknownCodeType
	StatV8CodeLoadMissingCodeRange
	StatWinscopeInputmethodClientsParseErrors
	StatWinscopeInputmethodManagerServiceParseErrors
	StatWinscopeInputmethodServiceParseErrors
	StatWinscopeSfLayersParseErrors
	StatWinscopeSfTransactionsParseErrors
	StatWinscopeShellTransitionsParseErrors
	StatWinscopeProtologInvalidInterpolationParseErrors
	StatWinscopeProtologMissingInternedArgParseErrors
	StatWinscopeProtologMissingInternedStacktraceParseErrors
	StatWinscopeProtologMessageDecodingFailed
	StatWinscopeProtologMessageCollision
	StatWinscopeProtologMessageCollisionResolved
	StatWinscopeProtologGroupTagCollision
	StatWinscopeProtologGroupTagMissing
	StatWinscopeProtologParamMismatch
	StatWinscopeViewcaptureParseErrors
	StatWinscopeViewcaptureMissingInternedStringParseErrors
	StatWinscopeWindowmanagerParseErrors
	StatJitUnknownFrame
	StatFtraceMissingEventID
	StatAndroidInputEventParseErrors
	StatMaliUnknownMcuStateID
	StatPixelModemNegativeTimestamp
	StatLegacyV8CPUProfileInvalidCallsite
	StatLegacyV8CPUProfileInvalidSample
	StatConfigWriteIntoFileNoFlush
	StatConfigWriteIntoFileDiscard
	StatLongTraceModeBytesOverwritten
	StatHprofStringCounter
	StatHprofClassCounter
	StatHprofHeapDumpCounter
	StatHprofInstanceCounter
	StatHprofObjectArrayCounter
	StatHprofPrimitiveArrayCounter
	StatHprofRootCounter
	StatHprofReferenceCounter
	StatHprofRecordCounter
	StatHprofSegmentOvershootCounter
	StatHprofFieldValueErrors
	StatHprofClassErrors
	StatHprofHeaderErrors
	StatHprofHeapDumpErrors
	StatHprofPrimitiveArrayParsingErrors
	StatHprofReferenceErrors
	StatTraceSorterNegativeTimestampDropped
	StatSliceDropOverlappingCompleteEvent
	StatSliceSpillOverlappingCompleteEvent
	StatPerfTextImporterSampleNoFrames
	StatStraceParseFailure
	StatStraceUnsupportedTimestampFormat
	StatStraceMissingPID
	StatSimpleperfMissingFileMapping
	StatSliceNegativeDuration
	StatSliceMaxDepthExceeded
	StatGPUWorkPeriodNegativeDuration
	StatTrackDescriptorMissingUuid
	StatTrackDescriptorThreadMissingPIDTID
	StatTrackDescriptorProcessMissingPID
	StatTrackEventMissingSequenceID
	StatTrackEventMissingTimestamp
	StatTrackEventInvalidTimestamp
	StatStreamingProfileInvalidTimestamp
	StatThreadDescriptorMissingSequenceID
	StatIncrementalStateClearedMissingSequenceID
	StatPreviousPacketDroppedMissingSequenceID
	StatTracePacketDefaultsMissingSequenceID
	StatInternedDataMissingSequenceID
	StatTrackEventTrackHierarchyLoop
	StatTrackEventTrackHierarchyTooDeep
	StatTrackDescriptorDefaultTrackWithParent
	StatTrackDescriptorConflictingReservation
	StatTrackEventRangeOfInterestMissingStartUs
	StatTrackDescriptorInvalidChildOrdering
	StatTrackEventCounterMissingTrackUuid
	StatTrackEventCounterMissingValue
	StatTrackEventCounterInvalidTrackUuid
	StatTrackEventExtraCounterMissingTrackUuids
	StatTrackEventStateMissingTrackUuid
	StatTrackEventExtraCounterTrackUuidMismatch
	StatTrackEventExtraCounterExceedsMax
	StatTrackEventExtraCounterInvalidTrack
	StatThreadDescriptorSkippedIncrementalStateInvalid
	StatTrackEventSkippedTimestampDeltaWithoutValidState
	StatTrackEventSkippedThreadTimeDeltaWithoutValidState
	StatTrackEventSkippedThreadInstructionDeltaWithoutValidState
	StatPacketSkippedSeqNeedsIncrementalStateInvalid
	StatInternedDataSkippedIncrementalStateInvalid
	StatHeapGraphNonFinalizedGraph
	StatPrimesUnknownEdgeType
	StatPrimesExecutorNotFound
	StatPrimesEndWithoutMatchingBegin
	StatPrimesMissingEntityDetails
	StatPrimesMissingParentID
	StatPrimesMalformedTimestamp
	StatProtovmAbort
	StatProtovmRegistrationError
	StatExtraParsingDescriptorsError
)
